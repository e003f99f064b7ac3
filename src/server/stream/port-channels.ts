// Performs: ports of a pod between a WebSocket and the runtime, in the older form: two channels for each port, data and
// error, which begin with the number of the port. k8s: portforward websocket

import { readMessage, writeMessage, type ChannelProtocol } from "./channel-protocol.ts";
import { forward, written } from "./command-channels.ts";
import type { SpdyConnection } from "./spdy/spdy-connection.ts";
import type { SpdyStream } from "./spdy/spdy-stream.ts";
import { NORMAL, type WebSocketPeer } from "./web-socket.ts";

interface PortStreams {
  readonly error: SpdyStream;
  readonly data: SpdyStream;
}

/** Rejects with AgentError `StreamError`. */
export function openPorts(
  connection: SpdyConnection,
  ports: readonly number[],
): Promise<readonly PortStreams[]> {
  return Promise.all(ports.map((port, index) => openPort(connection, port, index)));
}

/** `request`: unique on the connection; it joins the two. Rejects with AgentError `StreamError`. */
export async function openPort(
  connection: SpdyConnection,
  port: number,
  request: number,
): Promise<PortStreams> {
  const headers = { port: String(port), requestID: String(request) };
  const error = await connection.open({ ...headers, streamType: "error" });
  // Nothing is written to it.
  error.end();
  return { error, data: await connection.open({ ...headers, streamType: "data" }) };
}

/** Resolves when the client is gone, or every port has ended. `streams`: of `ports`, in their order. */
export async function servePorts(
  peer: WebSocketPeer,
  protocol: ChannelProtocol,
  {
    connection,
    ports,
    streams,
  }: {
    readonly connection: SpdyConnection;
    readonly ports: readonly number[];
    readonly streams: readonly PortStreams[];
  },
): Promise<void> {
  peer.receive(async (message) => {
    const content = readMessage(protocol, message);
    if (content === undefined || content.channel % 2 !== 0) return;
    await written(streams[content.channel / 2]?.data, content.data);
  });
  void peer.closed.then(() => connection.destroy());
  const send = (channel: number, data: Uint8Array): Promise<void> =>
    peer.send(writeMessage(protocol, channel, data));
  await Promise.all(
    streams.map(async ({ data, error }, index) => {
      const number = portBytes(ports[index] ?? 0);
      await send(2 * index, number);
      await send(2 * index + 1, number);
      await Promise.all([
        forward(data, (bytes) => send(2 * index, bytes)),
        forward(error, (bytes) => send(2 * index + 1, bytes)),
      ]);
    }),
  );
  peer.close(NORMAL);
  connection.destroy();
  await peer.closed;
}

function portBytes(port: number): Uint8Array {
  return new Uint8Array([port & 0xff, port >> 8]);
}
