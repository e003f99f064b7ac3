import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  canonicalQuantity,
  exactQuantity,
  milliQuantity,
  parseQuantity,
  quantityText,
  wholeUnits,
} from "../../../../src/api/resource/quantity.ts";

const quantities: readonly (readonly [text: string, milli: bigint, canonical: string])[] = [
  ["0", 0n, "0"],
  ["0.5", 500n, "500m"],
  ["500m", 500n, "500m"],
  ["1", 1000n, "1"],
  ["+2k", 2_000_000n, "2k"],
  ["1000k", 1_000_000_000n, "1M"],
  ["1500m", 1500n, "1500m"],
  ["100u", 1n, "100u"],
  ["1n", 1n, "1n"],
  ["1000n", 1n, "1u"],
  ["1500u", 2n, "1500u"],
  ["0.0000000001", 1n, "1n"],
  ["-0.0000000001", -1n, "-1n"],
  ["1.0000000001", 1001n, "1000000001n"],
  ["-1500u", -2n, "-1500u"],
  ["-0", 0n, "0"],
  ["0Gi", 0n, "0"],
  ["00012", 12_000n, "12"],
  ["1M", 10n ** 9n, "1M"],
  ["1G", 10n ** 12n, "1G"],
  ["1T", 10n ** 15n, "1T"],
  ["1P", 10n ** 18n, "1P"],
  ["12e+3", 12_000_000n, "12e3"],
  ["1e1", 10_000n, "10"],
  ["1e-3", 1n, "1e-3"],
  ["1e-999", 1n, "1e-9"],
  ["0e999", 0n, "0"],
  ["1500e-6", 2n, "1500e-6"],
  ["1Mi", 1_048_576_000n, "1Mi"],
  ["1Ti", 1024n ** 4n * 1000n, "1Ti"],
  ["1Pi", 1024n ** 5n * 1000n, "1Pi"],
  ["7Ei", 7n * 1024n ** 6n * 1000n, "7Ei"],
  ["0.5Ki", 512_000n, "512"],
  ["-1Ki", -1_024_000n, "-1Ki"],
  ["1500Ki", 1_536_000_000n, "1500Ki"],
  ["9223372036854775807", (2n ** 63n - 1n) * 1000n, "9223372036854775807"],
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
  "9223372036854775808",
  "8Ei",
  "-8Ei",
  "10E",
  "1e19",
  "1ki",
  "1K",
  "1 ",
  " 1",
  "1Ei3",
  "1e3Ki",
  "1..5",
  "NaN",
  "Infinity",
  "٣",
])("%p is no quantity", (text) => {
  expect(parseQuantity(text)).toBeUndefined();
  expect(canonicalQuantity(text)).toBeUndefined();
});

test("an amount of thousandths is written as Kubernetes writes it", () => {
  expect(quantityText(500n, "Decimal")).toBe("500m");
  expect(quantityText(2_000n, "Decimal")).toBe("2");
  expect(quantityText(134_217_728_000n, "Binary")).toBe("128Mi");
  expect(quantityText(1_000_000_000n, "Binary")).toBe("1000000");
  expect(quantityText(0n, "Binary")).toBe("0");
});

/**
 * Whether canonical text is its own canonical text. As in Kubernetes, 164937.5Ki is 168896000, a binary amount without a
 * suffix, which reads as a decimal one: 168896k.
 */
function isStable(text: string, canonical: string): boolean {
  const again = canonicalQuantity(canonical) ?? "";
  const isBinary = /i\s*$/.test(text) && !canonical.endsWith("i");
  return isBinary ? canonicalQuantity(again) === again : again === canonical;
}

test("a binary amount without a binary suffix is written in whole units", () => {
  expect(canonicalQuantity("164937.5Ki")).toBe("168896000");
  expect(canonicalQuantity("168896000")).toBe("168896k");
});

describe("properties", () => {
  const suffix = fc.constantFrom(
    "",
    "n",
    "u",
    "m",
    "k",
    "M",
    "G",
    "T",
    "Ki",
    "Mi",
    "Gi",
    "e3",
    "E3",
    "e-2",
    "e+6",
  );
  const quantity = fc
    .tuple(fc.integer({ min: 0, max: 1_000_000 }), fc.integer({ min: 0, max: 999 }), suffix)
    .map(([whole, fraction, unit]) => `${whole}.${fraction}${unit}`);

  test("canonical text means the same and is its own canonical text", () => {
    fc.assert(
      fc.property(quantity, (text) => {
        const canonical = canonicalQuantity(text) ?? "";
        expect(exactQuantity(canonical)).toEqual(exactQuantity(text) ?? -1n);
        expect(isStable(text, canonical)).toBe(true);
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

  test("rounding never swaps two amounts, and never makes something of nothing", () => {
    fc.assert(
      fc.property(quantity, quantity, (one, other) => {
        const [a, b] = [exactQuantity(one) ?? -1n, exactQuantity(other) ?? -1n];
        const [x, y] = [parseQuantity(one) ?? -1n, parseQuantity(other) ?? -1n];
        if (a <= b) expect(x <= y).toBe(true);
        expect(x === 0n).toBe(a === 0n);
      }),
    );
  });

  test("any text is a quantity with a canonical text, or none; never an exception", () => {
    const almost = fc
      .array(fc.constantFrom(..."0123456789.+-eEinumkKMGTP ".split("")), { maxLength: 45 })
      .map((letters) => letters.join(""));
    fc.assert(
      fc.property(fc.oneof(fc.string(), almost, fc.string({ unit: "binary" })), (text) => {
        const canonical = canonicalQuantity(text);
        expect(parseQuantity(text) === undefined).toBe(canonical === undefined);
        if (canonical !== undefined) expect(isStable(text, canonical)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

test.each([
  ["1n", "1m"],
  ["1000100u", "1001m"],
  ["1500u", "2m"],
  ["1500m", "1500m"],
  ["-1u", "-1m"],
  ["64Mi", "64Mi"],
  ["0.0001Ki", "103m"],
  ["1e-9", "1e-3"],
  ["x", undefined],
])("%s in thousandths is %s", (text, expected) => {
  expect(milliQuantity(text)).toBe(expected);
});
