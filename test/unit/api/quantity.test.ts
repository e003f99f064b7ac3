import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { canonicalQuantity, parseQuantity, wholeUnits } from "../../../src/api/quantity.ts";

const quantities: readonly (readonly [text: string, milli: bigint, canonical: string])[] = [
  ["0", 0n, "0"],
  ["0.5", 500n, "500m"],
  ["500m", 500n, "500m"],
  ["1", 1000n, "1"],
  ["+2k", 2_000_000n, "2k"],
  ["1000k", 1_000_000_000n, "1M"],
  ["1500m", 1500n, "1500m"],
  ["100u", 1n, "1m"],
  ["-5", -5000n, "-5"],
  ["1e3", 1_000_000n, "1e3"],
  ["1E3", 1_000_000n, "1e3"],
  ["1E", 10n ** 21n, "1E"],
  ["1024", 1_024_000n, "1024"],
  ["1Ki", 1_024_000n, "1Ki"],
  ["1024Ki", 1_048_576_000n, "1Mi"],
  ["1.5Gi", 1_610_612_736_000n, "1536Mi"],
  ["0.1Ki", 102_400n, "102400m"],
  ["1.", 1000n, "1"],
  [".5", 500n, "500m"],
];
test.each(quantities.map((row) => [...row] as const))(
  "%s is %p thousandths, %s",
  (text, milli, canonical) => {
    expect(parseQuantity(text)).toBe(milli);
    expect(canonicalQuantity(text)).toBe(canonical);
  },
);

test.each([
  "",
  ".",
  "1 Gi",
  "1gi",
  "64Mo",
  "12Q",
  "0x10",
  "1e99",
  "1e",
  "--1",
  "1,5",
  "9".repeat(41),
])("%p is no quantity", (text) => {
  expect(parseQuantity(text)).toBeUndefined();
  expect(canonicalQuantity(text)).toBeUndefined();
});

describe("properties", () => {
  const suffix = fc.constantFrom("", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "e3", "e-2");
  const quantity = fc
    .tuple(fc.integer({ min: 0, max: 1_000_000 }), fc.integer({ min: 0, max: 999 }), suffix)
    .map(([whole, fraction, unit]) => `${whole}.${fraction}${unit}`);

  test("canonical text means the same and is its own canonical text", () => {
    fc.assert(
      fc.property(quantity, (text) => {
        const canonical = canonicalQuantity(text) ?? "";
        expect(parseQuantity(canonical)).toEqual(parseQuantity(text));
        expect(canonicalQuantity(canonical)).toBe(canonical);
      }),
    );
  });

  test("whole units are never less than asked for, and less than one more", () => {
    fc.assert(
      fc.property(quantity, (text) => {
        const milli = parseQuantity(text) ?? 0n;
        const rest = wholeUnits(milli) * 1000n - milli;
        expect(rest >= 0n && rest < 1000n).toBe(true);
      }),
    );
  });
});
