import { describe, expect, test } from "bun:test";

import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import type { RolloutStatus } from "../../../src/api/pod/rollout.ts";
import type { RolloutStep } from "../../../src/rollout/rollback.ts";
import { podsToRun, type ListedPod } from "../../../src/rollout/pods-to-run.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";

const WHY = { reason: "PodFailed", message: "" };
const STATUSES: readonly (readonly [RolloutStep["run"], RolloutStatus, "old" | "new" | "none"])[] =
  [
    ["Wanted", { type: "Good" }, "new"],
    ["Wanted", { type: "OnTrial" }, "new"],
    ["Good", { type: "Held", why: "" }, "old"],
    ["Good", { type: "RolledBack", why: WHY, isKnownBad: false }, "old"],
    ["Wanted", { type: "Failed", why: WHY }, "new"],
    ["Nothing", { type: "Failed", why: WHY }, "none"],
  ];

function pod(uid: string, spec: Partial<PodSpec> = {}): DesiredPod {
  return { ...aDesiredPod(aPod(spec)), uid };
}

function listed(
  run: RolloutStep["run"],
  status: RolloutStatus,
  more: Partial<ListedPod> = {},
): ListedPod {
  return { wanted: pod("new"), good: pod("old"), step: { run, status }, ...more };
}

const free = (good: DesiredPod) => ({ good, isHeld: false });

const uids = (pods: readonly DesiredPod[]): readonly string[] => pods.map(({ uid }) => uid);

test.each(STATUSES)("a pod that shall run %s (%o) runs %s", (run, status, expected) => {
  const { pods } = podsToRun([listed(run, status)], []);
  expect(uids(pods)).toEqual(expected === "none" ? [] : [expected]);
});

test("where a good revision is lost, whatever runs goes on, and nothing takes its place", () => {
  const lost = listed("Good", { type: "Held", why: "" }, { good: undefined });
  expect(podsToRun([lost], [])).toMatchObject({ pods: [], held: ["default/web"] });
});

test("what has ended well is not done again", () => {
  const done = listed(
    "Good",
    { type: "RolledBack", why: WHY, isKnownBad: false },
    { isDone: true },
  );
  expect(podsToRun([done], [])).toMatchObject({ pods: [], held: [] });
});

describe("what the document does not name any more", () => {
  const gone = pod("gone");

  test("lingers as the same object in every review, so that nothing is merged for it", () => {
    const waiting = [listed("Wanted", { type: "OnTrial" })];
    const [first, second] = [1, 2].map(() => podsToRun(waiting, [free(gone)]).pods.at(-1));
    expect(first).toMatchObject({ uid: "gone", lingers: true });
    expect(second).toBe(first);
  });

  test.each<[RolloutStatus, boolean]>([
    [{ type: "Good" }, false],
    [{ type: "RolledBack", why: WHY, isKnownBad: true }, false],
    [{ type: "OnTrial" }, true],
    [{ type: "Held", why: "" }, true],
    [{ type: "Failed", why: WHY }, true],
  ])("beside a pod that is %o: it runs on is %p", (status, runsOn) => {
    const { pods } = podsToRun([listed("Wanted", status)], [free(gone)]);
    expect(uids(pods)).toEqual(runsOn ? ["new", "gone"] : ["new"]);
  });

  test("goes at once with the last pod of the document", () => {
    expect(podsToRun([], [free(gone)])).toEqual({ pods: [], held: [] });
  });

  test("stays while it is held, whatever the others do", () => {
    const { pods } = podsToRun([], [{ good: gone, isHeld: true }]);
    expect(uids(pods)).toEqual(["gone"]);
  });

  const port = {
    containers: [
      aContainer("a", { ports: [{ name: "", containerPort: 80, protocol: "TCP", hostPort: 80 }] }),
    ],
  };
  const claim = {
    volumes: [{ name: "d", persistentVolumeClaim: { claimName: "data", readOnly: false } }],
  };
  test.each<[string, Partial<PodSpec>]>([
    ["host port", port],
    ["claim", claim],
  ])("is stopped at once for a pod that requires its %s", (_name, spec) => {
    const newcomer = listed("Wanted", { type: "OnTrial" }, { wanted: pod("new", spec) });
    expect(uids(podsToRun([newcomer], [free(pod("gone", spec))]).pods)).toEqual(["new"]);
    expect(uids(podsToRun([newcomer], [free(gone)]).pods)).toEqual(["new", "gone"]);
  });

  test("a newcomer gives a host port back to whom it was taken from", () => {
    const back = listed(
      "Good",
      { type: "RolledBack", why: WHY, isKnownBad: false },
      { good: pod("old", port) },
    );
    const other = pod("db", port);
    const named = { ...other.pod, metadata: { ...other.pod.metadata, name: "db" } };
    const wanted = { ...other, pod: named };
    const newcomer = listed("Wanted", { type: "OnTrial" }, { wanted, good: undefined });
    expect(uids(podsToRun([back, newcomer], []).pods)).toEqual(["old"]);
  });

  test("is stopped at once for a pod that requires its device", () => {
    const withDevice = (uid: string): DesiredPod => {
      const base = pod(uid);
      const annotations = { "agent/devices": "/dev/ttyUSB0" };
      return { ...base, pod: { ...base.pod, metadata: { ...base.pod.metadata, annotations } } };
    };
    const newcomer = listed("Wanted", { type: "OnTrial" }, { wanted: withDevice("new") });
    expect(uids(podsToRun([newcomer], [free(withDevice("gone"))]).pods)).toEqual(["new"]);
  });
});
