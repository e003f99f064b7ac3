import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { IdRange } from "../../../../src/api/pod/observed-pod.ts";
import {
  freeIdRange,
  idRangeText,
  parseIdRange,
} from "../../../../src/runtime/cri-config/namespaces.ts";

const range = (hostId: number, length = 65_536): IdRange => ({ hostId, length });

describe("a free range", () => {
  test("is the first behind the node's own users", () => {
    expect(freeIdRange([])).toEqual(range(65_536));
  });

  test("is the first gap", () => {
    expect(freeIdRange([range(65_536), range(196_608)])).toEqual(range(131_072));
  });

  test("keeps clear of ranges of any place and length", () => {
    expect(freeIdRange([range(100_000)])).toEqual(range(196_608));
    expect(freeIdRange([range(65_536, 200_000)])).toEqual(range(327_680));
    expect(freeIdRange([range(131_071, 1)])).toEqual(range(131_072));
  });

  test("never overlaps one that is taken", () => {
    const taken = fc.record({
      hostId: fc.integer({ min: 1, max: 2_000_000 }),
      length: fc.integer({ min: 1, max: 300_000 }),
    });
    const property = fc.property(fc.array(taken, { maxLength: 20 }), (used) => {
      const { hostId, length } = freeIdRange(used);
      const apart = used.every(
        (one) => one.hostId + one.length <= hostId || hostId + length <= one.hostId,
      );
      return apart && hostId >= 65_536 && hostId + length <= 2 ** 32;
    });
    fc.assert(property);
  });

  test("there is none when all are taken", () => {
    expect(() => freeIdRange([range(1, 2 ** 32 - 1)])).toThrow(
      "all user ID ranges of this node are in use",
    );
  });
});

describe("the text of a range", () => {
  test("is read as it is written", () => {
    const range = fc.record({
      hostId: fc.integer({ min: 1, max: 2 ** 31 }),
      length: fc.integer({ min: 1, max: 2 ** 31 }),
    });
    fc.assert(fc.property(range, (one) => Bun.deepEquals(parseIdRange(idRangeText(one)), one)));
  });

  test.each(["", "65536", "0:65536", "65536:0", "-1:5", "4294967295:65536", "a:b", "1:2:3"])(
    "%p is none",
    (text) => {
      expect(parseIdRange(text)).toBeUndefined();
    },
  );
});
