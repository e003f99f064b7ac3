import { describe, test } from "bun:test";
import { aContainer, aSandbox, anObservedPod } from "../../../fakes/a-pod.ts";
import {
  a,
  anew,
  b,
  backingOff,
  cases,
  check,
  created,
  down,
  exited,
  kill,
  killPod,
  remove,
  replaced,
  runs,
  sandbox,
  sidecar,
  start,
  stopSandbox,
  two,
  unknown,
  up,
  wait,
} from "../actions-table.ts";

const init = { initContainers: [aContainer("i")] };
const withSidecar = { initContainers: [sidecar("s")] };
const mixed = { containers: [aContainer("a", { restartPolicy: "Always" }), b] };

describe("a pod's sandbox", () => {
  test.each(
    cases({
      "is made for a new pod, with every container": {
        pod: two,
        observed: undefined,
        expect: [sandbox(0), start("a", 0), start("b", 0)],
      },
      "is made anew if the runtime lost every sandbox and kept a dead container": {
        observed: anObservedPod([], [exited("a", 1, { attempt: 3 })]),
        expect: [sandbox(0), start("a", 4)],
      },
      "stays while everything runs as wanted": {
        pod: two,
        observed: up(runs("a"), runs("b")),
        expect: [],
      },
      "is replaced if it is down: next attempt, containers counted on": {
        observed: down(exited("a", 255, { attempt: 2 })),
        expect: [sandbox(1), start("a", 3)],
      },
      "is replaced after the pod was ended if a container still runs in a dead one": {
        pod: two,
        observed: down(runs("a"), exited("b", 0)),
        expect: [killPod("SandboxChanged"), sandbox(1), start("a", 1), start("b", 1)],
      },
      "is replaced if it lost its address": {
        observed: anObservedPod([aSandbox({ ips: [] })], [runs("a")]),
        expect: [killPod("SandboxChanged"), sandbox(1), start("a", 1)],
      },
      "needs no address with hostNetwork": {
        pod: { hostNetwork: true },
        observed: anObservedPod([aSandbox({ ips: [], hostNetwork: true })], [runs("a")]),
        expect: [],
      },
      "is replaced if the pod moves to the host's network": {
        pod: { hostNetwork: true },
        observed: up(runs("a")),
        expect: [killPod("SandboxChanged"), sandbox(1), start("a", 1)],
      },
      "is replaced if the pod moves away from the host's network": {
        observed: anObservedPod([aSandbox({ ips: [], hostNetwork: true })], [runs("a")]),
        expect: [killPod("SandboxChanged"), sandbox(1), start("a", 1)],
      },
      "is the one of the highest attempt, even if an older one has a newer creation time": {
        observed: anObservedPod(
          [aSandbox({ attempt: 1, createdAt: 5 }), aSandbox({ state: "NotReady", createdAt: 9e9 })],
          [
            runs("a", { attempt: 1, sandboxId: "sandbox-1", createdAt: 5 }),
            exited("a", 1, { createdAt: 9e9 }),
          ],
        ),
        expect: [],
      },
      "is replaced if the newest is down, though an older one is up and empty": {
        observed: anObservedPod(
          [aSandbox({ attempt: 1, state: "NotReady", ips: [] }), aSandbox()],
          [exited("a", 1, { sandboxId: "sandbox-1" })],
        ),
        expect: [killPod("SandboxChanged"), sandbox(2), start("a", 1)],
      },
      "is replaced if the last in which anything ran is down, though something lives in an older": {
        observed: anObservedPod(
          [aSandbox({ attempt: 1, state: "NotReady", ips: [] }), aSandbox()],
          [exited("a", 1, { attempt: 1, sandboxId: "sandbox-1" }), runs("a")],
        ),
        expect: [killPod("SandboxChanged"), sandbox(2), start("a", 2)],
      },
      "counts on from the highest attempt, not from the number of sandboxes": {
        observed: anObservedPod([aSandbox({ attempt: 7, state: "NotReady" })], []),
        expect: [sandbox(8), start("a", 0)],
      },
      "stays if it is the newest of two that are up; the other is stopped": {
        observed: anObservedPod(
          [aSandbox({ attempt: 1 }), aSandbox()],
          [runs("a", { attempt: 1, sandboxId: "sandbox-1" })],
        ),
        expect: [stopSandbox(0)],
      },
      "is the one in which the pod lives if a newer one came up late and empty": {
        observed: anObservedPod([aSandbox({ attempt: 1 }), aSandbox()], [runs("a")]),
        expect: [stopSandbox(1)],
      },
      "is the one in which a pod that may run once lives, whatever came up late": {
        pod: { restartPolicy: "Never" },
        observed: anObservedPod(
          [aSandbox({ attempt: 1, state: "NotReady", ips: [] }), aSandbox()],
          [runs("a")],
        ),
        expect: [],
      },
      "stays though a container was made, never started, in one that came up late": {
        pod: two,
        observed: anObservedPod(
          [aSandbox({ attempt: 1 }), aSandbox()],
          [runs("a"), { ...created("b"), sandboxId: "sandbox-1" }],
        ),
        expect: [stopSandbox(1), remove("b", 0), start("b", 0)],
      },
      "is the last in which anything ran, though nothing lives there just now": {
        observed: anObservedPod([aSandbox({ attempt: 1 }), aSandbox()], [exited("a", 1)]),
        expect: [stopSandbox(1), start("a", 1)],
      },
      "is the newest if the last in which anything ran is down": {
        observed: anew([exited("a", 1)]),
        expect: [start("a", 1)],
      },
      "is the newest if containers live in both; those in the older one are ended with grace": {
        pod: two,
        observed: anObservedPod(
          [aSandbox({ attempt: 1 }), aSandbox()],
          [runs("a"), runs("b", { attempt: 1, sandboxId: "sandbox-1" })],
        ),
        expect: [kill("a", 0, "SandboxChanged"), stopSandbox(0)],
      },
      "is the newest if the older one in which the pod lives has lost its address": {
        observed: anObservedPod([aSandbox({ attempt: 1 }), aSandbox({ ips: [] })], [runs("a")]),
        expect: [kill("a", 0, "SandboxChanged"), stopSandbox(0)],
      },
      "is rid of an older one that is down and in which something still runs": {
        observed: anew([runs("a")], exited("a", 1, { attempt: 1 })),
        expect: [kill("a", 0, "SandboxChanged"), stopSandbox(0), start("a", 2)],
      },
      "older ones are cleared in the reverse of the order in which containers start": {
        pod: { ...two, initContainers: [sidecar("s"), sidecar("t")] },
        observed: anObservedPod(
          [aSandbox({ attempt: 1 }), aSandbox()],
          [
            runs("a"),
            runs("s"),
            unknown("b"),
            runs("t"),
            exited("s", 1, { attempt: 1, sandboxId: "sandbox-1" }),
          ],
        ),
        expect: [
          kill("b", 0, "SandboxChanged"),
          kill("a", 0, "SandboxChanged"),
          kill("t", 0, "SandboxChanged"),
          kill("s", 0, "SandboxChanged"),
          stopSandbox(0),
          start("s", 2),
        ],
      },
      "starts the first init container again, and no other": {
        pod: init,
        observed: down(exited("i", 0), exited("a", 255)),
        expect: [sandbox(1), start("i", 1)],
      },
      "does not shorten the back-off of a container that crashed in the old one": {
        pod: two,
        observed: down(exited("a", 1, { attempt: 2 }), exited("b", 1)),
        context: { now: 10_000, restarts: backingOff("a", "a-2") },
        expect: [sandbox(1), wait("a", 45_000), start("b", 1)],
      },
      "is replaced without what was made in it and never started; its number is free": {
        pod: two,
        observed: down(created("a", 2), exited("b", 1)),
        expect: [remove("a", 2), sandbox(1), start("a", 2), start("b", 1)],
      },
    }),
  )("%s", (_, one) => check(one));
});

