import { describe, expect, test } from "bun:test";

import type { DesiredPod } from "../../../src/api/desired-pod.ts";
import type { PodSpec } from "../../../src/api/pod.ts";
import type { RolloutStanding } from "../../../src/api/rollout.ts";
import type { RolloutStep } from "../../../src/source/rollout.ts";
import { rolloutPods, type ListedPod } from "../../../src/source/rollout-pods.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";

const WHY = { reason: "PodFailed", message: "" };
const STANDINGS: readonly (readonly [
  RolloutStep["run"],
  RolloutStanding,
  "old" | "new" | "none",
])[] = [
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
  standing: RolloutStanding,
  more: Partial<ListedPod> = {},
): ListedPod {
  return { wanted: pod("new"), good: pod("old"), step: { run, standing }, ...more };
}

const uids = (pods: readonly DesiredPod[]): readonly string[] => pods.map(({ uid }) => uid);

test.each(STANDINGS)("a pod that shall run %s (%o) runs %s", (run, standing, expected) => {
  const { pods } = rolloutPods([listed(run, standing)], []);
  expect(uids(pods)).toEqual(expected === "none" ? [] : [expected]);
});

test("a good revision that is lost is not run; the pod goes on with the one that is there", () => {
  const lost = listed("Good", { type: "Held", why: "" }, { good: undefined });
  expect(uids(rolloutPods([lost], []).pods)).toEqual(["new"]);
});

describe("what the document does not name any more", () => {
  const gone = pod("gone");

  test.each<[RolloutStanding, boolean]>([
    [{ type: "Good" }, false],
    [{ type: "RolledBack", why: WHY, isKnownBad: true }, false],
    [{ type: "OnTrial" }, true],
    [{ type: "Held", why: "" }, true],
    [{ type: "Failed", why: WHY }, true],
  ])("beside a pod that is %o: it runs on is %p", (standing, runsOn) => {
    const { pods, lingering } = rolloutPods([listed("Wanted", standing)], [gone]);
    expect(uids(pods).includes("gone")).toBe(runsOn);
    expect(uids(lingering)).toEqual(runsOn ? ["gone"] : []);
  });

  test("goes at once with the last pod of the document", () => {
    expect(rolloutPods([], [gone])).toEqual({ pods: [], lingering: [] });
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
    ["a host port", port],
    ["a claim", claim],
  ])("makes way at once for who needs %s of it", (_name, spec) => {
    const newcomer = listed("Wanted", { type: "OnTrial" }, { wanted: pod("new", spec) });
    expect(uids(rolloutPods([newcomer], [pod("gone", spec)]).pods)).toEqual(["new"]);
    expect(uids(rolloutPods([newcomer], [gone]).pods)).toEqual(["new", "gone"]);
  });

  test("makes way at once for who needs its device", () => {
    const withDevice = (uid: string): DesiredPod => {
      const base = pod(uid);
      const annotations = { "agent/devices": "/dev/ttyUSB0" };
      return { ...base, pod: { ...base.pod, metadata: { ...base.pod.metadata, annotations } } };
    };
    const newcomer = listed("Wanted", { type: "OnTrial" }, { wanted: withDevice("new") });
    expect(uids(rolloutPods([newcomer], [withDevice("gone")]).pods)).toEqual(["new"]);
  });
});
