import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  fallsBackToLogs,
  fileMessage,
  joinedMessage,
  logMessage,
  LOG_TAIL_BYTES,
  type Ending,
} from "../../../../src/runtime/observe/termination-message.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const line = (words: string, tag = "F"): string =>
  `2026-11-21T08:00:00.123456789Z stderr ${tag} ${words}\n`;

describe("fallsBackToLogs", () => {
  const base: Ending = {
    policy: "FallbackToLogsOnError",
    exitCode: 1,
    reason: "Error",
    file: new Uint8Array(),
  };
  const cases: Record<string, [Partial<Ending>, boolean]> = {
    "an error without a message": [{}, true],
    "an error without a file": [{ file: undefined }, true],
    "not when something was written": [{ file: bytes("x") }, false],
    "not after a good end": [{ exitCode: 0 }, false],
    "not by policy File": [{ policy: "File" }, false],
    "not if it never ran": [{ reason: "StartError" }, false],
  };
  test.each(Object.entries(cases))("%s", (_, [more, expected]) => {
    expect(fallsBackToLogs({ ...base, ...more })).toBe(expected);
  });
});

describe("fileMessage", () => {
  test("is the file as it stands, its last 4096 bytes if it is longer", () => {
    expect(fileMessage(bytes("Sleep expired\n"))).toBe("Sleep expired\n");
    expect(fileMessage(bytes(`a${"b".repeat(4096)}`))).toBe("b".repeat(4096));
  });

  test("begins with a whole character", () => {
    expect(fileMessage(bytes(`é${"b".repeat(4095)}`))).toBe("b".repeat(4095));
  });

  test("replaces what is no text, and stays within its bytes all the same", () => {
    expect(fileMessage(new Uint8Array([0x61, 0xff, 0x62]))).toBe("a\uFFFDb");
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 3000, maxLength: 5000 }), (file) => {
        expect(bytes(fileMessage(file)).length).toBeLessThanOrEqual(4096);
      }),
      { numRuns: 20 },
    );
  });
});

describe("logMessage", () => {
  const cases: Record<string, [string, string]> = {
    "strips time, stream and tag": [line("one") + line("two"), "one\ntwo\n"],
    "joins a line that was written in parts": [
      line("one ", "P") + line("and ", "P") + line("a half"),
      "one and a half\n",
    ],
    "keeps an empty line and spaces": [line("") + line("  x "), "\n  x \n"],
    "knows tags with more behind them": [line("a", "P:x") + line("b", "F:x"), "ab\n"],
    "leaves out what is no log line": [`garbage\n${line("x")}`, "x\n"],
    "takes a line without its end": [line("x").slice(0, -1), "x\n"],
    "of nothing is nothing": ["", ""],
  };
  test.each(Object.entries(cases))("%s", (_, [log, expected]) => {
    expect(logMessage(bytes(log))).toBe(expected);
  });

  test("is the last 80 lines", () => {
    const log = Array.from({ length: 100 }, (_, index) => line(`l${index}`)).join("");
    const expected = Array.from({ length: 80 }, (_, index) => `l${index + 20}\n`).join("");
    expect(logMessage(bytes(log))).toBe(expected);
  });

  test("is the last 2048 bytes", () => {
    const log = line("a".repeat(1500)) + line("b".repeat(1500));
    expect(logMessage(bytes(log))).toBe(`${"a".repeat(546)}\n${"b".repeat(1500)}\n`);
  });

  test("of a tail that begins within a line leaves that line out", () => {
    const whole = line("x".repeat(LOG_TAIL_BYTES)) + line("end");
    expect(logMessage(bytes(whole).subarray(-LOG_TAIL_BYTES))).toBe("end\n");
  });
});

test("the runtime's own message comes first", () => {
  expect(joinedMessage("OOM", "last words")).toBe("OOM: last words");
  expect(joinedMessage("", "last words")).toBe("last words");
  expect(joinedMessage("OOM", "")).toBe("OOM");
});
