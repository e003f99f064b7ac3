import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type ObservedPod, lastUsedSandbox } from "../../../../src/api/pod/observed-pod.ts";
import { perContainerLimit, planGarbage } from "../../../../src/runtime/decide/dead-containers.ts";
import { isLive, highestLogAttempt } from "../../../../src/runtime/observe/newest.ts";
import { aSandbox, anInstance, anObservedPod } from "../../../fakes/a-pod.ts";

const dead = (attempt: number, sandboxId = "sandbox-0") =>
  anInstance("a", { attempt, state: "Exited", sandboxId });

test("keeps the running instance and the dead one before it, drops what is older", () => {
  const observed = anObservedPod(
    [aSandbox()],
    [anInstance("a", { attempt: 3 }), dead(2), dead(1), dead(0)],
  );
  expect(planGarbage(observed).containers.map(({ id }) => id)).toEqual(["a-1", "a-0"]);
});

test("keeps as many older instances as the policy allows", () => {
  const observed = anObservedPod(
    [aSandbox()],
    [5, 4, 3, 2, 1].map((attempt) => dead(attempt)),
  );
  const goes = (maxPerPodContainer: number): readonly string[] =>
    planGarbage(observed, { maxPerPodContainer }).containers.map(({ id }) => id);
  expect(goes(0)).toEqual(["a-4", "a-3", "a-2", "a-1"]);
  expect(goes(3)).toEqual(["a-1"]);
});

test("keeps the record behind a running instance, though the policy allows none", () => {
  const observed = anObservedPod([aSandbox()], [anInstance("a", { attempt: 2 }), dead(1), dead(0)]);
  const garbage = planGarbage(observed, { maxPerPodContainer: 0 });
  expect(garbage.containers.map(({ id }) => id)).toEqual(["a-0"]);
});

test("keeps what has been dead for too short a time", () => {
  const observed = anObservedPod(
    [aSandbox()],
    [3, 2, 1, 0].map((attempt) => dead(attempt)),
  );
  const isTooNew = ({ id }: { readonly id: string }): boolean => id === "a-0";
  const garbage = planGarbage(observed, { maxPerPodContainer: 1, isTooNew });
  expect(garbage.containers.map(({ id }) => id)).toEqual(["a-1"]);
});

