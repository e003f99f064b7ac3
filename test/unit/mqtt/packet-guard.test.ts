import { expect, test } from "bun:test";
import fc from "fast-check";

import { PacketGuard } from "../../../src/mqtt/packet-guard.ts";

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

function feedInPieces(bytes: Uint8Array, pieces: readonly number[]): string | undefined {
  const guard = new PacketGuard({ size: LIMIT });
  let at = 0;
  for (const piece of [...pieces, bytes.length]) {
    const fault = guard.feed(bytes.subarray(at, at + piece), 0);
    if (fault !== undefined) return fault.message;
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
      expect(feedInPieces(stream, cuts)).toBe(
        withLarge ? `a packet of ${LIMIT + 3} bytes is over ${LIMIT}` : undefined,
      );
    }),
  );
});

const HUGE = {
  by: "us",
  code: 0x95,
  message: "a packet of 268435460 bytes is over 262144",
} as const;

test("knows a packet too large by its length field, before any of its body", () => {
  const guard = new PacketGuard({ size: 256 * 1024 });
  expect(guard.feed(new Uint8Array([0x32, 0xff, 0xff]), 0)).toBeUndefined();
  expect(guard.feed(new Uint8Array([0xff]), 0)).toBeUndefined();
  expect(guard.feed(new Uint8Array([0x7f]), 0)).toEqual(HUGE);
});

test("takes a length field that never ends for a packet too large", () => {
  const guard = new PacketGuard({ size: 256 * 1024 });
  expect(guard.feed(new Uint8Array([0x32, 255, 255, 255, 255]), 0)).toEqual(HUGE);
});

const OF_QOS_2 = {
  PUBREC: [0x50, 2, 0, 1],
  PUBREL: [0x62, 2, 0, 1],
  PUBCOMP: [0x70, 2, 0, 1],
  PUBLISH: [0x34, 2],
};
test.each(Object.entries(OF_QOS_2))("ends at a %s of QoS 2", (_, bytes) => {
  const guard = new PacketGuard({ size: LIMIT });
  expect(guard.feed(new Uint8Array(bytes), 0)).toMatchObject({ code: 0x9b });
});

test("ends at a packet in more pieces than the connection allows, but not for pieces of any size", () => {
  const rate = { burst: 3, perSecond: 2 };
  const piecesOf = (size: number): string | undefined => {
    const guard = new PacketGuard({ size: LIMIT, rate });
    const bytes = packet(LIMIT - 3);
    for (let at = 0; at < bytes.length; at += size) {
      const end = guard.feed(bytes.subarray(at, at + size), 0);
      if (end !== undefined) return end.message;
    }
    return undefined;
  };
  expect(piecesOf(1)).toBe("the broker sent more than 3 pieces of packets at once and 2 a second");
  expect(piecesOf(100)).toBeUndefined();
});

test("WebSocket frames have tokens of their own, so that each packet may have its frame", () => {
  const ping = new Uint8Array([0xd0, 0]);
  const guard = new PacketGuard({ size: LIMIT, rate: { burst: 3, perSecond: 2 } });
  for (let sent = 0; sent < 3; sent += 1) {
    expect(guard.frames(1, 0)).toBeUndefined();
    expect(guard.feed(ping, 0)).toBeUndefined();
  }
  expect(guard.frames(1, 0)).toEqual({
    by: "us",
    code: 0x96,
    message: "the broker sent more than 3 WebSocket frames at once and 2 a second",
  });
});

test("ends at more packets than the connection allows, of any type and length", () => {
  const ping = new Uint8Array([0xd0, 0]);
  const rate = { burst: 3, perSecond: 2 };
  const guard = new PacketGuard({ size: LIMIT, rate });
  for (let sent = 0; sent < 3; sent += 1) expect(guard.feed(ping, 0)).toBeUndefined();
  expect(guard.feed(ping, 500)).toBeUndefined();
  expect(guard.feed(ping, 600)).toEqual({
    by: "us",
    code: 0x96,
    message: "the broker sent more than 3 packets at once and 2 a second",
  });
  const patient = new PacketGuard({ size: LIMIT });
  for (let sent = 0; sent < 1000; sent += 1) expect(patient.feed(ping, 0)).toBeUndefined();
});
