import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ContainerRole, ObservedContainer } from "../../../../src/api/pod/observed-pod.ts";
import {
  budgetOf,
  shortenedBudget,
  stopFacts,
  stopSeconds,
  stopTurns,
  turnEndsAt,
} from "../../../../src/runtime/decide/stop-order.ts";
import { aContainer, anInstance, aPod } from "../../../fakes/a-pod.ts";

const pod = aPod({
  initContainers: [
    aContainer("proxy", { restartPolicy: "Always" }),
    aContainer("migrate"),
    aContainer("logs", { restartPolicy: "Always" }),
  ],
  containers: [aContainer("web"), aContainer("db")],
});

const roles: Readonly<Record<string, ContainerRole>> = {
  proxy: { type: "Sidecar", position: 1 },
  migrate: { type: "Init" },
  logs: { type: "Sidecar", position: 2 },
};
const instances = (...names: string[]): readonly ObservedContainer[] =>
  names.map((name) => {
    const role = roles[name];
    return anInstance(name, role === undefined ? {} : { role });
  });
const shown = (turns: ReturnType<typeof stopTurns>): readonly (readonly [string, string])[] =>
  turns.map(({ container, waitsFor }) => [container.name, waitsFor.join(" ")]);

describe("stopTurns", () => {
  const cases: Record<string, [string[], (readonly [string, string])[]]> = {
    "app containers do not wait": [
      ["db", "web"],
      [
        ["db", ""],
        ["web", ""],
      ],
    ],
    "sidecars wait for the apps and for the sidecars after them": [
      ["db", "logs", "proxy", "web"],
      [
        ["db", ""],
        ["web", ""],
        ["logs", "db-0 web-0"],
        ["proxy", "db-0 logs-0 web-0"],
      ],
    ],
    "while the pod still initializes, the sidecar outlives the init container that may need it": [
      ["migrate", "proxy"],
      [
        ["migrate", ""],
        ["proxy", "migrate-0"],
      ],
    ],
    "a container that does not run delays no other": [["proxy"], [["proxy", ""]]],
    "nothing runs, nothing stops": [[], []],
  };
  test.each(Object.entries(cases))("%s", (_, [names, expected]) => {
    expect(shown(stopTurns(instances(...names), pod))).toEqual(expected);
    // A forgotten spec changes nothing.
    expect(shown(stopTurns(instances(...names), undefined))).toEqual(expected);
  });

  test("two instances of one container are two", () => {
    const both = [anInstance("web", { attempt: 1 }), anInstance("web"), ...instances("proxy")];
    expect(shown(stopTurns(both, pod))).toEqual([
      ["web", ""],
      ["web", ""],
      ["proxy", "web-1 web-0"],
    ]);
  });

  test("every container stops after those it waits for, without cycles, and every sidecar after every app container", () => {
    const role = fc.oneof(
      fc.constant<ContainerRole>({ type: "App" }),
      fc.constant<ContainerRole>({ type: "Init" }),
      fc.record({
        type: fc.constant("Sidecar" as const),
        position: fc.integer({ min: 1, max: 4 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(role, { maxLength: 8 }), (list) => {
        const all = list.map((one, index) => anInstance(`c${index}`, { role: one }));
        const turns = stopTurns(all, undefined);
        expect(turns.map(({ container }) => container.id).toSorted()).toEqual(
          all.map(({ id }) => id).toSorted(),
        );
        for (const [index, { container, waitsFor }] of turns.entries()) {
          const earlier = turns.slice(0, index).map((turn) => turn.container);
          expect(waitsFor.every((id) => earlier.some((one) => one.id === id))).toBe(true);
          const apps = earlier.filter((one) => one.role?.type !== "Sidecar").map(({ id }) => id);
          const isSidecar = container.role?.type === "Sidecar";
          expect(apps.every((id) => waitsFor.includes(id))).toBe(isSidecar || apps.length === 0);
          if (!isSidecar) expect(waitsFor).toEqual([]);
        }
      }),
    );
  });
});

describe("stopFacts", () => {
  const preStop = { type: "sleep", seconds: 3 } as const;

  test("come from the spec while it is known", () => {
    const spec = aPod({ containers: [aContainer("web", { lifecycle: { preStop } })] });
    const written = anInstance("web", { preStop: { type: "sleep", seconds: 9 } });
    expect(stopFacts(written, spec)).toEqual({ role: { type: "App" }, preStop, ports: [] });
  });

  test("come from the container when the spec is forgotten or does not know it", () => {
    const role = { type: "Sidecar", position: 2 } as const;
    const written = anInstance("old", { role, preStop });
    expect(stopFacts(written, undefined)).toEqual({ role, preStop, ports: [] });
    expect(stopFacts(written, pod)).toEqual({ role, preStop, ports: [] });
    expect(stopFacts(anInstance("old"), undefined).role).toEqual({ type: "App" });
  });
});

describe("the budget", () => {
  const left = (grace: number, usedMs: number): number =>
    stopSeconds(budgetOf(grace, 1000), 1000 + usedMs);

  const cases: Record<string, [number, number, number]> = {
    "is whole at first": [30, 0, 30],
    "counts begun seconds as left": [30, 10_001, 20],
    "leaves two seconds when it is used up": [30, 30_000, 2],
    "leaves two seconds when it is overdrawn": [30, 99_000, 2],
    "of one second is never more than one": [1, 1000, 1],
    "of nothing is nothing": [0, 0, 0],
    "may be longer than any timer": [30_000_000, 1000, 29_999_999],
  };
  test.each(Object.entries(cases))("%s", (_, [grace, usedMs, expected]) => {
    expect(left(grace, usedMs)).toBe(expected);
  });

  test("waiting for one's turn ends a little later, unless there is no grace at all", () => {
    expect(turnEndsAt(budgetOf(30, 0))).toBe(33_000);
    expect(turnEndsAt(budgetOf(0, 500))).toBe(500);
  });

  test("shortened, it counts from now but never ends later than before", () => {
    expect(shortenedBudget(budgetOf(3600, 0), 5, 100_000)).toEqual({ seconds: 5, endsAt: 105_000 });
    expect(shortenedBudget(budgetOf(30, 0), 20, 25_000)).toEqual({ seconds: 20, endsAt: 30_000 });
    expect(shortenedBudget(budgetOf(30, 0), 60, 10_000)).toEqual(budgetOf(30, 0));
  });

  test("never grows by shortening, and what is left to the stop is never more than was asked for", () => {
    const seconds = fc.nat({ max: 100_000 });
    fc.assert(
      fc.property(seconds, fc.array(fc.tuple(seconds, seconds)), (grace, steps) => {
        let budget = budgetOf(grace, 0);
        let now = 0;
        for (const [to, later] of steps) {
          now += later;
          const next = shortenedBudget(budget, to, now);
          expect(next.endsAt).toBeLessThanOrEqual(budget.endsAt);
          expect(stopSeconds(next, now)).toBeLessThanOrEqual(stopSeconds(budget, now));
          expect(stopSeconds(next, now)).toBeLessThanOrEqual(Math.min(grace, to));
          budget = next;
        }
      }),
    );
  });
});
