import { describe, expect, test } from "bun:test";
import { createLogger, LONGEST_LINE } from "../../../src/lib/logger.ts";
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

  test("are left to errors, of which a flood of others takes none away", async () => {
    const { clock, lines, log } = logging({ burst: 20, perSecond: 1 });
    for (let n = 0; n < 100; n += 1) log.info("line", { n });
    expect(lines).toHaveLength(18);
    log.error("first");
    log.error("second");
    log.error("too many");
    await clock.advance(1_000);
    log.error("third");
    expect(lines.flatMap(({ level, msg }) => (level === "error" ? [msg] : []))).toEqual([
      "first",
      "second",
      "third",
    ]);
  });

  test("are short, whatever a message holds, and long ones count as several", () => {
    const { lines, log } = logging({ burst: 20, perSecond: 1 });
    const long = "x".repeat(1_000_000);
    log.info("one text", { error: long });
    log.info("many texts", { errors: Array.from({ length: 10_000 }, (_, n) => `${n}`), pod: "a" });
    log.info("deep", { at: [{ error: "\0".repeat(1_000_000) }] });
    log.info(long);
    for (const line of lines) expect(JSON.stringify(line).length).toBeLessThanOrEqual(LONGEST_LINE);
    expect(lines.map(({ msg }) => String(msg).slice(0, 10))).toEqual([
      "one text",
      "many texts",
      "deep",
      "xxxxxxxxxx",
    ]);
    expect(lines[1]?.["cut"]).toStartWith('{"errors":["0","1"');
    for (let n = 0; n < 20; n += 1) log.info("short", { n });
    expect(lines.filter(({ msg }) => msg === "short").length).toBe(20 - 2 - 4 * 3);
  });

  test("that warn of the same within a minute are one, with their number", async () => {
    const { clock, lines, log } = logging();
    for (let n = 0; n < 10; n += 1) log.with({ pod: "default/web" }).warn("again");
    await clock.advance(60_000);
    log.warn("again", { pod: "default/web" });
    expect(lines.map(({ repeated }) => repeated)).toEqual([undefined, 9]);
  });
});
