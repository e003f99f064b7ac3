import { describe, test } from "bun:test";
import type { RestartPolicy } from "../../../../src/api/v1/pod.ts";
import { aContainer } from "../../../fakes/a-pod.ts";
import {
  backingOff,
  cases,
  check,
  created,
  exited,
  kill,
  killPod,
  PROBE,
  remove,
  replaced,
  runs,
  sidecar,
  start,
  two,
  unknown,
  up,
  wait,
  type Case,
} from "../actions-table.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

const never = { restartPolicy: "Never" } as const;
const onFailure = { restartPolicy: "OnFailure" } as const;
const alive = { containers: [aContainer("a", { livenessProbe: PROBE }), aContainer("b")] };
const slow = { containers: [aContainer("a", { startupProbe: PROBE }), aContainer("b")] };
const b = runs("b");
const says = (verdicts: NonNullable<Case["context"]>["probes"] & object) => ({ probes: verdicts });

describe("a container that is not there", () => {
  test.each(
    cases({
      "is started": { observed: up(), expect: [start("a", 0)] },
      "is started beside the others": {
        pod: two,
        observed: up(runs("a")),
        expect: [start("b", 0)],
      },
      "is started under Never too": { pod: never, observed: up(), expect: [start("a", 0)] },
    }),
  )("%s", (_, one) => check(one));
});

describe("a container that was created and never started", () => {
  test.each(
    cases({
      "is removed and made anew under its number": {
        observed: up(created("a", 2)),
        expect: [remove("a", 2), start("a", 2)],
      },
      "is made anew under Never too: it never ran": {
        pod: never,
        observed: up(created("a")),
        expect: [remove("a", 0), start("a", 0)],
      },
      "is made anew at once, whatever its predecessor's back-off": {
        observed: up(created("a", 3), exited("a", 1, { attempt: 2 })),
        context: { now: 6_000, restarts: backingOff("a", "a-2") },
        expect: [remove("a", 3), start("a", 3)],
      },
      "does not hold up the others": {
        pod: two,
        observed: up(created("a")),
        expect: [remove("a", 0), start("a", 0), start("b", 0)],
      },
    }),
  )("%s", (_, one) => check(one));
});

describe("a container in a state the runtime does not know", () => {
  test.each(
    cases({
      "Always: is ended before the next one starts": {
        observed: up(unknown("a")),
        expect: [kill("a", 0, "ContainerUnknown"), start("a", 1)],
      },
      "OnFailure: is ended before the next one starts": {
        pod: onFailure,
        observed: up(unknown("a")),
        expect: [kill("a", 0, "ContainerUnknown"), start("a", 1)],
      },
      "Never: is ended, and no other follows": {
        pod: { ...two, ...never },
        observed: up(unknown("a"), b),
        expect: [kill("a", 0, "ContainerUnknown")],
      },
      "Never with a rule of its own: another may follow": {
        pod: { containers: [ruled("Never", { operator: "In", values: [42] })], ...never },
        observed: up(unknown("a")),
        expect: [kill("a", 0, "ContainerUnknown"), start("a", 1)],
      },
      "OnFailure: another follows whatever it exited with when it was ended": {
        pod: { ...two, ...onFailure },
        observed: up(exited("a", 0), b),
        context: { restarts: replaced("a", "a-0") },
        expect: [start("a", 1)],
      },
    }),
  )("%s", (_, one) => check(one));
});

describe("a container whose definition changed", () => {
  const changed = { hashes: { a: "v1:11", b: "v1:00" } };
  test.each(
    cases({
      "is ended, alone": {
        pod: two,
        observed: up(runs("a"), b),
        context: changed,
        expect: [kill("a", 0, "ContainerChanged")],
      },
      "is ended under Never too": {
        pod: { ...two, ...never },
        observed: up(runs("a"), b),
        context: changed,
        expect: [kill("a", 0, "ContainerChanged")],
      },
      "is followed by another under Never too": {
        pod: { ...two, ...never },
        observed: up(exited("a", 143), b),
        context: { ...changed, restarts: replaced("a", "a-0", true) },
        expect: [start("a", 1)],
      },
      "is ended for that even if a probe has failed as well": {
        pod: alive,
        observed: up(runs("a"), b),
        context: { ...changed, ...says({ "a-0": { liveness: "Failure" } }) },
        expect: [kill("a", 0, "ContainerChanged")],
      },
      "stays dead if it is dead": {
        pod: { ...two, ...never },
        observed: up(exited("a", 0), b),
        context: changed,
        expect: [],
      },
      "counts as unchanged if its hash is of another version": {
        observed: up(runs("a", { hash: "v2:77" })),
        context: changed,
        expect: [],
      },
      "counts as unchanged if it carries no hash": {
        observed: up(runs("a", { hash: "" })),
        context: changed,
        expect: [],
      },
      "counts as unchanged if today's hash is of another version": {
        observed: up(runs("a")),
        context: { hashes: { a: "v2:77" } },
        expect: [],
      },
      "counts as unchanged if today's hash is not known": {
        observed: up(runs("a")),
        context: { hashes: {} },
        expect: [],
      },
    }),
  )("%s", (_, one) => check(one));
});