describe("a dead sandbox and restartPolicy", () => {
  test.each(
    cases({
      "Always: everything starts again, also what had succeeded": {
        pod: two,
        observed: down(exited("a", 0), exited("b", 1)),
        expect: [sandbox(1), start("a", 1), start("b", 1)],
      },
      "OnFailure: what has succeeded rests": {
        pod: { ...two, restartPolicy: "OnFailure" },
        observed: down(exited("a", 0), exited("b", 1)),
        expect: [sandbox(1), start("b", 1)],
      },
      "OnFailure: no sandbox if everything has succeeded": {
        pod: { ...two, restartPolicy: "OnFailure" },
        observed: down(exited("a", 0), exited("b", 0)),
        expect: [],
      },
      "OnFailure: no sandbox if everything has succeeded, init containers or not": {
        pod: { ...init, restartPolicy: "OnFailure" },
        observed: down(exited("i", 0), exited("a", 0)),
        expect: [],
      },
      "OnFailure: what runs in it starts again, whatever it exits with when it is ended": {
        pod: { restartPolicy: "OnFailure" },
        observed: down(runs("a")),
        expect: [killPod("SandboxChanged"), sandbox(1), start("a", 1)],
      },
      "OnFailure: what was ended for a new sandbox starts in it, though it exited with 0": {
        pod: { restartPolicy: "OnFailure" },
        observed: down(exited("a", 0)),
        context: { restarts: replaced("a", "a-0") },
        expect: [sandbox(1), start("a", 1)],
      },
      "Never: nothing starts again after anything ran": {
        pod: { ...two, restartPolicy: "Never" },
        observed: down(exited("a", 255)),
        expect: [],
      },
      "Never: what still runs in it is ended, and that is all": {
        pod: { ...two, restartPolicy: "Never" },
        observed: down(runs("a"), exited("b", 0)),
        expect: [killPod("SandboxChanged")],
      },
      "Never: not after an init container ran either": {
        pod: { ...init, restartPolicy: "Never" },
        observed: down(exited("i", 0)),
        expect: [],
      },
      "Never: another sandbox if the first died before anything was made": {
        pod: { ...init, restartPolicy: "Never" },
        observed: down(),
        expect: [sandbox(1), start("i", 0)],
      },
      "Never: another sandbox if nothing that was made in the first ever started": {
        pod: { restartPolicy: "Never" },
        observed: down(created("a")),
        expect: [remove("a", 0), sandbox(1), start("a", 0)],
      },
      "Never: a sidecar alone does not bring it back": {
        pod: { ...withSidecar, restartPolicy: "Never" },
        observed: down(exited("s", 255)),
        expect: [],
      },
      "Never, but one container Always: that one starts again, the others had their turn": {
        pod: { ...mixed, restartPolicy: "Never" },
        observed: down(exited("a", 255), exited("b", 255)),
        expect: [sandbox(1), start("a", 1)],
      },
      "Never, but one container Always: what may run once is not started again though it ran": {
        pod: { ...mixed, restartPolicy: "Never" },
        observed: down(runs("a"), runs("b")),
        expect: [killPod("SandboxChanged"), sandbox(1), start("a", 1)],
      },
      "no sandbox for containers that may run once when the others have succeeded": {
        pod: {
          containers: [aContainer("a", { restartPolicy: "Never" }), b],
          restartPolicy: "OnFailure",
        },
        observed: down(runs("a"), exited("b", 0)),
        expect: [killPod("SandboxChanged")],
      },
    }),
  )("%s", (_, one) => check(one));
});

