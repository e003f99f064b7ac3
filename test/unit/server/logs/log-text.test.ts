import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LogText } from "../../../../src/server/logs/log-text.ts";

const T = "2026-11-21T08:00:00.000000001Z";
const ALL = {
  withTimestamps: false,
  since: undefined,
  limitBytes: undefined,
  stream: undefined,
} as const;

function text(
  written: string,
  over: Partial<ConstructorParameters<typeof LogText>[0]> = {},
): string {
  const log = new LogText({ ...ALL, ...over });
  return Buffer.from(log.take(Buffer.from(written, "latin1"))).toString("latin1");
}

describe("the text of a log", () => {
  test.each([
    ["is what was written", `${T} stdout F hello\n${T} stderr F oh\n`, {}, "hello\noh\n"],
    ["joins the parts of a line", `${T} stdout P hel\n${T} stdout F lo\n`, {}, "hello\n"],
    ["has no end of a line that goes on", `${T} stdout P hel\n`, {}, "hel"],
    ["keeps an empty line", `${T} stdout F \n${T} stdout F\n`, {}, "\n\n"],
    ["keeps every byte", `${T} stdout F \x00\xff\x1b[31m\r\n`, {}, "\x00\xff\x1b[31m\r\n"],
    ["reads tags of the future", `${T} stdout F:x y\n`, {}, "y\n"],
    ["shows what is no line as it is", "panic!\n", {}, "panic!\n"],
    [
      "has the time of each whole line",
      `${T} stdout P a\n${T} stdout F b\n${T} stdout F c\n`,
      { withTimestamps: true },
      `${T} ab\n${T} c\n`,
    ],
    [
      "of one stream leaves out the other",
      `${T} stdout F a\n${T} stderr F b\n`,
      { stream: "stderr" as const },
      "b\n",
    ],
    [
      "begins with the first line that is not older",
      `2026-11-21T07:59:59.9Z stdout F a\n${T} stdout F b\n2026-11-21T09:00:00.5+01:00 stdout F c\n`,
      { since: Date.parse("2026-11-21T08:00:00Z") },
      "b\nc\n",
    ],
    [
      "ends after so many bytes",
      `${T} stdout F hello\n${T} stdout F you\n`,
      { limitBytes: 7 },
      "hello\ny",
    ],
  ])("%s", (_sentence, written, over, expected) => {
    expect(text(written, over)).toBe(expected);
  });

  test("is the same however the lines are divided among reads", () => {
    const line = fc.record({
      isError: fc.boolean(),
      isFull: fc.boolean(),
      text: fc.string({ unit: fc.constantFrom("a", " ", "\x00", "é"), maxLength: 12 }),
    });
    fc.assert(
      fc.property(fc.array(line), fc.boolean(), fc.nat(300), (lines, withTimestamps, limit) => {
        const wanted = { ...ALL, withTimestamps, limitBytes: limit + 1 };
        const written = lines.map((one) =>
          Buffer.from(
            `${T} ${one.isError ? "stderr" : "stdout"} ${one.isFull ? "F" : "P"} ${one.text}\n`,
          ),
        );
        const whole = new LogText(wanted).take(Buffer.concat(written));
        const log = new LogText(wanted);
        const parts = written.map((one) => Buffer.from(log.take(one)));
        expect(Buffer.concat(parts)).toEqual(Buffer.from(whole));
        expect(whole.length).toBeLessThanOrEqual(limit + 1);
      }),
    );
  });
});
