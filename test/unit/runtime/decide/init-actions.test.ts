import { describe, test } from "bun:test";
import { aContainer, aSandbox, anObservedPod } from "../../../fakes/a-pod.ts";
import {
  anew,
  backingOff,
  cases,
  check,
  created,
  down,
  exited,
  kill,
  killPod,
  PROBE,
  remove,
  replaced,
  runs,
  sandbox,
  sidecar,
  start,
  unknown,
  up,
  wait,
} from "../actions-table.ts";

const three = { initContainers: [aContainer("i"), aContainer("j"), aContainer("k")] };
const never = { ...three, restartPolicy: "Never" } as const;
const onFailure = { ...three, restartPolicy: "OnFailure" } as const;
const done = (name: string, attempt = 0) => exited(name, 0, { attempt });

describe("init containers", () => {
  test.each(
    cases({
      "start with the first, in a new sandbox": {
        pod: three,
        observed: undefined,
        expect: [sandbox(0), start("i", 0)],
      },
      "start with the first if the sandbox is there already": {
        pod: three,
        observed: up(),
        expect: [start("i", 0)],
      },
      "nothing happens while the first runs": { pod: three, observed: up(runs("i")), expect: [] },
      "nothing happens while the last runs": {
        pod: three,
        observed: up(done("i"), done("j"), runs("k")),
        expect: [],
      },
      "the second follows when the first has succeeded": {
        pod: three,
        observed: up(done("i")),
        expect: [start("j", 0)],
      },
      "the next follows at once when an end is announced, before the runtime's own record": {
        pod: three,
        observed: up(exited("i", 0, { presumed: true })),
        expect: [start("j", 0)],
      },
      "the last follows when the second has succeeded": {
        pod: three,
        observed: up(done("i"), done("j")),
        expect: [start("k", 0)],
      },
      "every app container follows when the last has succeeded": {
        pod: { ...three, containers: [aContainer("a"), aContainer("b")] },
        observed: up(done("i"), done("j"), done("k")),
        expect: [start("a", 0), start("b", 0)],
      },
      "Never: the app containers follow a success as well": {
        pod: never,
        observed: up(done("i"), done("j"), done("k")),
        expect: [start("a", 0)],
      },
      "the records of those before the one that runs may be gone": {
        pod: three,
        observed: up(runs("j")),
        expect: [],
      },
      "the records of those before the one that has succeeded may be gone": {
        pod: three,
        observed: up(done("j")),
        expect: [start("k", 0)],
      },
      "the records of all but the last may be gone": {
        pod: three,
        observed: up(done("k")),
        expect: [start("a", 0)],
      },
      "all records may be gone when an app container runs": {
        pod: three,
        observed: up(runs("a")),
        expect: [],
      },
      "all records may be gone when an app container has exited: it alone starts again": {
        pod: three,
        observed: up(exited("a", 1)),
        expect: [start("a", 1)],
      },
      "all records may be gone when an app container was only made": {
        pod: three,
        observed: up(created("a")),
        expect: [remove("a", 0), start("a", 0)],
      },
      "are not asked again when one of several app containers is missing": {
        pod: { ...three, containers: [aContainer("a"), aContainer("b")] },
        observed: up(exited("k", 1), runs("b")),
        expect: [start("a", 0)],
      },
      "a failure of an earlier one does not count once a later one was begun": {
        pod: never,
        observed: up(exited("i", 0), runs("j")),
        expect: [],
      },
      "one in an earlier sandbox does not count": {
        pod: three,
        observed: anew([done("i"), done("j")]),
        expect: [start("i", 1)],
      },
      "an app container in an earlier sandbox does not prove that they are done": {
        pod: three,
        observed: anew([done("i"), done("j"), done("k"), exited("a", 255)], done("i", 1)),
        expect: [start("j", 1)],
      },
      "the app containers follow in a new sandbox too, counted on": {
        pod: { initContainers: [aContainer("i")] },
        observed: anew([done("i"), exited("a", 255, { attempt: 4 })], done("i", 1)),
        expect: [start("a", 5)],
      },
      "OnFailure: what succeeded in an earlier sandbox rests in the new one": {
        pod: {
          initContainers: [aContainer("i")],
          containers: [aContainer("a"), aContainer("b")],
          restartPolicy: "OnFailure",
        },
        observed: anew([done("i"), done("a"), exited("b", 1)], done("i", 1)),
        expect: [start("b", 1)],
      },
      "one made in an earlier sandbox and never started is removed before its number is used": {
        pod: three,
        observed: anew([created("i")]),
        expect: [remove("i", 0), start("i", 0)],
      },
      "a failure for good in an earlier sandbox is past when an app container runs in this one": {
        pod: { initContainers: [aContainer("i", { restartPolicy: "Never" })] },
        observed: anew([exited("i", 137)], runs("a", { attempt: 1 })),
        expect: [],
      },
      "a failure for good in an earlier sandbox is the end, whatever sandbox came up late": {
        pod: { initContainers: [aContainer("i", { restartPolicy: "Never" })] },
        observed: anew([exited("i", 137)]),
        expect: [killPod("Finished")],
      },
      "run again if the sandbox dies under them": {
        pod: three,
        observed: down(done("i"), runs("j")),
        expect: [killPod("SandboxChanged"), sandbox(1), start("i", 1)],
      },
      "run again if the sandbox dies under the app containers": {
        pod: three,
        observed: down(done("i"), done("j"), done("k"), runs("a")),
        expect: [killPod("SandboxChanged"), sandbox(1), start("i", 1)],
      },
      "Never: do not run again if the sandbox dies": {
        pod: never,
        observed: down(done("i"), runs("j")),
        expect: [killPod("SandboxChanged")],
      },
      "Never: begin if the sandbox died before the first was made": {
        pod: never,
        observed: down(),
        expect: [sandbox(1), start("i", 0)],
      },
      "OnFailure: run again in a new sandbox after a failure in the old one": {
        pod: onFailure,
        observed: down(exited("i", 1)),
        expect: [sandbox(1), start("i", 1)],
      },
      "Never: a failure and a dead sandbox are the end": {
        pod: never,
        observed: down(exited("i", 1)),
        expect: [],
      },
      "a running one is never replaced, however it changed": {
        pod: three,
        observed: up(runs("i")),
        context: { hashes: { i: "v1:11" } },
        expect: [],
      },
    }),
  )("%s", (_, one) => check(one));
});