describe("a pod that has finished", () => {
  test.each(
    cases({
      "Never: is ended whatever the exit code": {
        pod: { restartPolicy: "Never" },
        observed: up(exited("a", 1)),
        expect: [killPod("Finished")],
      },
      "OnFailure: is ended after a success": {
        pod: { restartPolicy: "OnFailure" },
        observed: up(exited("a", 0)),
        expect: [killPod("Finished")],
      },
      "OnFailure: has not finished while one may start again": {
        pod: { ...two, restartPolicy: "OnFailure" },
        observed: up(exited("a", 0), exited("b", 1)),
        expect: [start("b", 1)],
      },
      "Never: has not finished while one still runs": {
        pod: { ...two, restartPolicy: "Never" },
        observed: up(exited("a", 0), runs("b")),
        expect: [],
      },
      "Never: has not finished while one has not been made": {
        pod: { ...two, restartPolicy: "Never" },
        observed: up(exited("a", 1)),
        expect: [start("b", 0)],
      },
      "Always: never finishes": {
        observed: up(exited("a", 0)),
        expect: [start("a", 1)],
      },
      "does not live on for its sidecars": {
        pod: { ...withSidecar, restartPolicy: "Never" },
        observed: up(runs("s"), exited("a", 0)),
        expect: [killPod("Finished")],
      },
      "does not restart its sidecars": {
        pod: { ...withSidecar, restartPolicy: "OnFailure" },
        observed: up(exited("s", 1), exited("a", 0)),
        expect: [killPod("Finished")],
      },
      "is ended when an init container has failed for good, sidecars before it too": {
        pod: { initContainers: [sidecar("s"), aContainer("i")], restartPolicy: "Never" },
        observed: up(runs("s"), exited("i", 1)),
        expect: [killPod("Finished")],
      },
      "stays ended after a reboot: nothing is done": {
        pod: { ...two, restartPolicy: "Never" },
        observed: down(exited("a", 0), exited("b", 2)),
        expect: [],
      },
      "stays ended although its record lies two sandboxes back": {
        pod: { restartPolicy: "Never" },
        observed: anObservedPod(
          [aSandbox({ attempt: 2, state: "NotReady" }), aSandbox({ state: "NotReady" })],
          [exited("a", 0)],
        ),
        expect: [],
      },
      "gives back a sandbox that came up late": {
        pod: { restartPolicy: "Never" },
        observed: anew([exited("a", 0)]),
        expect: [killPod("Finished")],
      },
      "loses what was made late and never started": {
        pod: { ...two, restartPolicy: "Never" },
        observed: down(exited("a", 0), exited("b", 0), created("old")),
        expect: [remove("old", 0)],
      },
      "is left alone while the runtime is still clearing up": {
        pod: { restartPolicy: "Never" },
        observed: up(exited("a", 0, { presumed: true })),
        expect: [],
      },
      "has not finished if its end was ordered to make room for another": {
        pod: { restartPolicy: "OnFailure" },
        observed: up(exited("a", 0)),
        context: { restarts: replaced("a", "a-0") },
        expect: [start("a", 1)],
      },
      "has finished if the order spoke of an earlier instance": {
        pod: { restartPolicy: "OnFailure" },
        observed: up(exited("a", 0, { attempt: 1 }), exited("a", 137)),
        context: { restarts: replaced("a", "a-0") },
        expect: [killPod("Finished")],
      },
    }),
  )("%s", (_, one) => check(one));
});

