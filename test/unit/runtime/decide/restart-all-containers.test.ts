import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ObservedContainer } from "../../../../src/api/pod/observed-pod.ts";
import type { Container } from "../../../../src/api/v1/container.ts";
import { aContainer, aSandbox, anObservedPod } from "../../../fakes/a-pod.ts";
import {
  a,
  anew,
  b,
  backingOff,
  cases,
  check,
  created,
  exited,
  kill,
  killPod,
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
import { RestartWorld } from "../restart-world.ts";

const RULES: Pick<Container, "restartPolicyRules"> = {
  restartPolicyRules: [
    { action: "Restart", exitCodes: { operator: "In", values: [41] } },
    { action: "RestartAllContainers", exitCodes: { operator: "In", values: [41, 42, 137] } },
  ],
};
const NOT_FIVE: Container["restartPolicyRules"] = [
  { action: "RestartAllContainers", exitCodes: { operator: "NotIn", values: [5] } },
];
const never = (name: string, more: Partial<Container> = {}): Container =>
  aContainer(name, { restartPolicy: "Never", ...more });
const asking = never("a", RULES);
const watcher = sidecar("w", RULES);

const pair = { restartPolicy: "Never", containers: [asking, b] } as const;
const withInit = { ...pair, initContainers: [never("i"), never("j", RULES)] };
const watched = {
  restartPolicy: "Never",
  initContainers: [never("i"), watcher],
  containers: [a],
} as const;

/** Of the second run, after one restart of all containers. */
const again = (one: ObservedContainer): ObservedContainer => ({ ...one, podRestarts: 1 });
const ALL = "RestartAllContainers";

describe("all containers are restarted together:", () => {
  test.each(
    cases({
      "first the others are killed": {
        pod: pair,
        observed: up(exited("a", 42), runs("b")),
        expect: [kill("b", 0, ALL)],
      },
      "also one in an unknown state": {
        pod: pair,
        observed: up(exited("a", 42), unknown("b")),
        expect: [kill("b", 0, ALL)],
      },
      "and one that runs in another sandbox": {
        pod: pair,
        observed: anew([runs("b")], exited("a", 42)),
        expect: [kill("b", 0, ALL)],
      },
      "then all start, whatever their policies and exit codes": {
        pod: pair,
        observed: up(exited("a", 42), exited("b", 0)),
        expect: [start("a", 1), start("b", 1)],
      },
      "from the first init container on": {
        pod: withInit,
        observed: up(exited("i", 0), exited("j", 0), exited("a", 42), exited("b", 137)),
        expect: [start("i", 1)],
      },
      "and then as in a new sandbox: the second init container": {
        pod: withInit,
        observed: up(
          exited("i", 0),
          again(exited("i", 0, { attempt: 1 })),
          exited("j", 0),
          exited("a", 42),
          exited("b", 137),
        ),
        expect: [start("j", 1)],
      },
      "and the app containers after it": {
        pod: withInit,
        observed: up(
          again(exited("i", 0, { attempt: 1 })),
          again(exited("j", 0, { attempt: 1 })),
          exited("a", 42),
          exited("b", 0),
        ),
        expect: [start("a", 1), start("b", 1)],
      },
      "by an init container that failed": {
        pod: withInit,
        observed: up(exited("i", 0), exited("j", 42)),
        expect: [start("i", 1)],
      },
      "not by one that succeeded: the pod would never start": {
        pod: { initContainers: [never("i", { restartPolicyRules: NOT_FIVE })] },
        observed: up(exited("i", 0)),
        expect: [start("a", 0)],
      },
      "by a sidecar": {
        pod: watched,
        observed: up(exited("i", 0), exited("w", 42), runs("a")),
        expect: [kill("a", 0, ALL)],
      },
      "by a sidecar, when the container that was killed could have ended for good": {
        pod: watched,
        observed: up(exited("i", 0), exited("w", 42), exited("a", 137)),
        context: { restarts: replaced("a", "a-0", true) },
        expect: [start("i", 1)],
      },
      "not by a sidecar of a pod whose work is done": {
        pod: watched,
        observed: up(exited("i", 0), exited("w", 42), exited("a", 0)),
        expect: [killPod("Finished")],
      },
      "not by an exit code of which an earlier rule asks for less": {
        pod: pair,
        observed: up(exited("a", 41), runs("b")),
        expect: [start("a", 1)],
      },
      "not by a container that the agent ended on purpose": {
        pod: { ...pair, restartPolicy: "Always" },
        observed: up(exited("a", 137), runs("b")),
        context: { restarts: replaced("a", "a-0", true) },
        expect: [start("a", 1)],
      },
      "after the back-off of the one that asked; the others end at once": {
        pod: pair,
        observed: up(exited("a", 42), runs("b")),
        context: { restarts: backingOff("a", "a-0"), now: 6_000 },
        expect: [kill("b", 0, ALL)],
      },
      "and nothing starts before it": {
        pod: withInit,
        observed: up(exited("i", 0), exited("j", 0), exited("a", 42), exited("b", 137)),
        context: { restarts: backingOff("a", "a-0"), now: 6_000 },
        expect: [wait("a", 45_000)],
      },
      "the back-off of another does not count": {
        pod: pair,
        observed: up(exited("a", 42), exited("b", 137)),
        context: { restarts: backingOff("b", "b-0"), now: 6_000 },
        expect: [start("a", 1), start("b", 1)],
      },
      "once: what has started is not stopped again, and the rest follows": {
        pod: pair,
        observed: up(exited("a", 42), again(runs("b", { attempt: 1 })), exited("b", 137)),
        expect: [start("a", 1)],
      },
      "what was only created has not begun the next run": {
        pod: pair,
        observed: up(exited("a", 42), again(created("a", 1)), exited("b", 137)),
        expect: [remove("a", 1), start("a", 1), start("b", 1)],
      },
      "a start of the run before whose answer was lost is undone": {
        pod: pair,
        observed: up(again(runs("a", { attempt: 1 })), runs("b")),
        expect: [kill("b", 0, ALL)],
      },
      "and again, after the next exit that asks for it": {
        pod: pair,
        observed: up(again(exited("a", 42, { attempt: 1 })), again(runs("b", { attempt: 1 }))),
        expect: [kill("b", 1, ALL)],
      },
      "also when it asks before all have started, though those of the run before had ended": {
        pod: watched,
        observed: up(
          again(exited("i", 0, { attempt: 1 })),
          again(exited("w", 42, { attempt: 1 })),
          exited("a", 0),
        ),
        expect: [start("i", 2)],
      },
      "in a new sandbox, if theirs is gone too": {
        pod: { ...watched, containers: [never("a", RULES)] },
        observed: anObservedPod(
          [aSandbox({ state: "NotReady", ips: [] })],
          [exited("i", 0), exited("w", 0), exited("a", 42)],
        ),
        expect: [sandbox(1), start("i", 1)],
      },
      "an init container that then fails for good fails the pod": {
        pod: { ...pair, initContainers: [never("i")] },
        observed: up(
          exited("i", 0),
          again(exited("i", 1, { attempt: 1 })),
          exited("a", 42),
          exited("b", 137),
        ),
        expect: [killPod("Finished")],
      },
      "the pod ends when the containers of the last run have": {
        pod: pair,
        observed: up(again(exited("a", 0, { attempt: 1 })), again(exited("b", 0, { attempt: 1 }))),
        expect: [killPod("Finished")],
      },
      "not because those of the run before had": {
        pod: watched,
        observed: up(
          again(exited("i", 0, { attempt: 1 })),
          again(runs("w", { attempt: 1 })),
          exited("a", 137),
        ),
        expect: [start("a", 1)],
      },
    }),
  )("%s", (_, each) => check(each));
});

describe("whatever interrupts the agent between two actions", () => {
  const app = fc.record({
    restartPolicy: fc.constantFrom("Always", "OnFailure", "Never" as const),
    hasRules: fc.boolean(),
    hasEnded: fc.boolean(),
  });
  const worlds = fc.record({
    apps: fc.array(app, { minLength: 1, maxLength: 3 }),
    inits: fc.array(fc.constantFrom("plain", "sidecar" as const), { maxLength: 3 }),
    source: fc.nat(5),
    dice: fc.array(fc.nat(11), { maxLength: 60 }),
  });

  test("each container is killed at most once and starts once, in order", () => {
    fc.assert(
      fc.property(worlds, ({ apps, inits, source, dice }) => {
        const initContainers = inits.map((kind, index) =>
          kind === "plain" ? never(`i${index}`) : sidecar(`i${index}`, RULES),
        );
        const containers = apps.map(({ restartPolicy, hasRules }, index) =>
          aContainer(`a${index}`, { restartPolicy, ...(hasRules ? RULES : {}) }),
        );
        const world = new RestartWorld({ initContainers, containers }, dice);
        const sources = [...initContainers, ...containers].filter(
          ({ restartPolicyRules }) => restartPolicyRules.length > 0,
        );
        const chosen = sources[source % Math.max(1, sources.length)];
        if (chosen === undefined) return;
        // What has ended for good before; at least one app container still has work.
        const ended = apps.flatMap(({ restartPolicy, hasEnded }, index) =>
          index > 0 && hasEnded && restartPolicy === "Never" ? [`a${index}`] : [],
        );
        world.begin(ended.filter((name) => name !== chosen.name));
        world.exit(chosen.name, 42);
        world.settle();
        world.expectNextRun();
        world.settle();
        expect(world.decide()).toEqual([]);
      }),
      { numRuns: 2_000, includeErrorInReport: true },
    );
  });
});
