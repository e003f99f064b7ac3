import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ObservedPod, ObservedSandbox } from "../../../src/api/pod/observed-pod.ts";
import { activeSince, deadlineOf } from "../../../src/podworkers/active-deadline.ts";
import { hasBegun } from "../../../src/podworkers/dependencies.ts";
import { aPod, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";

const NOW = "boot-2";
const BEFORE = "boot-1";

function of(...sandboxes: Partial<ObservedSandbox>[]): ObservedPod {
  const list = sandboxes.map((more, attempt) => aSandbox({ attempt, ...more }));
  return anObservedPod(list, []);
}

interface Case {
  readonly observed: ObservedPod | undefined;
  readonly since: number | undefined;
  readonly begun: boolean;
}

const cases: Record<string, Case> = {
  "a pod that the runtime does not have": { observed: undefined, since: undefined, begun: false },
  "a pod without a sandbox": {
    observed: anObservedPod([], [anInstance("a")]),
    since: undefined,
    begun: false,
  },
  "a sandbox of this boot": {
    observed: of({ bootId: NOW, activeSince: 5_000 }),
    since: 5_000,
    begun: true,
  },
  "a sandbox of this boot that is down": {
    observed: of({ bootId: NOW, activeSince: 5_000, state: "NotReady" }),
    since: 5_000,
    begun: true,
  },
  "a sandbox of an earlier boot": {
    observed: of({ bootId: BEFORE, activeSince: 5_000, state: "NotReady" }),
    since: undefined,
    begun: false,
  },
  "a sandbox of an earlier boot that is reported as ready": {
    observed: of({ bootId: BEFORE, activeSince: 5_000 }),
    since: undefined,
    begun: false,
  },
  "one of each boot: only this one's stamp counts": {
    observed: of(
      { bootId: BEFORE, activeSince: 9, state: "NotReady" },
      { bootId: NOW, activeSince: 5_000 },
    ),
    since: 5_000,
    begun: true,
  },
  "two of this boot: the pod began with the first": {
    observed: of(
      { bootId: NOW, activeSince: 5_000, state: "NotReady" },
      { bootId: NOW, activeSince: 80_000 },
    ),
    since: 5_000,
    begun: true,
  },
  "a sandbox of this boot without a time": {
    observed: of({ bootId: NOW }),
    since: undefined,
    begun: true,
  },
  "a time without a boot does not count": {
    observed: of({ activeSince: 5_000 }),
    since: undefined,
    begun: true,
  },
  "a sandbox without a boot that is down": {
    observed: of({ state: "NotReady" }),
    since: undefined,
    begun: false,
  },
  "a pod that began as the machine did": {
    observed: of({ bootId: NOW, activeSince: 0 }),
    since: 0,
    begun: true,
  },
};

describe("when a pod began in this boot", () => {
  test.each(Object.entries(cases))("%s", (_, { observed, since, begun }) => {
    expect(activeSince(observed, NOW)).toBe(since as never);
    expect(hasBegun(observed, NOW)).toBe(begun);
  });

  test("neither the wall clock nor records of other boots count", () => {
    const boot = fc.constantFrom(NOW, BEFORE, undefined);
    const sandbox = fc.record({ boot, time: fc.nat(1e9), wall: fc.integer() });
    fc.assert(
      fc.property(fc.array(sandbox, { maxLength: 5 }), (list) => {
        const observed = of(
          ...list.map(({ boot: bootId, time, wall }) => ({
            activeSince: time,
            createdAt: wall,
            ...(bootId === undefined ? {} : { bootId }),
          })),
        );
        const own = list.filter(({ boot: bootId }) => bootId === NOW).map(({ time }) => time);
        const first = own.toSorted((x, y) => x - y)[0];
        expect(activeSince(observed, NOW)).toBe(first as never);
      }),
    );
  });
});

describe("a deadline", () => {
  test("is so many seconds after the pod began", () => {
    expect(deadlineOf(aPod({ activeDeadlineSeconds: 60 }).spec, 5_000)).toBe(65_000);
  });

  test("is none without activeDeadlineSeconds", () => {
    expect(deadlineOf(aPod().spec, 5_000)).toBeUndefined();
  });
});
