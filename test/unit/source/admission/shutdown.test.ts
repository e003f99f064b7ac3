// Which pods a node admits while it shuts down.

import { expect, test } from "bun:test";
import type { DesiredPod } from "../../../../src/api/pod/desired-pod.ts";
import type { AdmissionRank } from "../../../../src/source/admission/admission.ts";
import { mergeSnapshots, type MergeOptions } from "../../../../src/source/merge-sources.ts";
import { ROOMY } from "../../../fakes/a-node.ts";
import { aDesiredPod, aPod } from "../../../fakes/a-pod.ts";

function pod(name: string): DesiredPod {
  return aDesiredPod(aPod({}, { name, uid: name }), { source: "file" });
}

const STOPPED = { code: "Terminated", path: "", message: "stopped" };
const REFUSED = { code: "NodeShutdown", path: "", message: "not now" };

const RANKS: Readonly<Record<string, AdmissionRank>> = { runs: 0, over: 1 };

/** `runs`, `over` and `stopped` are what their names say, `again` is over and was added again, `late` is none of it. */
function merged(over: Partial<MergeOptions>) {
  const pods = ["runs", "over", "stopped", "again", "late"].map(pod);
  return mergeSnapshots([{ source: "file", ready: true, pods, objects: [], rejected: [] }], {
    ...ROOMY,
    admissionRank: ({ uid }) => RANKS[uid] ?? 2,
    // What was stopped has failed, and so has ended.
    isOver: (uid) => ["over", "stopped", "again"].includes(uid),
    ...over,
  });
}

test("what runs and what has ended stay, what was stopped, added again or is new waits", () => {
  const stopped = (uid: string) => (uid === "stopped" ? STOPPED : undefined);
  const { pods, notAdmitted, held } = merged({
    shutdown: { stopped, refusal: (uid) => stopped(uid) ?? REFUSED },
  });
  expect(pods.map(({ uid }) => uid).toSorted()).toEqual(["over", "runs"]);
  expect(notAdmitted.map(({ desired, why }) => `${desired.uid} ${why.code}`)).toEqual([
    "stopped Terminated",
    "again NodeShutdown",
    "late NodeShutdown",
  ]);
  expect(held).toEqual(new Set(["default/stopped", "default/again", "default/late"]));
});

test("without a shutdown all are admitted", () => {
  const none = { stopped: () => undefined, refusal: () => undefined };
  expect(merged({ shutdown: none }).pods.length).toBe(5);
});