describe("an init container that failed", () => {
  const before = [done("i"), done("j")];
  test.each(
    cases({
      "Always: starts again": {
        pod: three,
        observed: up(...before, exited("k", 1)),
        expect: [start("k", 1)],
      },
      "OnFailure: starts again": {
        pod: onFailure,
        observed: up(...before, exited("k", 1)),
        expect: [start("k", 1)],
      },
      "OnFailure: the first starts again, and no other": {
        pod: onFailure,
        observed: up(exited("i", 1)),
        expect: [start("i", 1)],
      },
      "Never: ends the pod": {
        pod: never,
        observed: up(...before, exited("k", 1)),
        expect: [killPod("Finished")],
      },
      "Never: ends the pod, whichever it is": {
        pod: never,
        observed: up(exited("i", 255)),
        expect: [killPod("Finished")],
      },
      "waits out its back-off": {
        pod: onFailure,
        observed: up(done("i"), exited("j", 1, { attempt: 2 })),
        context: { now: 6_000, restarts: backingOff("j", "j-2") },
        expect: [wait("j", 45_000)],
      },
      "Never in an Always pod: ends the pod": {
        pod: { initContainers: [aContainer("i", { restartPolicy: "Never" })] },
        observed: up(exited("i", 1)),
        expect: [killPod("Finished")],
      },
      "OnFailure in a Never pod: starts again": {
        pod: {
          initContainers: [aContainer("i", { restartPolicy: "OnFailure" })],
          restartPolicy: "Never",
        },
        observed: up(exited("i", 1)),
        expect: [start("i", 1)],
      },
      "with a rule for its exit code: starts again": {
        pod: { initContainers: [ruled([3])], restartPolicy: "Never" },
        observed: up(exited("i", 3)),
        expect: [start("i", 1)],
      },
      "with a rule for another exit code: ends the pod": {
        pod: { initContainers: [ruled([3])], restartPolicy: "Never" },
        observed: up(exited("i", 4)),
        expect: [killPod("Finished")],
      },
      "with a rule for 0: has succeeded all the same": {
        pod: { initContainers: [ruled([0])], restartPolicy: "Never" },
        observed: up(exited("i", 0)),
        expect: [start("a", 0)],
      },
      "was made and never started: is made anew under its number": {
        pod: never,
        observed: up(done("i"), created("j", 1)),
        expect: [remove("j", 1), start("j", 1)],
      },
      "is unknown, Always: is ended and starts again": {
        pod: three,
        observed: up(done("i"), unknown("j")),
        expect: [kill("j", 0, "ContainerUnknown"), start("j", 1)],
      },
      "is unknown, OnFailure: is ended and starts again": {
        pod: onFailure,
        observed: up(unknown("i")),
        expect: [kill("i", 0, "ContainerUnknown"), start("i", 1)],
      },
      "is unknown, Never: is ended; its exit code then ends the pod": {
        pod: never,
        observed: up(unknown("i")),
        expect: [kill("i", 0, "ContainerUnknown")],
      },
      "was ended because it was unknown: has not succeeded although it exited with 0": {
        pod: three,
        observed: up(exited("i", 0)),
        context: { restarts: replaced("i", "i-0") },
        expect: [start("i", 1)],
      },
    }),
  )("%s", (_, one) => check(one));
});