describe("a pod that has failed as a whole", () => {
  const failed = { failed: "DeadlineExceeded" } as const;
  test.each(
    cases({
      "is ended while it runs": {
        observed: up(runs("a")),
        context: failed,
        expect: [killPod("DeadlineExceeded")],
      },
      "gives back an empty sandbox": {
        observed: up(),
        context: failed,
        expect: [killPod("DeadlineExceeded")],
      },
      "is ended in a dead sandbox too": {
        observed: down(unknown("a")),
        context: failed,
        expect: [killPod("DeadlineExceeded")],
      },
      "never starts when it has nothing yet": { observed: undefined, context: failed, expect: [] },
      "starts nothing again": { observed: down(exited("a", 1)), context: failed, expect: [] },
      "loses what was never started": {
        observed: down(created("a")),
        context: failed,
        expect: [remove("a", 0)],
      },
    }),
  )("%s", (_, one) => check(one));
});

describe("what the spec does not have", () => {
  test.each(
    cases({
      "a running container of another name is ended": {
        observed: up(runs("a"), runs("old")),
        expect: [kill("old", 0, "NotInSpec")],
      },
      "one in an unknown state too: it may run": {
        observed: up(runs("a"), unknown("old")),
        expect: [kill("old", 0, "NotInSpec")],
      },
      "a dead one is left to the garbage": {
        observed: up(runs("a"), exited("old", 1)),
        expect: [],
      },
      "an older instance that runs beside the newest is ended": {
        observed: up(runs("a", { attempt: 1 }), runs("a")),
        expect: [kill("a", 0, "Duplicate")],
      },
      "an older instance in an unknown state is ended": {
        observed: up(runs("a", { attempt: 1 }), unknown("a")),
        expect: [kill("a", 0, "Duplicate")],
      },
      "an older instance that runs is ended before the newest is started again": {
        observed: up(exited("a", 1, { attempt: 1 }), runs("a")),
        expect: [kill("a", 0, "Duplicate"), start("a", 2)],
      },
      "an older instance of a sidecar is ended": {
        pod: withSidecar,
        observed: up(runs("a"), runs("s", { attempt: 1 }), runs("s")),
        expect: [kill("s", 0, "Duplicate")],
      },
    }),
  )("%s", (_, one) => check({ pod: { containers: [a] }, ...one }));
});
