import { describe, expect, test } from "bun:test";

import {
  Findings,
  FindingsBudget,
  hinted,
  MAX_FINDINGS,
} from "../../../../src/api/decode/field-errors.ts";

const locate = (): { line: number; column: number } => ({ line: 1, column: 1 });

describe("Findings", () => {
  test("reports a hundred errors and the number of the others", () => {
    const findings = new Findings({ locate, lenient: false });
    for (let index = 0; index < MAX_FINDINGS + 7; index++)
      findings.fail(["spec", index], "Invalid", `${index}`);
    expect(findings.errors.length).toBe(MAX_FINDINGS + 1);
    expect(findings.errors.at(-1)).toEqual({
      code: "TooMany",
      path: "",
      message: "and 7 more errors",
      line: 1,
      column: 1,
    });
    expect(findings.warnings).toEqual([]);
  });

  test("reports a hundred warnings and the number of the others, and refuses nothing", () => {
    const findings = new Findings({ locate, lenient: false, unknownFields: "warn" });
    for (let index = 0; index <= MAX_FINDINGS; index++) findings.unknown(["a"], () => "unknown");
    expect(findings.warnings.length).toBe(MAX_FINDINGS + 1);
    expect(findings.warnings.at(-1)).toMatchObject({
      code: "Ignored",
      message: "and 1 more warnings",
    });
    expect(findings.errors).toEqual([]);
  });

  test("reports a hundred for many objects, and one short error for each later object", () => {
    const budget = new FindingsBudget();
    let looked = 0;
    const message = hinted("unknown field", () => ` ${(looked += 1)}`);
    const told = Array.from({ length: 5 }, () => {
      const findings = new Findings({ locate, lenient: false, budget });
      for (let index = 0; index < 60; index++) findings.unknown(["a"], message);
      return findings.errors.map((error) => error.message);
    });
    expect(looked).toBe(100);
    expect(told.map(({ length }) => length)).toEqual([60, 41, 2, 2, 2]);
    expect(told[0]?.[59]).toBe("unknown field 60");
    expect(told[4]).toEqual(["unknown field", "and 59 more errors"]);
  });

  test("computes no message that is not reported", () => {
    const findings = new Findings({ locate, lenient: false });
    let asked = 0;
    const message = (): string => {
      asked += 1;
      return "unknown";
    };
    for (let index = 0; index < 10 * MAX_FINDINGS; index++) findings.unknown(["a"], message);
    expect(asked).toBe(MAX_FINDINGS);
  });

  test("of unknown fields that are ignored, nothing is computed or kept", () => {
    const findings = new Findings({ locate, lenient: false, unknownFields: "ignore" });
    findings.unknown(["a"], () => {
      throw new Error("it was asked");
    });
    expect([findings.errors, findings.warnings]).toEqual([[], []]);
  });

  test("a message stays fit for a log line", () => {
    const findings = new Findings({ locate, lenient: true });
    findings.fail(["a"], "Invalid", "x".repeat(1_000_000));
    expect(findings.errors[0]?.message.length).toBe(1000);
  });
});