function ruled(values: readonly number[]) {
  const exitCodes = { operator: "In", values } as const;
  const restartPolicyRules = [{ action: "Restart", exitCodes }] as const;
  return aContainer("i", { restartPolicy: "Never", restartPolicyRules });
}

const pair = { initContainers: [sidecar("s"), sidecar("t")] };
/** sidecar, plain, sidecar */
const row = { initContainers: [sidecar("s"), aContainer("i"), sidecar("t")] };
const slow = { initContainers: [sidecar("s", { startupProbe: PROBE }), aContainer("i")] };
const alive = { initContainers: [sidecar("s", { livenessProbe: PROBE }), aContainer("i")] };
const startup = (outcome: "Success" | "Failure" | "Unknown") => ({
  probes: { "s-0": { startup: outcome } },
});

describe("sidecars", () => {
  test.each(
    cases({
      "start with the first, in a new sandbox": {
        pod: pair,
        observed: undefined,
        expect: [sandbox(0), start("s", 0)],
      },
      "the second follows when the first runs": {
        pod: pair,
        observed: up(runs("s")),
        expect: [start("t", 0)],
      },
      "the app containers follow when the last runs": {
        pod: pair,
        observed: up(runs("s"), runs("t")),
        expect: [start("a", 0)],
      },
      "nothing happens when they and the app containers run": {
        pod: pair,
        observed: up(runs("s"), runs("t"), runs("a")),
        expect: [],
      },
      "a plain one between them has to succeed first": {
        pod: row,
        observed: up(runs("s"), runs("i")),
        expect: [],
      },
      "the second follows when the plain one between them has succeeded": {
        pod: row,
        observed: up(runs("s"), done("i")),
        expect: [start("t", 0)],
      },
      "are started again while a plain one runs": {
        pod: row,
        observed: up(exited("s", 0), runs("i")),
        expect: [start("s", 1)],
      },
      "are started again before the next one is started": {
        pod: row,
        observed: up(exited("s", 1), done("i")),
        expect: [start("s", 1), start("t", 0)],
      },
      "in back-off do not hold up the next one: they had started": {
        pod: row,
        observed: up(exited("s", 1, { attempt: 2 }), done("i")),
        context: { now: 6_000, restarts: backingOff("s", "s-2") },
        expect: [wait("s", 45_000), start("t", 0)],
      },
      "that ended before the next one was begun hold it up": {
        pod: pair,
        observed: up(exited("s", 0)),
        expect: [start("s", 1)],
      },
      "in back-off before the next one was begun hold it up": {
        pod: pair,
        observed: up(exited("s", 0, { attempt: 2 })),
        context: { now: 6_000, restarts: backingOff("s", "s-2") },
        expect: [wait("s", 45_000)],
      },
      "are started again beside the app containers": {
        pod: pair,
        observed: up(exited("s", 1), runs("t"), runs("a")),
        expect: [start("s", 1)],
      },
      "are started again in their order, before the app containers": {
        pod: pair,
        observed: up(exited("s", 1), exited("t", 0), exited("a", 1)),
        expect: [start("s", 1), start("t", 1), start("a", 1)],
      },
      "do not hold up an app container that starts again": {
        pod: slow,
        observed: up(runs("s", { attempt: 1 }), done("i"), exited("a", 1)),
        expect: [start("a", 1)],
      },
      "Never: are started again all the same": {
        pod: { ...pair, restartPolicy: "Never" },
        observed: up(exited("s", 1), runs("t"), runs("a")),
        expect: [start("s", 1)],
      },
      "OnFailure: are started again after exit code 0": {
        pod: { ...pair, restartPolicy: "OnFailure" },
        observed: up(exited("s", 0), runs("t"), runs("a")),
        expect: [start("s", 1)],
      },
      "Never: a plain one after them that failed ends them too": {
        pod: { ...row, restartPolicy: "Never" },
        observed: up(runs("s"), exited("i", 1)),
        expect: [killPod("Finished")],
      },
      "whose record is gone are started again beside what came after them": {
        pod: row,
        observed: up(runs("i")),
        expect: [start("s", 0)],
      },
      "whose record is gone are started again beside the app containers": {
        pod: pair,
        observed: up(runs("a")),
        expect: [start("s", 0), start("t", 0)],
      },
      "in an earlier sandbox do not count": {
        pod: pair,
        observed: anew([exited("s", 137), exited("t", 137), exited("a", 137)]),
        expect: [start("s", 1)],
      },
      "were made and never started: are made anew": {
        pod: pair,
        observed: up(created("s")),
        expect: [remove("s", 0), start("s", 0)],
      },
      "in an unknown state are ended and started again": {
        pod: pair,
        observed: up(runs("s"), unknown("t")),
        expect: [kill("t", 0, "ContainerUnknown"), start("t", 1)],
      },
      "in an unknown state beside the app containers are ended and started again": {
        pod: { ...pair, restartPolicy: "Never" },
        observed: up(unknown("s"), runs("t"), runs("a")),
        expect: [kill("s", 0, "ContainerUnknown"), start("s", 1)],
      },
      "that changed are ended; the next one waits for the new one": {
        pod: pair,
        observed: up(runs("s")),
        context: { hashes: { s: "v1:11" } },
        expect: [kill("s", 0, "ContainerChanged")],
      },
      "that changed are ended beside the app containers": {
        pod: { ...pair, restartPolicy: "Never" },
        observed: up(runs("s"), runs("t"), runs("a")),
        context: { hashes: { s: "v1:11" } },
        expect: [kill("s", 0, "ContainerChanged")],
      },
      "whose postStart hook failed are ended; the next one waits for the new one": {
        pod: pair,
        observed: up(runs("s")),
        context: { hookFailed: new Set(["s-0"]) },
        expect: [kill("s", 0, "PostStartHook")],
      },
      "with a startup probe: nothing follows before it was asked": {
        pod: slow,
        observed: up(runs("s")),
        expect: [],
      },
      "with a startup probe: nothing follows while it is undecided": {
        pod: slow,
        observed: up(runs("s")),
        context: startup("Unknown"),
        expect: [],
      },
      "with a startup probe: the next follows when it has succeeded": {
        pod: slow,
        observed: up(runs("s")),
        context: startup("Success"),
        expect: [start("i", 0)],
      },
      "with a startup probe: are ended when it has failed": {
        pod: slow,
        observed: up(runs("s")),
        context: startup("Failure"),
        expect: [kill("s", 0, "StartupProbe")],
      },
      "with a startup probe: the word about an earlier instance does not count": {
        pod: slow,
        observed: up(runs("s", { attempt: 1 }), exited("s", 1)),
        context: startup("Success"),
        expect: [],
      },
      "with a startup probe: started again beside a plain one, they hold up the app no more": {
        pod: slow,
        observed: up(runs("s", { attempt: 1 }), done("i")),
        expect: [start("a", 0)],
      },
      "the last one's startup probe holds up the app containers": {
        pod: { initContainers: [sidecar("s", { startupProbe: PROBE })] },
        observed: up(runs("s")),
        context: startup("Unknown"),
        expect: [],
      },
      "that are not ready delay no container": {
        pod: { initContainers: [sidecar("s", { readinessProbe: PROBE })] },
        observed: up(runs("s")),
        context: { probes: { "s-0": { readiness: "Failure" } } },
        expect: [start("a", 0)],
      },
      "whose liveness was not probed yet delay no container": {
        pod: alive,
        observed: up(runs("s")),
        expect: [start("i", 0)],
      },
      "whose liveness failed are ended; the next one waits for the new one": {
        pod: alive,
        observed: up(runs("s")),
        context: { probes: { "s-0": { liveness: "Failure" } } },
        expect: [kill("s", 0, "LivenessProbe")],
      },
      "whose liveness failed are ended beside the app containers": {
        pod: { ...alive, restartPolicy: "Never" },
        observed: up(runs("s"), done("i"), runs("a")),
        context: { probes: { "s-0": { liveness: "Failure" } } },
        expect: [kill("s", 0, "LivenessProbe")],
      },
      "are ended when the pod has failed as a whole": {
        pod: pair,
        observed: up(runs("s")),
        context: { failed: "DeadlineExceeded" },
        expect: [killPod("DeadlineExceeded")],
      },
      "are ended with the pod, not started again, when the last app container is done": {
        pod: { ...pair, restartPolicy: "Never" },
        observed: up(exited("s", 1), runs("t"), exited("a", 0)),
        expect: [killPod("Finished")],
      },
      "stay ended when the pod has finished": {
        pod: { ...pair, restartPolicy: "OnFailure" },
        observed: down(exited("s", 143), exited("t", 143), exited("a", 0)),
        expect: [],
      },
      "start again with the app container that ended and will run again": {
        pod: { ...pair, restartPolicy: "OnFailure" },
        observed: up(exited("s", 1), runs("t"), exited("a", 1)),
        expect: [start("s", 1), start("a", 1)],
      },
      "follow the newest sandbox, whatever its creation time": {
        pod: pair,
        observed: anObservedPod(
          [aSandbox({ attempt: 1, createdAt: 0 }), aSandbox({ state: "NotReady", createdAt: 9e9 })],
          [runs("s", { attempt: 1, sandboxId: "sandbox-1" }), exited("s", 1, { createdAt: 9e9 })],
        ),
        expect: [start("t", 0)],
      },
    }),
  )("%s", (_, one) => check(one));
});
