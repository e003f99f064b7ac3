import { expect, test } from "bun:test";
import fc from "fast-check";
import { planGarbage } from "../../../src/runtime/garbage.ts";
import { highestLogAttempt } from "../../../src/runtime/log-attempts.ts";
import { aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";

const dead = (attempt: number, sandboxId = "sandbox-0") =>
  anInstance("a", { attempt, state: "Exited", sandboxId });

test("keeps the running instance and the dead one before it, drops what is older", () => {
  const observed = anObservedPod(
    [aSandbox()],
    [anInstance("a", { attempt: 3 }), dead(2), dead(1), dead(0)],
  );
  expect(planGarbage(observed).containers.map(({ id }) => id)).toEqual(["a-1", "a-0"]);
});

test("keeps the newest dead container of a pod that has finished", () => {
  expect(planGarbage(anObservedPod([aSandbox()], [dead(0)])).containers).toEqual([]);
});

test("drops an old sandbox when nothing that is kept lies in it", () => {
  const down = aSandbox({ state: "NotReady" });
  const up = aSandbox({ attempt: 1 });
  const inNew = anInstance("a", { attempt: 2, sandboxId: "sandbox-1" });
  const kept = anObservedPod([down, up], [inNew, dead(1)]);
  expect(planGarbage(kept).sandboxes).toEqual([]);
  const free = anObservedPod([down, up], [inNew, dead(1, "sandbox-1"), dead(0)]);
  expect(planGarbage(free)).toMatchObject({ sandboxes: ["sandbox-0"] });
});

test("never takes the newest sandbox, nor the newest instance of any name, nor what runs", () => {
  const state = fc.constantFrom("Running", "Exited", "Created" as const);
  const instance = fc.record({
    name: fc.constantFrom("a", "b"),
    attempt: fc.nat(5),
    state,
    sandbox: fc.nat(2),
  });
  fc.assert(
    fc.property(
      fc.uniqueArray(instance, { selector: ({ name, attempt }) => `${name}${attempt}` }),
      (instances) => {
        const observed = anObservedPod(
          [0, 1, 2].map((attempt) => aSandbox({ attempt, state: "NotReady" })),
          instances.map((one) =>
            anInstance(one.name, { ...one, sandboxId: `sandbox-${one.sandbox}` }),
          ),
        );
        const garbage = planGarbage(observed);
        const gone = new Set(garbage.sandboxes);
        expect(gone.has("sandbox-2")).toBe(false);
        for (const name of ["a", "b"]) {
          const newest = observed.containers.find((one) => one.name === name);
          if (newest === undefined) continue;
          expect(garbage.containers).not.toContain(newest);
          expect(gone.has(newest.sandboxId)).toBe(false);
        }
        for (const one of observed.containers)
          if (one.state === "Running") expect(gone.has(one.sandboxId)).toBe(false);
      },
    ),
  );
});

test("reads the highest attempt off log names, rotated ones too", () => {
  const names = (list: string[]) => list.map((name) => ({ name }));
  expect(highestLogAttempt(names([]))).toBe(-1);
  expect(highestLogAttempt(names(["0.log", "10.log", "9.log", "x.log", "11.txt"]))).toBe(10);
  expect(highestLogAttempt(names(["0.log", "3.log.20261121-100000.gz"]))).toBe(3);
});
