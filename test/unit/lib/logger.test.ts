import { describe, expect, test } from "bun:test";
import { createLogger } from "../../../src/lib/logger.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

function logging(limit = { burst: 3, perSecond: 1 }) {
  const clock = new VirtualClock();
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void =>
    void lines.push(JSON.parse(line) as Record<string, unknown>);
  return { clock, lines, log: createLogger({ clock, level: "info", write, limit }) };
}

describe("the lines of a log", () => {
  test("are left out beyond the limit, and counted before the next one", async () => {
    const { clock, lines, log } = logging();
    for (let n = 0; n < 10; n += 1) log.info("line", { n });
    expect(lines.map(({ n }) => n)).toEqual([0, 1, 2]);
    await clock.advance(1000);
    log.error("late");
    log.error("too late");
    expect(lines.slice(3).map(({ level, msg, lines: count }) => [level, msg, count])).toEqual([
      ["warn", "too many log lines; some were left out", 7],
      ["error", "late", undefined],
    ]);
  });

  test("of a level that is not logged cost nothing", () => {
    const { lines, log } = logging();
    for (let n = 0; n < 10; n += 1) log.debug("line", { n });
    log.info("line");
    expect(lines).toHaveLength(1);
  });

  test("that warn of the same within a minute are one, with their number", async () => {
    const { clock, lines, log } = logging();
    for (let n = 0; n < 10; n += 1) log.with({ pod: "default/web" }).warn("again");
    await clock.advance(60_000);
    log.warn("again", { pod: "default/web" });
    expect(lines.map(({ repeated }) => repeated)).toEqual([undefined, 9]);
  });
});
