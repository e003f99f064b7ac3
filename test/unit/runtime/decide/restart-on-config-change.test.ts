import { describe, expect, test } from "bun:test";
import type { Pod } from "../../../../src/api/v1/pod.ts";
import { computePodActions } from "../../../../src/runtime/decide/compute-pod-actions.ts";
import { isComingBack } from "../../../../src/runtime/decide/restart-on-config-change.ts";
import type { ActionContext, PodAction } from "../../../../src/runtime/decide/pod-action.ts";
import { aContainer, aPod, anInstance } from "../../../fakes/a-pod.ts";
import {
  backingOff,
  CALM,
  cases,
  check,
  exited,
  kill,
  PROBE,
  remove,
  replaced,
  sidecar,
  start,
  two,
  unknown,
  up,
} from "../actions-table.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

const OLD = "v1:key:old";
const NEW = "v1:key:new";
const reads = (name: string, configDigest = OLD, attempt = 0) =>
  anInstance(name, { configDigest, attempt });
const now = (...names: string[]) => ({
  configDigests: Object.fromEntries(names.map((name) => [name, NEW])),
});
const again = (name: string, attempt = 0): readonly PodAction[] => [
  kill(name, attempt, "ConfigChanged"),
  start(name, attempt + 1),
];
const ready = (name: string): Container => aContainer(name, { readinessProbe: PROBE });
const pair = { containers: [ready("a"), ready("b")] };

describe("a container whose ConfigMap or Secret has changed", () => {
  test.each(
    cases({
      "is ended and started in the same sandbox": {
        observed: up(reads("a")),
        context: now("a"),
        expect: again("a"),
      },
      "is left alone while it reads the same": {
        observed: up(reads("a", NEW)),
        context: now("a"),
        expect: [],
      },
      "is left alone while what it reads is not there": { observed: up(reads("a")), expect: [] },
      "is not restarted if it has no digest": {
        observed: up(anInstance("a")),
        context: now("a"),
        expect: [],
      },
      "is left alone if another key made its digest": {
        observed: up(reads("a", "v1:other:old")),
        context: now("a"),
        expect: [],
      },
      "is left alone if another version made its digest": {
        observed: up(reads("a", "v2:key:old")),
        context: now("a"),
        expect: [],
      },
      "starts at once, whatever its back-off": {
        observed: up(reads("a", OLD, 3)),
        context: { ...now("a"), restarts: backingOff("a", "a-2") },
        expect: again("a", 3),
      },
      "is left alone under Never": {
        pod: { restartPolicy: "Never" },
        observed: up(reads("a")),
        context: now("a"),
        expect: [],
      },
      "is left alone under a Never of its own": {
        pod: { containers: [aContainer("a", { restartPolicy: "Never" })] },
        observed: up(reads("a")),
        context: now("a"),
        expect: [],
      },
      "starts anew under OnFailure": {
        pod: { restartPolicy: "OnFailure" },
        observed: up(reads("a")),
        context: now("a"),
        expect: again("a"),
      },
      "is left alone once it has ended well under OnFailure": {
        pod: { ...two, restartPolicy: "OnFailure" },
        observed: up(exited("a", 0, { configDigest: OLD }), reads("b", NEW)),
        context: now("a", "b"),
        expect: [],
      },
      "starts as ever after a crash": {
        observed: up(exited("a", 1, { configDigest: OLD })),
        context: now("a"),
        expect: [start("a", 1)],
      },
      "is ended once if its liveness probe has failed too": {
        pod: { containers: [aContainer("a", { livenessProbe: PROBE })] },
        observed: up(reads("a")),
        context: { ...now("a"), probes: { "a-0": { liveness: "Failure" } } },
        expect: [kill("a", 0, "LivenessProbe")],
      },
      "is ended once if its state is unknown": {
        observed: up(unknown("a")),
        context: now("a"),
        expect: [kill("a", 0, "ContainerUnknown"), start("a", 1)],
      },
    }),
  )("%s", (_, one) => check(one));

  test("is not restarted if its pod disables it", () => {
    const annotations = { "agent/restart-on-config-change": "false" };
    const quiet = aPod({}, { annotations });
    const context = { ...CALM, ...now("a") };
    expect(computePodActions(quiet, up(reads("a")), context)).toEqual([]);
  });
});

