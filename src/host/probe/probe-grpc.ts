// Performs: a gRPC health check over its own connection, without TLS. Written on node:http2, at half the cost of the gRPC
// library, whose channels are made to be reused. kubelet: pkg/probe/grpc

import {
  connect as connectHttp2,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from "node:http2";
import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import type { Clock } from "../../lib/clock.ts";
import { PROBE_USER_AGENT, hostAndPort } from "./probe-http-request.ts";
import type { Address, GrpcHealth, ProbeCall } from "./probe-edge.ts";
import { encodeRequest, FrameGate, judgeEnd, rpcError } from "./probe-grpc-message.ts";
import {
  connectionFailed,
  exchange,
  socketError,
  timedOut,
  type Settle,
} from "./probe-connection.ts";

type HealthAddress = Address & { readonly service: string };

const REQUEST = {
  ":method": "POST",
  ":path": "/grpc.health.v1.Health/Check",
  "content-type": "application/grpc",
  te: "trailers",
  "user-agent": PROBE_USER_AGENT,
} as const;
/** Longer than any valid response. */
const MAX_ANSWER = 10 * 1024;
/** Bytes of a connection, whatever frames they are: a flood of small frames has no other bound. */
const MAX_CONNECTION = 64 * 1024;

export function grpcHealth(
  clock: Clock,
  address: HealthAddress,
  call: ProbeCall,
): Promise<GrpcHealth> {
  const where = hostAndPort(address);
  const within = `${call.timeoutMs / 1000}s`;
  let connected = false;
  const late = () =>
    timedOut(
      connected
        ? `timeout: health rpc did not complete within ${within}`
        : `timeout: failed to connect service "${where}" within ${within}: context deadline exceeded`,
    );
  // A host that is invalid in a URL fails before anything is opened.
  if (!URL.canParse(`http://${where}`))
    return Promise.reject(
      connectionFailed(`error: failed to connect service at "${where}": no host`),
    );
  return exchange<GrpcHealth>({ clock, call, late }, (settle) => {
    const socket = connect({ host: address.host, port: address.port });
    const failed = (error: Error): void => {
      const cause = socketError(error, address, connected).message;
      settle.fail(
        connectionFailed(
          connected
            ? rpcError("Unavailable", cause).message
            : `error: failed to connect service at "${where}": ${cause}`,
          error,
        ),
      );
    };
    socket.on("connect", () => (connected = true));
    socket.on("error", failed);
    const session = connectHttp2(`http://${where}`, {
      createConnection: () => limited(socket, settle).on("error", failed),
      settings: { enablePush: false },
    });
    session.on("error", failed);
    session.on("close", () => failed(new Error("the server closed the connection")));
    const stream = session.request({ ...REQUEST });
    listen(stream, settle);
    stream.on("error", failed);
    stream.end(encodeRequest(address.service));
    return () => {
      session.destroy();
      socket.destroy();
    };
  });
}

/**
 * The library reads a socket beside JavaScript; of this stream it gets no more than MAX_CONNECTION bytes, and only frames
 * of its request.
 */
function limited(socket: Socket, settle: Settle<GrpcHealth>): Duplex {
  let received = 0;
  const gate = new FrameGate();
  const stream = new Duplex({
    read: () => void socket.resume(),
    write: (chunk: Buffer, _encoding, done) => void socket.write(chunk, done),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on("data", (chunk: Buffer) => {
    received += chunk.length;
    if (received > MAX_CONNECTION) return tooLong(settle);
    const refusal = gate.refusal(chunk);
    if (refusal === undefined) stream.push(chunk);
    else settle.fail(connectionFailed(rpcError("Internal", refusal).message));
  });
  socket.on("end", () => void stream.push(null));
  socket.on("close", () => void stream.destroy());
  return stream;
}

function tooLong({ fail }: Settle<GrpcHealth>): void {
  fail(connectionFailed(rpcError("ResourceExhausted", "the response is too long").message));
}

function listen(stream: ClientHttp2Stream, settle: Settle<GrpcHealth>): void {
  const { answer, fail } = settle;
  const parts: Buffer[] = [];
  let size = 0;
  let httpStatus = 0;
  let trailers: IncomingHttpHeaders = {};
  const end = (): void => {
    const grpcMessage = textOf(trailers["grpc-message"]) ?? "";
    const grpcStatus = textOf(trailers["grpc-status"]);
    const health = judgeEnd({ httpStatus, grpcStatus, grpcMessage, frame: Buffer.concat(parts) });
    if (typeof health === "string") answer(health);
    else fail(connectionFailed(health.message));
  };
  stream.on("response", (headers: IncomingHttpHeaders & IncomingHttpStatusHeader) => {
    httpStatus = headers[":status"] ?? 0;
    // A response that is only an error has its status in the headers.
    trailers = headers;
  });
  stream.on("trailers", (headers: IncomingHttpHeaders) => (trailers = headers));
  stream.on("data", (chunk: Buffer) => {
    parts.push(chunk);
    size += chunk.length;
    if (size > MAX_ANSWER) tooLong(settle);
  });
  stream.on("end", end);
  stream.on("close", end);
}

function textOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.[0];
}
