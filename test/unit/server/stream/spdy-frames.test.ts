import { describe, expect, test } from "bun:test";
import { inflateSync, constants } from "node:zlib";
import fc from "fast-check";
import {
  dataFrame,
  FrameParser,
  ping,
  rstStream,
  synStream,
  type FrameEvent,
} from "../../../../src/server/stream/spdy/spdy-frames.ts";

/** Control frames that only a server writes. */
function control(type: number, flags: number, payload: Uint8Array, version = 3): Uint8Array {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(0x8000 | version, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE((flags << 24) | payload.length, 4);
  return Buffer.concat([head, payload]);
}

function u32(...values: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => bytes.writeUInt32BE(value, 4 * index));
  return bytes;
}

/** Data of one stream joined, so that chunks do not matter. */
function summary(events: readonly FrameEvent[]): readonly string[] {
  const lines: string[] = [];
  for (const event of events) {
    const last = lines.at(-1);
    if (event.type === "Data") {
      const prefix = `Data ${event.stream} `;
      const text = Buffer.from(event.data).toString("hex");
      if (last?.startsWith(prefix) === true) lines[lines.length - 1] = last + text;
      else lines.push(prefix + text);
    } else if (event.type === "Ping")
      lines.push(`Ping ${Buffer.from(event.payload).toString("hex")}`);
    else if (event.type === "Invalid") lines.push(event.message);
    else lines.push(`${event.type} ${"stream" in event ? event.stream : ""}`);
  }
  return lines;
}

const FRAMES: readonly (readonly [Uint8Array, readonly string[]])[] = [
  [control(2, 0, u32(1, 0)), ["Reply 1"]],
  [control(2, 1, u32(3)), ["Reply 3", "Fin 3"]],
  [dataFrame(1, new Uint8Array([1, 2, 3]), false), ["Data 1 010203"]],
  [dataFrame(3, new Uint8Array([9]), true), ["Data 3 09", "Fin 3"]],
  [dataFrame(5, new Uint8Array(), true), ["Fin 5"]],
  [dataFrame(5, new Uint8Array(), false), []],
  [rstStream(5, 5), ["Reset 5"]],
  [ping(u32(2)), ["Ping 00000002"]],
  [control(7, 0, u32(0, 0)), ["GoAway "]],
  [control(4, 0, u32(1, 0, 4, 65536)), []],
  [control(9, 0, u32(1, 65536)), []],
  [control(8, 1, u32(7)), ["Fin 7"]],
  [control(1, 0, u32(2, 0, 0)), ["Opened 2"]],
];

describe("frames", () => {
  test("are read, each as it is meant", () => {
    for (const [frame, expected] of FRAMES)
      expect(summary(new FrameParser().push(frame))).toEqual([...expected]);
  });

  test("are the same in chunks of any size", () => {
    const all = Buffer.concat(FRAMES.map(([frame]) => frame));
    const whole = summary(new FrameParser().push(all));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (sizes) => {
        const parser = new FrameParser();
        const events: FrameEvent[] = [];
        for (let at = 0, turn = 0; at < all.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          // The parser's views of data are valid for its chunk only.
          events.push(...parser.push(new Uint8Array(all.subarray(at, at + size))));
          at += size;
        }
        expect(summary(events)).toEqual([...whole]);
      }),
    );
  });

  test("of another version, or too large, end the connection", () => {
    expect(summary(new FrameParser().push(control(2, 0, u32(1), 2)))).toEqual([
      "SPDY version 2, not 3",
    ]);
    const large = new FrameParser().push(control(2, 0, new Uint8Array(20_000)));
    expect(summary(large)).toEqual(["a control frame of 20000 bytes"]);
  });
});

test("header blocks are one zlib stream, each flushed", () => {
  const frames = [
    synStream(1, { streamType: "error" }, true),
    synStream(3, { streamType: "data", port: "80" }, false),
  ];
  const blocks = frames.map((frame) => frame.subarray(18));
  const finish = { finishFlush: constants.Z_SYNC_FLUSH };
  const first = inflateSync(blocks[0] ?? "", finish);
  const both = inflateSync(Buffer.concat(blocks), finish);
  expect(first.toString("latin1")).toBe("\0\0\0\x01\0\0\0\x0astreamtype\0\0\0\x05error");
  expect(both.subarray(first.length).toString("latin1")).toBe(
    "\0\0\0\x02\0\0\0\x0astreamtype\0\0\0\x04data\0\0\0\x04port\0\0\0\x0280",
  );
  // Without an empty block at its end, readers of Go lose the stream.
  for (const block of blocks) expect([...block.subarray(-5)]).toEqual([0, 0, 0, 0xff, 0xff]);
});