describe("an init container whose ConfigMap has changed", () => {
  const withInit = { initContainers: [aContainer("i")] };
  const withSidecars = { initContainers: [sidecar("s"), aContainer("i"), sidecar("t")] };

  test.each(
    cases({
      "does not run again": {
        pod: withInit,
        observed: up(exited("i", 0, { configDigest: OLD }), reads("a", NEW)),
        context: now("i", "a"),
        expect: [],
      },
      "is not ended while it runs": {
        pod: withInit,
        observed: up(reads("i")),
        context: now("i", "a"),
        expect: [],
      },
      "starts anew as a sidecar, before the containers behind it": {
        pod: withSidecars,
        observed: up(reads("s"), exited("i", 0), reads("t"), reads("a")),
        context: now("s", "i", "t", "a"),
        expect: again("s"),
      },
      "waits as a sidecar until the pod is initialized": {
        pod: withSidecars,
        observed: up(reads("s"), reads("i")),
        context: now("s", "i", "t", "a"),
        expect: [],
      },
    }),
  )("%s", (_, one) => check(one));
});

describe("of several containers", () => {
  const both = { ...now("a", "b"), configRestarting: "a" };
  const success = { readiness: "Success" } as const;

  test.each(
    cases({
      "the first in the spec goes first": {
        pod: two,
        observed: up(reads("a"), reads("b")),
        context: now("a", "b"),
        expect: again("a"),
      },
      "the second follows when the first runs again": {
        pod: two,
        observed: up(reads("a", NEW, 1), reads("b")),
        context: both,
        expect: again("b"),
      },
      "the second waits while the first has yet to start": {
        pod: two,
        observed: up(exited("a", 143, { configDigest: OLD }), reads("b")),
        context: { ...both, restarts: replaced("a", "a-0") },
        expect: [start("a", 1)],
      },
      "the second waits while the first was made and not started": {
        pod: two,
        observed: up(anInstance("a", { state: "Created", attempt: 1 }), reads("b")),
        context: both,
        expect: [remove("a", 1), start("a", 1)],
      },
      "the second waits until the first is ready": {
        pod: pair,
        observed: up(reads("a", NEW, 1), reads("b")),
        context: { ...both, probes: { "a-1": { readiness: "Failure" } } },
        expect: [],
      },
      "the second waits while the readiness of the first is unknown": {
        pod: pair,
        observed: up(reads("a", NEW, 1), reads("b")),
        context: both,
        expect: [],
      },
      "the second follows when the first is ready": {
        pod: pair,
        observed: up(reads("a", NEW, 1), reads("b")),
        context: { ...both, probes: { "a-1": success } },
        expect: again("b"),
      },
      "the second waits until the first has started": {
        pod: { containers: [aContainer("a", { startupProbe: PROBE }), aContainer("b")] },
        observed: up(reads("a", NEW, 1), reads("b")),
        context: { ...both, probes: { "a-1": { startup: "Unknown" } } },
        expect: [],
      },
      "the second does not wait for a first that has ended for good": {
        pod: { ...two, restartPolicy: "OnFailure" },
        observed: up(exited("a", 0, { attempt: 1, configDigest: NEW }), reads("b")),
        context: both,
        expect: again("b"),
      },
      "a container that was ended for another reason does not delay others": {
        pod: pair,
        observed: up(reads("a", NEW), reads("b")),
        context: { ...now("a", "b"), probes: { "a-0": { readiness: "Failure" } } },
        expect: again("b"),
      },
      // What it read may have been a mistake that keeps it from ever getting ready.
      "the first starts anew once more when its config changes while it comes back": {
        pod: pair,
        observed: up(reads("a", OLD, 1), reads("b")),
        context: { ...both, probes: { "a-1": { readiness: "Failure" } } },
        expect: again("a", 1),
      },
      "the second waits on while the first starts anew once more": {
        pod: pair,
        observed: up(exited("a", 143, { attempt: 1, configDigest: OLD }), reads("b")),
        context: { ...both, restarts: replaced("a", "a-1") },
        expect: [start("a", 2)],
      },
    }),
  )("%s", (_, one) => check(one));
});

describe("whether a container has come back", () => {
  const pod: Pod = aPod(two);
  const context: ActionContext = { ...CALM, configRestarting: "a" };

  test("no, while it is not there at all", () => {
    expect(isComingBack(pod, up(), context)).toBe(true);
  });

  test("an unknown container delays no other", () => {
    expect(isComingBack(pod, up(), { ...CALM, configRestarting: "x" })).toBe(false);
  });

  test("no container waits if none was ended", () => {
    expect(isComingBack(pod, up(), CALM)).toBe(false);
  });
});
