import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  readFrame,
  readPacket,
  writeFrame,
  writePacket,
  type TunnelFrame,
} from "../../../../src/protocol/tunnel/frames.ts";
import { Reliable, type ReliablePacket } from "../../../../src/protocol/tunnel/reliable.ts";

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const bytes = (written: string): Uint8Array => new TextEncoder().encode(written);

/** Two sides, and a way between them that dice decide on. */
function exchange(
  messages: readonly (readonly string[])[],
  lost: (packet: number) => boolean,
): { readonly arrived: readonly (readonly string[])[]; readonly packets: number } {
  const sides = [new Reliable(), new Reliable()] as const;
  const arrived: string[][] = [[], []];
  for (const [side, own] of messages.entries())
    for (const message of own) sides[side === 0 ? 0 : 1].send(bytes(message));
  let packets = 0;
  let now = 0;
  while (sides.some(({ backlog }) => backlog > 0)) {
    for (const [from, to] of [
      [0, 1],
      [1, 0],
    ] as const)
      for (;;) {
        const packet = sides[from].next(now);
        if (packet === undefined) break;
        packets += 1;
        if (packets > 100_000) throw new Error("it never ends");
        if (lost(packets)) continue;
        const over = readPacket(writePacket(packet));
        const body = over === undefined ? undefined : sides[to].receive(over, now);
        if (body !== undefined) arrived[to]?.push(text(body));
      }
    const next = Math.min(...sides.map((side) => side.nextAt() ?? now + 10));
    now = Math.max(now + 1, next);
  }
  return { arrived, packets };
}

describe("messages over a way that loses packets", () => {
  test("arrive once each, in order, both ways", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string(), { maxLength: 120 }),
        fc.array(fc.string(), { maxLength: 120 }),
        fc.infiniteStream(fc.integer({ min: 0, max: 99 })),
        (there, back, dice) => {
          const { arrived } = exchange([there, back], () => dice.next().value < 30);
          expect(arrived).toEqual([back, there]);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("cost few packets over a good one", () => {
    const there = Array.from({ length: 1_000 }, (_, index) => String(index));
    const { arrived, packets } = exchange([there, []], () => false);
    expect(arrived[1]).toEqual(there);
    expect(packets).toBeLessThan(1_200);
  });

  test("are at most a window ahead of what is confirmed", () => {
    const side = new Reliable();
    for (let index = 0; index < 100; index += 1) side.send(bytes("x"));
    const sent: ReliablePacket[] = [];
    for (let packet = side.next(0); packet !== undefined; packet = side.next(0)) sent.push(packet);
    expect(sent).toHaveLength(32);
  });

  test("are sent again at once when the way is new", () => {
    const side = new Reliable();
    side.send(bytes("a"));
    expect(side.next(0)?.message?.number).toBe(0);
    expect(side.next(1)).toBeUndefined();
    side.resumed();
    expect(side.next(2)?.message?.number).toBe(0);
  });

  test("that wait are forgotten, but for those that may have arrived", () => {
    const [side, other] = [new Reliable(), new Reliable()];
    for (let index = 0; index < 40; index += 1) side.send(bytes(String(index)));
    const first: ReliablePacket[] = [];
    for (let packet = side.next(0); packet !== undefined; packet = side.next(0)) first.push(packet);
    for (const packet of first) other.receive(packet, 0);
    side.resumed();
    side.forgetWaiting();
    side.send(bytes("last"));
    const arrived: string[] = [];
    for (let now = 1; side.backlog > 0 && now < 100; now += 1) {
      for (let packet = side.next(now); packet !== undefined; packet = side.next(now)) {
        const body = other.receive(packet, now);
        if (body !== undefined) arrived.push(text(body));
      }
      other.confirm();
      for (let packet = other.next(now); packet !== undefined; packet = other.next(now))
        side.receive(packet, now);
    }
    expect(arrived).toEqual(["last"]);
  });

  test("that are not confirmed are sent more and more rarely", () => {
    const side = new Reliable();
    side.send(bytes("a"));
    const times: number[] = [];
    for (let now = 0; now < 120_000; now = Math.max(now + 1, side.nextAt() ?? now + 1))
      if (side.next(now)?.message !== undefined) times.push(now);
    expect(times.length).toBeLessThan(15);
    expect(times.at(-1)).toBeGreaterThan(100_000);
  });
});

describe("frames", () => {
  const frames: readonly TunnelFrame[] = [
    { type: "open", stream: 1 },
    { type: "data", stream: 2 ** 32 - 1, data: bytes("abc") },
    { type: "end", stream: 7 },
    { type: "reset", stream: 7 },
    { type: "credit", stream: 7, bytes: 262_144 },
    { type: "ping" },
    { type: "close", reason: "the agent ends" },
  ];
  test.each(frames.map((frame) => [frame.type, frame] as const))("%s is read back", (_, frame) => {
    expect(readFrame(writeFrame(frame))).toEqual(frame);
  });

  test("of any bytes never throw, and carry no more than they may", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (written) => {
        readFrame(written);
        readPacket(written);
      }),
    );
    const large = writeFrame({ type: "data", stream: 1, data: new Uint8Array(32 * 1024 + 1) });
    expect(readFrame(large)).toBeUndefined();
  });
});
