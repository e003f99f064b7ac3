// Whatever happens in whatever order: what must hold of the probe manager all the same.

import { expect, test } from "bun:test";
import fc from "fast-check";

import { UID } from "../../fakes/a-pod.ts";
import type { Behaviour } from "../../fakes/fake-probe-edge.ts";
import { aProbedPod, PORTS, ProbeWorld, running } from "./probe-world.ts";

type Kind = keyof typeof PORTS;

type Step =
  | { readonly type: "Wait"; readonly ms: number }
  | { readonly type: "Restart" }
  | { readonly type: "Stop" }
  | { readonly type: "Terminate" }
  | { readonly type: "Forget" }
  | { readonly type: "Behave"; readonly kind: Kind; readonly behaviour: Behaviour };

const kinds: readonly Kind[] = ["startup", "liveness", "readiness"];
const afterMs = fc.constantFrom(0, 300, 2500);
const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  { weight: 3, arbitrary: afterMs.map((ms) => ({ type: "Up" as const, afterMs: ms })) },
  { weight: 3, arbitrary: afterMs.map((ms) => ({ type: "Refused" as const, afterMs: ms })) },
  fc.constant({ type: "Silent" as const }),
  fc.constant({ type: "Stuck" as const }),
  fc.constant({ type: "Throws" as const, error: new Error("broken") }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.nat(5000).map((ms) => ({ type: "Wait" as const, ms })) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(...kinds), behaviour)
      .map(([kind, how]) => ({ type: "Behave" as const, kind, behaviour: how })),
  },
  fc.constantFrom<Step>(
    { type: "Restart" },
    { type: "Restart" },
    { type: "Stop" },
    { type: "Terminate" },
    { type: "Forget" },
  ),
);

const FAILURES = 2;

/** Answers of one kind that failed while one instance ran; silence and refusal are failures, a broken edge is none. */
class Witness {
  readonly failures = new Map<string, number>();
  count(key: string): void {
    this.failures.set(key, (this.failures.get(key) ?? 0) + 1);
  }
}

async function play(steps: readonly Step[]): Promise<void> {
  const world = await ProbeWorld.make();
  const witness = new Witness();
  const often = { periodSeconds: 1, failureThreshold: FAILURES };
  const pod = aProbedPod({ startup: often, liveness: often, readiness: often });
  let attempt = -1;
  let terminating = false;
  let runs = false;
  const see = (): void => world.see(pod, runs ? [running(attempt)] : [], { terminating });
  const now = new Map<Kind, Behaviour>();
  world.edge.otherwise(({ to }) => {
    const kind = kinds.find((one) => to.endsWith(`:${PORTS[one]}`)) ?? "startup";
    const how = now.get(kind) ?? { type: "Up" };
    const fails = how.type === "Refused" || how.type === "Silent" || (how.afterMs ?? 0) > 1000;
    if (fails) witness.count(`a-${attempt}/${kind}`);
    return how;
  });

  for (const one of steps) {
    switch (one.type) {
      case "Wait":
        await world.clock.advance(one.ms);
        break;
      case "Restart":
        attempt += 1;
        runs = !terminating;
        see();
        break;
      case "Stop":
        runs = false;
        see();
        break;
      case "Terminate":
        terminating = true;
        see();
        break;
      case "Forget":
        world.manager.forget(UID);
        runs = false;
        terminating = false;
        break;
      case "Behave":
        now.set(one.kind, one.behaviour);
        break;
    }
    const verdicts = world.manager.verdicts(UID);
    expect(Object.keys(verdicts)).toEqual(runs ? [`a-${attempt}`] : []);
    const said = verdicts[`a-${attempt}`];
    for (const kind of ["startup", "liveness"] as const)
      if (said?.[kind] === "Failure") {
        expect(terminating).toBe(false);
        expect(witness.failures.get(`a-${attempt}/${kind}`) ?? 0).toBeGreaterThanOrEqual(FAILURES);
      }
    if (said !== undefined && said.startup !== "Success") expect(said.readiness).toBe("Failure");
    // One question per probe; what never ends is the edge's own fault.
    const stuck = [...now.values()].some(({ type }) => type === "Stuck");
    if (!stuck) expect(world.edge.open).toBeLessThanOrEqual(kinds.length);
  }

  // The storm is over: everything is healthy, and so is what is said of it.
  for (const kind of kinds) now.set(kind, { type: "Up" });
  world.manager.forget(UID);
  attempt += 1;
  runs = true;
  terminating = false;
  see();
  await world.clock.advance(5000);
  expect(world.said(`a-${attempt}`)).toBe("liveness=Success readiness=Success startup=Success");
  world.manager.forget(UID);
  await world.clock.advance(3_600_000);
  expect(world.clock.pending).toBe(0);
}

test("no storm of restarts, ends and broken networks brings the manager to a wrong word", async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 25 }), play), { numRuns: 150 });
});