describe("a container that a probe has given up", () => {
  test.each(
    cases({
      "is ended after its liveness probe failed": {
        pod: alive,
        observed: up(runs("a"), b),
        context: says({ "a-0": { liveness: "Failure" } }),
        expect: [kill("a", 0, "LivenessProbe")],
      },
      "is ended under Never too, and with nothing left the pod": {
        pod: { containers: [aContainer("a", { livenessProbe: PROBE })], ...never },
        observed: up(runs("a")),
        context: says({ "a-0": { liveness: "Failure" } }),
        expect: [kill("a", 0, "LivenessProbe")],
      },
      "is ended after its startup probe failed": {
        pod: slow,
        observed: up(runs("a"), b),
        context: says({ "a-0": { startup: "Failure" } }),
        expect: [kill("a", 0, "StartupProbe")],
      },
      "is ended for its liveness if both failed": {
        pod: { containers: [aContainer("a", { livenessProbe: PROBE, startupProbe: PROBE })] },
        observed: up(runs("a")),
        context: says({ "a-0": { liveness: "Failure", startup: "Failure" } }),
        expect: [kill("a", 0, "LivenessProbe")],
      },
      "runs on while the answer is not known": {
        pod: alive,
        observed: up(runs("a"), b),
        context: says({ "a-0": { liveness: "Unknown" } }),
        expect: [],
      },
      "runs on when it is only not ready": {
        pod: { containers: [aContainer("a", { readinessProbe: PROBE })] },
        observed: up(runs("a")),
        context: says({ "a-0": { readiness: "Failure" } }),
        expect: [],
      },
      "runs on if the verdict is about an earlier instance": {
        pod: alive,
        observed: up(runs("a", { attempt: 1 }), exited("a", 137), b),
        context: says({ "a-0": { liveness: "Failure" } }),
        expect: [],
      },
      "runs on if its spec has no such probe": {
        pod: two,
        observed: up(runs("a"), b),
        context: says({ "a-0": { liveness: "Failure", startup: "Failure" } }),
        expect: [],
      },
      "Always: another follows": {
        pod: alive,
        observed: up(exited("a", 0), b),
        expect: [start("a", 1)],
      },
      "OnFailure: another follows though it exited with 0 when it was ended": {
        pod: { ...alive, ...onFailure },
        observed: up(exited("a", 0), b),
        context: { restarts: replaced("a", "a-0") },
        expect: [start("a", 1)],
      },
      "OnFailure: none follows if it exited with 0 by itself": {
        pod: { ...alive, ...onFailure },
        observed: up(exited("a", 0), b),
        expect: [],
      },
      "Never: none follows": {
        pod: { ...alive, ...never },
        observed: up(exited("a", 137), b),
        context: { restarts: replaced("a", "a-0") },
        expect: [],
      },
      "Never: none follows, and the last one takes the pod with it": {
        pod: { containers: [aContainer("a", { livenessProbe: PROBE })], ...never },
        observed: up(exited("a", 137)),
        context: { restarts: replaced("a", "a-0") },
        expect: [killPod("Finished")],
      },
    }),
  )("%s", (_, one) => check(one));
});

describe("a container whose postStart hook failed", () => {
  test.each(
    cases({
      "is ended": {
        pod: two,
        observed: up(runs("a"), b),
        context: { hookFailed: new Set(["a-0"]) },
        expect: [kill("a", 0, "PostStartHook")],
      },
      "is ended under Never too": {
        pod: { ...two, ...never },
        observed: up(runs("a"), b),
        context: { hookFailed: new Set(["a-0"]) },
        expect: [kill("a", 0, "PostStartHook")],
      },
      "runs on if the hook was an earlier instance's": {
        observed: up(runs("a", { attempt: 1 }), exited("a", 143)),
        context: { hookFailed: new Set(["a-0"]) },
        expect: [],
      },
      "waits out its back-off like any that failed": {
        observed: up(exited("a", 143, { attempt: 3 })),
        context: { now: 6_000, restarts: backingOff("a", "a-3"), hookFailed: new Set(["a-3"]) },
        expect: [wait("a", 45_000)],
      },
    }),
  )("%s", (_, one) => check(one));
});

