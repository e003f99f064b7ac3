import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decodeTrust, encodeTrust, stricterOf } from "../../../src/store/trust-file.ts";
import type { TrustRecord } from "../../../src/protocol/trust-bundle.ts";

const bundles = fc.record({
  version: fc.integer({ min: 1, max: 5 }),
  envelope: fc.uint8Array({ maxLength: 40 }),
});
const records: fc.Arbitrary<TrustRecord> = fc
  .record({ required: fc.boolean(), bundle: fc.option(bundles, { nil: undefined }) })
  .map(({ required, bundle }) => (bundle === undefined ? { required } : { required, bundle }));

describe("the text of a record", () => {
  test("is read as it was written", () => {
    fc.assert(
      fc.property(records, (record) => {
        expect(decodeTrust(encodeTrust(record))).toEqual(record);
      }),
    );
  });

  test("that is torn anywhere is no record", () => {
    const text = encodeTrust({
      required: true,
      bundle: { version: 3, envelope: new TextEncoder().encode("an envelope") },
    }).trimEnd();
    for (let length = 0; length < text.length; length += 1)
      expect(decodeTrust(text.slice(0, length))).toBeUndefined();
  });

  test("with any one character changed is the same record or none", () => {
    const record: TrustRecord = { required: true };
    const text = encodeTrust(record);
    for (let at = 0; at < text.length; at += 1) {
      const changed = decodeTrust(`${text.slice(0, at)}~${text.slice(at + 1)}`);
      if (changed !== undefined) expect(changed).toEqual(record);
    }
  });

  test.each([
    "null",
    "[]",
    "1",
    '"x"',
    "{}",
    '{"record":{"required":true}}',
    '{"record":null,"sha256":""}',
  ])("is not %s", (text) => {
    expect(decodeTrust(text)).toBeUndefined();
  });
});

describe("the stricter of two records", () => {
  const version = ({ bundle }: TrustRecord): number => bundle?.version ?? 0;

  test("requires what either requires, and has the newer bundle", () => {
    fc.assert(
      fc.property(records, records, (a, b) => {
        const both = stricterOf(a, b);
        expect(both.required).toBe(a.required || b.required);
        expect(version(both)).toBe(Math.max(version(a), version(b)));
        expect([a.bundle, b.bundle]).toContainEqual(both.bundle);
      }),
    );
  });

  test("is neither looser nor other when it is asked again", () => {
    fc.assert(
      fc.property(records, records, (a, b) => {
        const both = stricterOf(a, b);
        expect(stricterOf(both, a)).toEqual(both);
        expect(stricterOf(a, a)).toEqual(a);
      }),
    );
  });
});
