// Encodes and decodes the messages of grpc.health.v1.Health/Check.

import { codeName } from "../../lib/grpc-code.ts";
import type { GrpcHealth } from "./probe-edge.ts";

/** In the order of their numbers. */
const SERVING_STATUS: readonly GrpcHealth[] = [
  "UNKNOWN",
  "SERVING",
  "NOT_SERVING",
  "SERVICE_UNKNOWN",
];
/** A compression flag, and the length in four bytes. */
const FRAME_HEAD = 5;

/** A HealthCheckRequest in its gRPC frame. */
export function encodeRequest(service: string): Buffer {
  const name = Buffer.from(service);
  const message =
    name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a]), varint(name.length), name]);
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** The status in the gRPC frame of a HealthCheckResponse; undefined = another message. */
function decodeResponse(frame: Buffer): GrpcHealth | undefined {
  if (frame.length < FRAME_HEAD || frame[0] !== 0) return undefined;
  const message = frame.subarray(FRAME_HEAD);
  if (message.length !== frame.readUInt32BE(1)) return undefined;
  // An empty message means the default of its only field.
  if (message.length === 0) return "UNKNOWN";
  const [tag, status, ...more] = message;
  if (tag !== 0x08 || status === undefined || more.length > 0) return undefined;
  return SERVING_STATUS[status] ?? (status < 0x80 ? "UNKNOWN" : undefined);
}

interface GrpcEnd {
  readonly httpStatus: number;
  /** The header or trailer; undefined = there was none. */
  readonly grpcStatus: string | undefined;
  readonly grpcMessage: string;
  readonly frame: Buffer;
}

/** The health, or the error as grpc-go words it. */
export function judgeEnd(end: GrpcEnd): GrpcHealth | { readonly message: string } {
  const { httpStatus, grpcStatus, grpcMessage, frame } = end;
  if (grpcStatus === undefined && httpStatus === 404) return "UNIMPLEMENTED";
  if (httpStatus !== 200)
    return rpcError("Unknown", `unexpected HTTP status code received from server: ${httpStatus}`);
  switch (grpcStatus) {
    case "0":
      return (
        decodeResponse(frame) ??
        rpcError("Internal", "the response is not a grpc.health.v1.HealthCheckResponse")
      );
    case "5":
      return "NOT_FOUND";
    case "12":
      return "UNIMPLEMENTED";
    case undefined:
      return rpcError("Internal", "server closed the stream without sending trailers");
  }
  return rpcError(codeName(Number(grpcStatus)), unescaped(grpcMessage));
}

export function rpcError(code: string, description: string): { readonly message: string } {
  return {
    message: `error: health rpc probe failed: rpc error: code = ${code} desc = ${description}`,
  };
}

function unescaped(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    // Not escaped properly: shown unchanged.
    return message;
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes.push((left % 0x80) | 0x80);
  return Buffer.from([...bytes, left]);
}

const FRAME_HEADER = 9;
const PUSH_PROMISE = 0x5;
/** Of the only request. */
const OWN_STREAM = 1;

/**
 * Follows the frames of a connection. The library makes an object for each stream that a server names, and ends the
 * process when one of them fails, because nothing listens to it: no such frame may reach it.
 */
export class FrameGate {
  #header: number[] = [];
  /** Bytes of the present frame that are still to come. */
  #left = 0;

  /** Why the library must not get these bytes; undefined = it may. */
  refusal(chunk: Uint8Array): string | undefined {
    for (let at = 0; at < chunk.length;) {
      const payload = Math.min(this.#left, chunk.length - at);
      this.#left -= payload;
      at += payload;
      const header = chunk.subarray(at, at + FRAME_HEADER - this.#header.length);
      this.#header.push(...header);
      at += header.length;
      if (this.#header.length < FRAME_HEADER) continue;
      const refusal = this.#begin(Buffer.from(this.#header));
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  #begin(header: Buffer): string | undefined {
    this.#header = [];
    this.#left = header.readUIntBE(0, 3);
    const stream = header.readUInt32BE(5) & 0x7f_ff_ff_ff;
    if (stream <= OWN_STREAM && header[3] !== PUSH_PROMISE) return undefined;
    return `the server opens stream ${stream}, and only answers to the request are allowed`;
  }
}
