// Performs: a command, or an attached container, between a WebSocket and the runtime: channels are streams of a SPDY
// connection, which can end input without ending the rest. k8s: stream translator

import { CHANNEL, oldStatus, readMessage, writeMessage } from "./channel-protocol.ts";
import type { ChannelProtocol } from "./channel-protocol.ts";
import { failureStatus } from "../kube/kube-status.ts";
import type { Streams } from "./runtime-streams.ts";
import type { SpdyConnection } from "./spdy/spdy-connection.ts";
import type { SpdyStream } from "./spdy/spdy-stream.ts";
import { NORMAL, type WebSocketPeer } from "./web-socket.ts";

export interface CommandStreams {
  readonly error: SpdyStream;
  readonly stdin: SpdyStream | undefined;
  readonly stdout: SpdyStream | undefined;
  readonly stderr: SpdyStream | undefined;
  readonly resize: SpdyStream | undefined;
}

/**
 * Opens what the request has asked for: the runtime waits for exactly these. Rejects with AgentError `StreamError`. As in
 * client-go our side of the error stream stays open: bytes that the runtime has not read when it closes would make it reset
 * the connection, and output that is under way would be lost.
 */
export async function openCommandStreams(
  connection: SpdyConnection,
  { stdin, stdout, stderr, tty }: Pick<Streams, "stdin" | "stdout" | "stderr" | "tty">,
): Promise<CommandStreams> {
  const open = (name: string, isWanted = true): Promise<SpdyStream | undefined> =>
    isWanted ? connection.open({ streamType: name }) : Promise.resolve(undefined);
  const [error, ...others] = await Promise.all([
    connection.open({ streamType: "error" }),
    open("stdin", stdin),
    open("stdout", stdout),
    open("stderr", stderr),
    open("resize", tty),
  ]);
  const [input, output, errors, resize] = others;
  return { error, stdin: input, stdout: output, stderr: errors, resize };
}

/** Resolves when either side is gone, and the other one is closed. */
export async function serveCommand(
  peer: WebSocketPeer,
  protocol: ChannelProtocol,
  {
    connection,
    streams,
  }: { readonly connection: SpdyConnection; readonly streams: CommandStreams },
): Promise<void> {
  const { error, stdin, stdout, stderr, resize } = streams;
  const inputs = new Map<number, SpdyStream | undefined>([
    [CHANNEL.stdin, stdin],
    [CHANNEL.resize, resize],
  ]);
  peer.receive(async (message) => {
    const content = readMessage(protocol, message);
    if (content === undefined) return;
    const { channel, data } = content;
    if (channel === CHANNEL.close && protocol.hasClose) inputs.get(data[0] ?? -1)?.end();
    else await written(inputs.get(channel), data);
  });
  void peer.closed.then(() => connection.destroy());
  const send = (channel: number, data: Uint8Array): Promise<void> =>
    peer.send(writeMessage(protocol, channel, data));
  // The first message shows that the streams are open. k8s: createWebSocketStreams
  await send(firstOutput(streams), new Uint8Array());
  const results = [
    forward(stdout, (data) => send(CHANNEL.stdout, data)),
    forward(stderr, (data) => send(CHANNEL.stderr, data)),
    statusOf(error),
  ] as const;
  const [, , reported] = await Promise.all(results);
  // Without a Status a client would take the command for a success.
  const status = reported.length > 0 ? reported : LOST;
  const shown = protocol.hasStatus ? status : oldStatus(status);
  if (shown.length > 0) await send(CHANNEL.error, shown);
  peer.close(NORMAL);
  connection.destroy();
  await peer.closed;
}

const LOST = new TextEncoder().encode(
  JSON.stringify(failureStatus(500, "the container runtime closed the stream before its end")),
);

function firstOutput({ stdout, stderr }: CommandStreams): number {
  if (stdout !== undefined) return CHANNEL.stdout;
  return stderr === undefined ? CHANNEL.error : CHANNEL.stderr;
}

/** Resolves when the stream takes more; at once when it has ended. */
export function written(stream: SpdyStream | undefined, data: Uint8Array): Promise<void> {
  if (stream === undefined || data.length === 0 || !stream.writable) return Promise.resolve();
  return new Promise((resolve) => void stream.write(data, () => resolve()));
}

/** Resolves when the stream has ended, in whatever way. */
export async function forward(
  stream: AsyncIterable<unknown> | undefined,
  send: (data: Uint8Array) => Promise<void>,
): Promise<void> {
  if (stream === undefined) return;
  try {
    for await (const data of stream) if (data instanceof Uint8Array) await send(data);
  } catch {
    // A stream that was reset has no more data; the Status shows how the command ended.
  }
}

/** More than any Status has. */
const MAX_STATUS = 64 * 1024;

/** What the runtime reports at the end; empty = nothing. */
export async function statusOf(error: AsyncIterable<unknown>): Promise<Uint8Array> {
  let status: Uint8Array = new Uint8Array();
  await forward(error, (data) => {
    if (status.length < MAX_STATUS) status = Buffer.concat([status, data]);
    return Promise.resolve();
  });
  return status;
}