describe("back-off", () => {
  const crashed = up(exited("a", 1, { attempt: 3 }));
  test.each(
    cases({
      "is waited out": {
        observed: crashed,
        context: { now: 10_000, restarts: backingOff("a", "a-3") },
        expect: [wait("a", 45_000)],
      },
      "is over when it is over, and not a millisecond before": {
        observed: crashed,
        context: { now: 44_999, restarts: backingOff("a", "a-3") },
        expect: [wait("a", 45_000)],
      },
      "ends with a start": {
        observed: crashed,
        context: { now: 45_000, restarts: backingOff("a", "a-3") },
        expect: [start("a", 4)],
      },
      "is unknown to an agent that has just started": {
        observed: crashed,
        context: { now: 10_000 },
        expect: [start("a", 4)],
      },
      "of an earlier exit does not count": {
        observed: up(exited("a", 1, { attempt: 4 })),
        context: { now: 10_000, restarts: backingOff("a", "a-3") },
        expect: [start("a", 5)],
      },
      "of one holds up no other": {
        pod: two,
        observed: crashed,
        context: { now: 10_000, restarts: backingOff("a", "a-3") },
        expect: [wait("a", 45_000), start("b", 0)],
      },
      "of one is not another's": {
        pod: two,
        observed: up(exited("a", 1, { attempt: 3 }), exited("b", 1)),
        context: { now: 10_000, restarts: backingOff("a", "a-3") },
        expect: [wait("a", 45_000), start("b", 1)],
      },
      "is not waited for by a container that does not start again": {
        pod: { ...two, ...never },
        observed: up(exited("a", 1, { attempt: 3 }), b),
        context: { now: 10_000, restarts: backingOff("a", "a-3") },
        expect: [],
      },
      "holds for a container that may exit with anything": {
        observed: up(exited("a", 0, { attempt: 3 })),
        context: { now: 10_000, restarts: backingOff("a", "a-3") },
        expect: [wait("a", 45_000)],
      },
      "holds for a sidecar": {
        pod: { initContainers: [sidecar("s")] },
        observed: up(exited("s", 1, { attempt: 3 }), runs("a")),
        context: { now: 10_000, restarts: backingOff("s", "s-3") },
        expect: [wait("s", 45_000)],
      },
      "holds for an init container": {
        pod: { initContainers: [aContainer("i")] },
        observed: up(exited("i", 1, { attempt: 3 })),
        context: { now: 10_000, restarts: backingOff("i", "i-3") },
        expect: [wait("i", 45_000)],
      },
    }),
  )("%s", (_, one) => check(one));
});

type Rule = Container["restartPolicyRules"][number]["exitCodes"];

function ruled(restartPolicy: RestartPolicy, ...rules: readonly Rule[]): Container {
  const restartPolicyRules = rules.map((exitCodes) => ({ action: "Restart", exitCodes }) as const);
  return aContainer("a", { restartPolicy, restartPolicyRules });
}

describe("a container with a policy of its own", () => {
  const in42 = ruled("Never", { operator: "In", values: [42] });
  test.each(
    cases({
      "Never in an Always pod: rests": {
        pod: { containers: [ruled("Never"), aContainer("b")] },
        observed: up(exited("a", 1), b),
        expect: [],
      },
      "Always in a Never pod: starts again": {
        pod: { containers: [ruled("Always"), aContainer("b")], ...never },
        observed: up(exited("a", 0), exited("b", 0)),
        expect: [start("a", 1)],
      },
      "OnFailure in a Never pod: has finished after a success, and the pod with it": {
        pod: { containers: [ruled("OnFailure"), aContainer("b")], ...never },
        observed: up(exited("a", 0), exited("b", 1)),
        expect: [killPod("Finished")],
      },
      "a rule that matches: starts again though the policy is Never": {
        pod: { containers: [in42] },
        observed: up(exited("a", 42)),
        expect: [start("a", 1)],
      },
      "no rule that matches: rests, and the pod is over": {
        pod: { containers: [in42] },
        observed: up(exited("a", 1)),
        expect: [killPod("Finished")],
      },
      "a rule that matches: waits out its back-off": {
        pod: { containers: [in42] },
        observed: up(exited("a", 42, { attempt: 1 })),
        context: { now: 6_000, restarts: backingOff("a", "a-1") },
        expect: [wait("a", 45_000)],
      },
      "a rule that does not match: starts again all the same if a probe ended it": {
        pod: { containers: [in42] },
        observed: up(exited("a", 137)),
        context: { restarts: replaced("a", "a-0") },
        expect: [start("a", 1)],
      },
    }),
  )("%s", (_, one) => check(one));
});
