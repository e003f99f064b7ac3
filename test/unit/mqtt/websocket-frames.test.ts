import { describe, expect, test } from "bun:test";
import { FrameCounter } from "../../../src/mqtt/websocket-frames.ts";

/** A server's frame with so many bytes of payload. */
function frame(size: number, masked = false): number[] {
  const bit = masked ? 0x80 : 0;
  const length =
    size < 126
      ? [bit | size]
      : size < 65_536
        ? [bit | 126, size >> 8, size & 0xff]
        : [
            bit | 127,
            0,
            0,
            0,
            0,
            size >>> 24,
            (size >> 16) & 0xff,
            (size >> 8) & 0xff,
            size & 0xff,
          ];
  // Every byte of the payload looks like the header of an empty frame.
  return [0x82, ...length, ...(masked ? [1, 2, 3, 4] : []), ...Array<number>(size).fill(0)];
}

const RESPONSE = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";

function behindResponse(): FrameCounter {
  const frames = new FrameCounter();
  expect(frames.count(Buffer.from(RESPONSE))).toBe(0);
  return frames;
}

const SIZES = [0, 1, 125, 126, 127, 65_535, 65_536, 70_000];

describe("frames are counted once each", () => {
  test.each(SIZES)("with %d bytes", (size) => {
    const frames = behindResponse();
    expect(frames.count(new Uint8Array([...frame(size), ...frame(size), ...frame(0)]))).toBe(3);
    expect(frames.count(new Uint8Array(frame(2)))).toBe(1);
  });

  test.each([1, 2, 3, 7, 1000])("however they are cut, into pieces of %d", (step) => {
    const bytes = new Uint8Array(SIZES.flatMap((size, at) => frame(size, at % 2 === 0)));
    const frames = behindResponse();
    let count = 0;
    for (let at = 0; at < bytes.length; at += step)
      count += frames.count(bytes.subarray(at, at + step));
    expect(count).toBe(SIZES.length);
  });
});

describe("what comes before is no frame", () => {
  const responses = {
    "one response": RESPONSE,
    "two of them": `HTTP/1.1 100 Continue\r\n\r\n${RESPONSE}`,
    "lines that end as only some parsers accept":
      "HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\n\n",
  };
  test.each(Object.entries(responses))("%s", (_, text) => {
    const bytes = new Uint8Array([...Buffer.from(text), ...frame(3), ...frame(0)]);
    expect(new FrameCounter().count(bytes)).toBe(2);
    const frames = new FrameCounter();
    expect([...bytes].reduce((sum, byte) => sum + frames.count(new Uint8Array([byte])), 0)).toBe(2);
  });
});