test("the limit of the node is shared among its containers", () => {
  const pod = (uid: string, ...attempts: readonly number[]): ObservedPod => ({
    ...anObservedPod(
      [aSandbox()],
      attempts.map((attempt) => dead(attempt)),
    ),
    uid,
  });
  const pods = [pod("one", 3, 2, 1, 0), pod("two", 1, 0), pod("three", 0)];
  const limit = (maxPerPodContainer: number, maxContainers: number): number =>
    perContainerLimit({ maxPerPodContainer, maxContainers }, pods);
  expect([limit(1, -1), limit(1, 2), limit(1, 1), limit(3, 3), limit(3, 4)]).toEqual([
    1, 1, 0, 1, 3,
  ]);
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

test("leaves alone what runs, may run, or is the newest of its name though never started", () => {
  const observed = anObservedPod(
    [aSandbox()],
    [
      anInstance("a", { attempt: 4, state: "Created" }),
      dead(3),
      anInstance("a", { attempt: 2 }),
      anInstance("a", { attempt: 1, state: "Unknown" }),
      dead(0),
    ],
  );
  expect(planGarbage(observed)).toEqual({ containers: [observed.containers[4]!], sandboxes: [] });
});

test("keeps the newest dead one, however many before it live", () => {
  const living = [3, 2, 1].map((attempt) => anInstance("a", { attempt }));
  expect(planGarbage(anObservedPod([aSandbox()], [...living, dead(0)])).containers).toEqual([]);
});

test("drops one that was made late and never started, and counts it for nothing", () => {
  const late = anInstance("a", { attempt: 2, state: "Created" });
  const observed = anObservedPod(
    [aSandbox()],
    [anInstance("a", { attempt: 3 }), late, dead(1), dead(0)],
  );
  expect(planGarbage(observed).containers.map(({ id }) => id)).toEqual(["a-2", "a-0"]);
});

test("keeps the records of init containers as those of all others", () => {
  const init = (attempt: number) => anInstance("i", { attempt, state: "Exited" });
  const observed = anObservedPod([aSandbox()], [init(2), init(1), init(0), anInstance("a")]);
  expect(planGarbage(observed).containers.map(({ id }) => id)).toEqual(["i-0"]);
});

test("keeps the sandbox in which a finished pod's only record lies, two sandboxes on", () => {
  const down = [0, 1, 2].map((attempt) => aSandbox({ attempt, state: "NotReady" }));
  expect(planGarbage(anObservedPod(down, [dead(0)]))).toEqual({
    containers: [],
    sandboxes: ["sandbox-1"],
  });
});

test("drops one that came up late beside the one in which the pod lives", () => {
  const late = aSandbox({ attempt: 1, state: "NotReady" });
  expect(planGarbage(anObservedPod([aSandbox(), late], [anInstance("a")])).sandboxes).toEqual([
    "sandbox-1",
  ]);
  const bothDown = [aSandbox({ state: "NotReady" }), late];
  expect(planGarbage(anObservedPod(bothDown, [dead(0)])).sandboxes).toEqual([]);
});

test("does not touch a sandbox that is up, however old", () => {
  const both = anObservedPod([aSandbox(), aSandbox({ attempt: 1 })], []);
  expect(planGarbage(both).sandboxes).toEqual([]);
});

describe("of any pod", () => {
  const states = ["Running", "Exited", "Created", "Unknown"] as const;
  const instance = fc.record({
    name: fc.constantFrom("a", "b"),
    attempt: fc.nat(7),
    state: fc.constantFrom(...states),
    sandbox: fc.nat(2),
  });
  const up = fc.array(fc.boolean(), { minLength: 3, maxLength: 3 });
  const of = fc.uniqueArray(instance, { selector: ({ name, attempt }) => `${name}${attempt}` });
  const pods = fc.tuple(of, up).map(([instances, ready]) =>
    anObservedPod(
      ready.map((is, attempt) => aSandbox({ attempt, state: is ? "Ready" : "NotReady" })),
      instances.map((one) => anInstance(one.name, { ...one, sandboxId: `sandbox-${one.sandbox}` })),
    ),
  );
  /** What is left in the runtime: a sandbox takes its containers with it. */
  const after = (observed: ObservedPod): ObservedPod => {
    const { containers, sandboxes } = planGarbage(observed);
    return {
      ...observed,
      sandboxes: observed.sandboxes.filter(({ id }) => !sandboxes.includes(id)),
      containers: observed.containers.filter(
        (one) => !containers.includes(one) && !sandboxes.includes(one.sandboxId),
      ),
    };
  };

  test("the newest instance and the newest dead one of every name stay", () => {
    fc.assert(
      fc.property(pods, (observed) => {
        const left = after(observed).containers;
        for (const name of ["a", "b"]) {
          const own = observed.containers.filter((one) => one.name === name);
          const record = own.find(({ state }) => state === "Exited");
          if (own[0] !== undefined) expect(left).toContain(own[0]);
          if (record !== undefined) expect(left).toContain(record);
        }
      }),
    );
  });

  test("under every policy the records stay, and a stricter one only removes more", () => {
    fc.assert(
      fc.property(pods, fc.nat(4), fc.nat(4), (observed, strict, more) => {
        const few = planGarbage(observed, { maxPerPodContainer: strict }).containers;
        const many = planGarbage(observed, { maxPerPodContainer: strict + more }).containers;
        for (const one of many) expect(few).toContain(one);
        for (const name of ["a", "b"]) {
          const own = observed.containers.filter((one) => one.name === name);
          const record = own.find(({ state }) => state === "Exited");
          if (own[0] !== undefined) expect(few).not.toContain(own[0]);
          if (record !== undefined) expect(few).not.toContain(record);
        }
      }),
    );
  });

  test("nothing that lives goes, nor the newest sandbox, nor one that is up", () => {
    fc.assert(
      fc.property(pods, (observed) => {
        const left = after(observed);
        for (const one of observed.containers.filter(isLive))
          expect(left.containers).toContain(one);
        const used = lastUsedSandbox({ ...observed, containers: left.containers });
        const isLate = used?.state === "Ready" && used.id !== observed.sandboxes[0]?.id;
        if (!isLate) expect(left.sandboxes).toContain(observed.sandboxes[0]!);
        for (const one of observed.sandboxes)
          if (one.state === "Ready") expect(left.sandboxes).toContain(one);
      }),
    );
  });

  test("what is left holds no garbage: at most two dead ones of a name", () => {
    fc.assert(
      fc.property(pods, (observed) => {
        const left = after(observed);
        expect(planGarbage(left)).toEqual({ containers: [], sandboxes: [] });
        for (const name of ["a", "b"]) {
          const ended = left.containers.filter((one) => one.name === name && !isLive(one));
          expect(ended.length).toBeLessThanOrEqual(2);
        }
      }),
    );
  });
});

test("reads the highest attempt off log names, rotated ones too", () => {
  const names = (list: string[]) => list.map((name) => ({ name }));
  expect(highestLogAttempt(names([]))).toBe(-1);
  expect(highestLogAttempt(names(["0.log", "10.log", "9.log", "x.log", "11.txt"]))).toBe(10);
  expect(highestLogAttempt(names(["0.log", "3.log.20261121-100000.gz"]))).toBe(3);
});
