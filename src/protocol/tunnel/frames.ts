// What goes through a tunnel: the bytes of its streams, and how a packet is laid out before it is encrypted.

import type { ReliablePacket } from "./reliable.ts";

/** Most bytes of a stream in one frame. */
export const MAX_FRAME_DATA = 32 * 1024;

const TYPES = { open: 1, data: 2, end: 3, reset: 4, credit: 5, ping: 6, close: 7 } as const;

export type TunnelFrame =
  | { readonly type: "open" | "end" | "reset"; readonly stream: number }
  | { readonly type: "data"; readonly stream: number; readonly data: Uint8Array }
  /** The other side may send so many bytes more. */
  | { readonly type: "credit"; readonly stream: number; readonly bytes: number }
  /** Shows that the sender is there. */
  | { readonly type: "ping" }
  /** Ends the tunnel. */
  | { readonly type: "close"; readonly reason: string };

const HEAD_BYTES = 5;
const MAX_REASON_BYTES = 256;

/** type, stream (32 bits), the rest. */
export function writeFrame(frame: TunnelFrame): Uint8Array {
  const rest = restOf(frame);
  const bytes = new Uint8Array(HEAD_BYTES + rest.length);
  bytes[0] = TYPES[frame.type];
  new DataView(bytes.buffer).setUint32(1, "stream" in frame ? frame.stream : 0);
  bytes.set(rest, HEAD_BYTES);
  return bytes;
}

function restOf(frame: TunnelFrame): Uint8Array {
  switch (frame.type) {
    case "data":
      return frame.data;
    case "credit": {
      const rest = new Uint8Array(4);
      new DataView(rest.buffer).setUint32(0, frame.bytes);
      return rest;
    }
    case "close":
      return new TextEncoder().encode(frame.reason).subarray(0, MAX_REASON_BYTES);
    case "open":
    case "end":
    case "reset":
    case "ping":
      return new Uint8Array();
  }
}

/** undefined = no frame. */
export function readFrame(bytes: Uint8Array): TunnelFrame | undefined {
  if (bytes.length < HEAD_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const stream = view.getUint32(1);
  const rest = bytes.subarray(HEAD_BYTES);
  switch (bytes[0] ?? 0) {
    case TYPES.open:
      return { type: "open", stream };
    case TYPES.data:
      return rest.length <= MAX_FRAME_DATA ? { type: "data", stream, data: rest } : undefined;
    case TYPES.end:
      return { type: "end", stream };
    case TYPES.reset:
      return { type: "reset", stream };
    case TYPES.credit:
      return rest.length === 4
        ? { type: "credit", stream, bytes: view.getUint32(HEAD_BYTES) }
        : undefined;
    case TYPES.ping:
      return { type: "ping" };
    case TYPES.close:
      return { type: "close", reason: new TextDecoder().decode(rest) };
    default:
      return undefined;
  }
}

const NUMBER_BYTES = 6;
const NO_MESSAGE = 2 ** 48 - 1;

/** expects, number (48 bits each; all ones = no message), the body. */
export function writePacket({ expects, message }: ReliablePacket): Uint8Array {
  const body = message?.body ?? new Uint8Array();
  const bytes = new Uint8Array(2 * NUMBER_BYTES + body.length);
  bytes.set(numberBytes(expects));
  bytes.set(numberBytes(message?.number ?? NO_MESSAGE), NUMBER_BYTES);
  bytes.set(body, 2 * NUMBER_BYTES);
  return bytes;
}

/** undefined = no packet. */
export function readPacket(bytes: Uint8Array): ReliablePacket | undefined {
  if (bytes.length < 2 * NUMBER_BYTES) return undefined;
  const expects = readNumber(bytes, 0);
  const number = readNumber(bytes, NUMBER_BYTES);
  if (number === NO_MESSAGE) return { expects };
  return { expects, message: { number, body: bytes.subarray(2 * NUMBER_BYTES) } };
}

/** 48 bits. */
export function numberBytes(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes.subarray(2);
}

export function readNumber(bytes: Uint8Array, at: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, NUMBER_BYTES);
  return view.getUint16(0) * 2 ** 32 + view.getUint32(2);
}
