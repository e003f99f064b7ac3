// Performs: a gRPC health check over its own connection, without TLS. Written on node:http2, at half the cost of the gRPC
// library, whose channels are made to be reused. kubelet: pkg/probe/grpc

import {
  connect as connectHttp2,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from "node:http2";
import { connect } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import { PROBE_USER_AGENT, hostAndPort } from "./probe-http-request.ts";
import type { Address, GrpcHealth, ProbeCall } from "./probe-edge.ts";
import { encodeRequest, judgeEnd, rpcError } from "./probe-grpc-message.ts";
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
    const session = connectHttp2(`http://${where}`, { createConnection: () => socket });
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

function listen(stream: ClientHttp2Stream, { answer, fail }: Settle<GrpcHealth>): void {
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
    if (size > MAX_ANSWER)
      fail(connectionFailed(rpcError("ResourceExhausted", "the response is too long").message));
  });
  stream.on("end", end);
  stream.on("close", end);
}

function textOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.[0];
}
