import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type CountedLog,
  KEPT_BYTES,
  planCaps,
  type PodLogs,
} from "../../../../src/runtime/logs/log-caps.ts";

const KIB = 1024;
const NONE = Number.POSITIVE_INFINITY;

function log(path: string, kib: number, more: Partial<CountedLog> = {}): CountedLog {
  return { path, size: kib * KIB, isCompressed: path.endsWith(".gz"), isWritten: false, ...more };
}

function running(path: string, kib: number): CountedLog {
  const place = { id: path, pod: "p", container: "c", directory: "d", log: path };
  return log(path, kib, { isWritten: true, place });
}

function aPod(pod: string, ...containers: readonly (readonly CountedLog[])[]): PodLogs {
  return { pod, containers: containers.map((logs) => ({ logs })) };
}

function steps(pods: readonly PodLogs[], limits: { pod?: number; node?: number }) {
  const { pod = NONE, node = NONE } = limits;
  return planCaps(pods, { pod: pod * KIB, node: node * KIB }).map((step) =>
    step.type === "RotateLog" ? `rotate ${step.place.id}` : `${step.type} ${step.path}`,
  );
}

describe("logs that take more than they may", () => {
  test("lose nothing below the limits", () => {
    const pods = [aPod("a", [log("a1", 500), running("a", 500)])];
    expect(steps(pods, { pod: 1000, node: 1000 })).toEqual([]);
  });

  test("lose the oldest rotated ones first, dead instances' before those of the present one", () => {
    const logs = [log("0.log.1.gz", 100), log("0.log", 300), log("1.log.1", 300)];
    const pods = [aPod("a", [...logs, running("1.log", 300)])];
    expect(steps(pods, { pod: 700 })).toEqual(["RemoveLog 0.log.1.gz", "RemoveLog 0.log"]);
  });

  test("of the node are taken from the largest pod first", () => {
    const small = aPod("small", [log("s1", 100), running("s", 100)]);
    const large = aPod("large", [log("l1", 900), log("l2", 900), running("l", 900)]);
    expect(steps([small, large], { node: 2800 })).toEqual(["RemoveLog l1"]);
  });

  test("keep the newest lines of each container: a short new log protects the one before it", () => {
    const pods = [aPod("a", [log("old", 500), log("before", 500), running("new", 1)])];
    expect(steps(pods, { pod: 600 })).toEqual(["RemoveLog old"]);
    expect(steps(pods, { pod: 500 })).toEqual(["RemoveLog old", "CutLog before"]);
  });

  test("are cut to their end when no one writes to them, and rotated early otherwise", () => {
    const pods = [aPod("dead", [log("0.log", 800)]), aPod("live", [running("1.log", 900)])];
    expect(steps(pods, { node: 1000 })).toEqual(["CutLog 0.log", "rotate 1.log"]);
  });

  test("are not touched where the runtime may still write to them", () => {
    const unknown = log("5.log", 900, { isWritten: true });
    expect(steps([aPod("a", [unknown])], { pod: 100 })).toEqual([]);
  });

  test("never lose what is written to, nor all newest lines, and end below the limit if they can", () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 2000 }), { minLength: 1, maxLength: 5 });
    const pods = fc.array(fc.array(sizes, { minLength: 1, maxLength: 3 }), { maxLength: 4 });
    fc.assert(
      fc.property(pods, fc.integer({ min: 100, max: 20_000 }), (all, node) => {
        const built = all.map((containers, p) =>
          aPod(
            `pod${p}`,
            ...containers.map((logs, c) =>
              logs.map((kib, n) =>
                n === logs.length - 1 ? running(`${p}/${c}/${n}`, kib) : log(`${p}/${c}/${n}`, kib),
              ),
            ),
          ),
        );
        const plan = planCaps(built, { pod: NONE, node: node * KIB });
        const removed = new Set(plan.flatMap((s) => (s.type === "RemoveLog" ? [s.path] : [])));
        const shortened = new Set(
          plan.flatMap((s) =>
            s.type === "CutLog" ? [s.path] : s.type === "RotateLog" ? [s.place.id] : [],
          ),
        );
        let left = 0;
        for (const { containers } of built)
          for (const { logs } of containers) {
            const before = logs.reduce((sum, { size }) => sum + size, 0);
            const stays = logs.filter(({ path }) => !removed.has(path));
            expect(removed.has(logs.at(-1)?.path ?? "")).toBe(false);
            const bytes = stays.map(({ path, size }) =>
              shortened.has(path) ? Math.min(size, KEPT_BYTES) : size,
            );
            const after = bytes.reduce((sum, size) => sum + size, 0);
            expect(after).toBeGreaterThanOrEqual(Math.min(before, KEPT_BYTES));
            left += after;
          }
        const logs = built.flatMap(({ containers }) => containers.flatMap((one) => one.logs));
        if (left > node * KIB) expect(left).toBeLessThanOrEqual(logs.length * KEPT_BYTES);
      }),
    );
  });
});
