import { expect, test } from "bun:test";
import { readReport, type NodeState } from "../../../../src/fleet/node-report.ts";
import { followApply, type Step } from "../../../../src/fleet/document/apply-progress.ts";

const published = { source: "node", epoch: "e1", generation: 7, digest: "sha256:own" };
const own = { source: "node", epoch: "e1", generation: 7, digest: "sha256:own" };
const old = {
  source: "node",
  epoch: "e1",
  generation: 6,
  digest: "sha256:old",
  phase: "Healthy",
  code: 200,
};
const refused = { digest: "sha256:own", code: 400, message: "spec.x: unknown field" };

function step(acks: object | readonly object[] | undefined, state?: string): Step {
  const report = acks === undefined ? undefined : { kind: "ReportedState", desired: [acks].flat() };
  const bytes = new TextEncoder().encode(JSON.stringify(report ?? null));
  const told: NodeState | undefined =
    state === undefined ? undefined : { state, incarnation: "i", session: 1 };
  return followApply(published, readReport(bytes), told);
}

const cases: Readonly<
  Record<
    string,
    readonly [
      acks: object | readonly object[] | undefined,
      outcome: Step["outcome"],
      line: string,
      state?: string,
    ]
  >
> = {
  "waits for a node that has not reported": [undefined, "Waiting", "has not reported yet"],
  "shows that the node is offline": [
    undefined,
    "Waiting",
    "has not reported yet, it is lost and takes the document when it is back",
    "lost",
  ],
  "waits while the node has no document": [
    { ...old, generation: 0 },
    "Waiting",
    "has not answered yet",
    "online",
  ],
  "waits while the node has the one before": [old, "Waiting", "still has generation 6 (Healthy)"],
  "does not take another source's answer": [
    { ...own, source: "group/a", phase: "Healthy", code: 200 },
    "Waiting",
    "has not answered yet",
  ],
  "counts images": [
    {
      ...own,
      phase: "Downloading",
      code: 202,
      message: "pod web",
      progress: { images: 5, imagesDone: 3 },
    },
    "Waiting",
    "Downloading 3/5: pod web",
  ],
  "waits while an update is held, and names the holder": [
    { ...own, phase: "Held", code: 423, message: "pod default/web: locked by container app" },
    "Waiting",
    "Held: pod default/web: locked by container app",
  ],
  "fails at once when the node knows it as bad": [
    { ...own, phase: "RolledBack", code: 424, message: "known bad", lastGood: { generation: 6 } },
    "Failed",
    "RolledBack to generation 6: known bad",
  ],
  "is done at 200": [{ ...own, phase: "Healthy", code: 200 }, "Healthy", "Healthy"],
  "fails when the node went back": [
    { ...own, phase: "RolledBack", code: 424, message: "crashed", lastGood: { generation: 5 } },
    "Failed",
    "RolledBack to generation 5: crashed",
  ],
  "fails when there is nothing to go back to": [
    { ...own, phase: "Degraded", code: 424 },
    "Failed",
    "Degraded",
  ],
  "fails when the disk is full": [{ ...own, phase: "Applying", code: 507 }, "Failed", "Applying"],
  "fails when the node refuses this document": [
    { ...old, lastRejected: refused },
    "Failed",
    "Rejected 400: spec.x: unknown field",
  ],
  "does not mind an older refusal": [
    { ...old, lastRejected: { ...refused, digest: "sha256:other" } },
    "Waiting",
    "still has generation 6 (Healthy)",
  ],
  "fails when another document has the generation": [
    { ...old, generation: 7, digest: "sha256:rival" },
    "Failed",
    "has generation 7 from another operator (sha256:rival)",
  ],
  "fails when another one took its place, which comes first": [
    [
      { ...old, generation: 8, digest: "sha256:rival", phase: "Progressing", code: 202 },
      { ...own, phase: "Superseded", code: 410, message: "generation 8 took its place" },
    ],
    "Failed",
    "Superseded: generation 8 took its place",
  ],
  "is done at 200, whatever it took the place of": [
    [
      { ...own, phase: "Healthy", code: 200 },
      { ...old, phase: "Superseded", code: 410 },
    ],
    "Healthy",
    "Healthy",
  ],
  "waits while the node is in another epoch": [
    { ...old, epoch: "e0", generation: 9 },
    "Waiting",
    "still has generation 9 (Healthy)",
  ],
};

test.each(Object.entries(cases))("%s", (_, [ack, outcome, line, state]) => {
  expect(step(ack, state)).toEqual({ line, outcome });
});
