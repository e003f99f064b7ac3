import { expect, test } from "bun:test";
import fc from "fast-check";

import { PacketSizeGuard } from "../../../src/mqtt/packet-size-guard.ts";

const LIMIT = 1000;

function packet(remaining: number): Uint8Array {
  const length: number[] = [];
  let left = remaining;
  do {
    const more = left >= 128;
    length.push((left % 128) | (more ? 0x80 : 0));
    left = Math.floor(left / 128);
  } while (left > 0);
  return new Uint8Array([0x30, ...length, ...Array.from({ length: remaining }, () => 0xff)]);
}

function feedInPieces(bytes: Uint8Array, pieces: readonly number[]): number | undefined {
  const guard = new PacketSizeGuard(LIMIT);
  let at = 0;
  for (const piece of [...pieces, bytes.length]) {
    const size = guard.feed(bytes.subarray(at, at + piece));
    if (size !== undefined) return size;
    at += piece;
  }
  return undefined;
}

test("lets packets up to the limit pass and names the first one over it, however the stream is cut", () => {
  const sizes = fc.array(fc.integer({ min: 0, max: LIMIT - 3 }), { maxLength: 6 });
  const pieces = fc.array(fc.integer({ min: 0, max: 40 }));
  fc.assert(
    fc.property(sizes, pieces, fc.boolean(), (remaining, cuts, withLarge) => {
      const all = remaining.map((size) => packet(size));
      if (withLarge) all.push(packet(LIMIT), packet(1));
      const stream = new Uint8Array(all.flatMap((bytes) => [...bytes]));
      expect(feedInPieces(stream, cuts)).toBe(withLarge ? LIMIT + 3 : undefined);
    }),
  );
});

test("knows a packet too large by its length field, before any of its body", () => {
  const guard = new PacketSizeGuard(256 * 1024);
  expect(guard.feed(new Uint8Array([0x32, 0xff, 0xff]))).toBeUndefined();
  expect(guard.feed(new Uint8Array([0xff]))).toBeUndefined();
  expect(guard.feed(new Uint8Array([0x7f]))).toBe(268_435_455 + 5);
});

test("takes a length field that never ends for a packet too large", () => {
  expect(new PacketSizeGuard(1 << 30).feed(new Uint8Array([0x32, 255, 255, 255, 255]))).toBe(
    268_435_455 + 5,
  );
});
