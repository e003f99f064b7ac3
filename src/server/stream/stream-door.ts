// Performs: `exec`, `attach` and `portforward` of pods: finds what is meant, opens the runtime's stream and joins the client
// to it. A client that speaks SPDY is passed through as it is; a WebSocket is translated.

import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { PodEntry } from "../../node/pod-list.ts";
import { podName } from "../../api/v1/pod.ts";
import type { ExecProcesses } from "../../host/process/exec-processes.ts";
import { reasonOf, messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Answer } from "../http/exchange.ts";
import type { UpgradeRequest } from "../http/http-door.ts";
import { notFound, refusal, unknownPath } from "../kube/kube-status.ts";
import {
  chooseProtocol,
  supportedProtocols,
  TUNNEL,
  type ChannelProtocol,
} from "./channel-protocol.ts";
import { openCommandStreams, serveCommand } from "./command-channels.ts";
import { ExecHangUp } from "./exec-hang-up.ts";
import { closingResponse } from "../../lib/http-head.ts";
import { openPorts, servePorts } from "./port-channels.ts";
import {
  PROTOCOL_HEADER,
  RuntimeStreams,
  SPDY,
  type RuntimeStreamsOptions,
  type Streams,
} from "./runtime-streams.ts";
import { SpdyConnection } from "./spdy/spdy-connection.ts";
import { splice } from "./splice.ts";
import { StreamPlaces } from "./stream-places.ts";
import { streamPlace, streamRequest, type StreamRequest } from "./stream-request.ts";
import { chooseContainer, notRunning, podNotRunning } from "./stream-target.ts";
import { serveTunnel } from "./tunnel.ts";
import { refusalText, type Upgraded } from "./upgrade.ts";
import { acceptWebSocket, INTERNAL_ERROR, isWebSocket } from "./web-socket.ts";

export interface StreamDoorOptions extends RuntimeStreamsOptions {
  readonly log: Logger;
  readonly pods: () => readonly PodEntry[];
  /** Absent = commands of clients that are gone run on. */
  readonly execProcesses?: ExecProcesses;
}

/** What the runtime is asked for. */
interface Target {
  /** Of a container, or of a sandbox. */
  readonly id: string;
  readonly streams: Streams;
  readonly container: string | undefined;
}

const COMMAND_PROTOCOLS = ["v4.channel.k8s.io"];
const FORWARD_PROTOCOLS = ["portforward.k8s.io"];
/** Of a connection over the network: a client that vanished without a word. */
const KEEP_ALIVE_MS = 60_000;

export class StreamDoor {
  readonly #options: StreamDoorOptions;
  readonly #runtime: RuntimeStreams;
  readonly #places = new StreamPlaces();
  readonly #hangUp: ExecHangUp | undefined;

  constructor(options: StreamDoorOptions) {
    this.#options = options;
    this.#runtime = new RuntimeStreams(options);
    const { execProcesses, clock } = options;
    this.#hangUp = execProcesses && new ExecHangUp(execProcesses, clock);
  }

  /** The whole life of a connection; resolves to the status of the answer, never rejects. */
  async upgrade(request: UpgradeRequest): Promise<number> {
    const { socket } = request;
    socket.on("error", () => socket.destroy());
    try {
      const refused = await this.#serve(request);
      if (refused !== undefined) end(request, refused);
      return refused?.status ?? SWITCHED;
    } catch (error) {
      this.#options.log.warn("stream failed", {
        path: request.url.pathname,
        error: messageOf(error),
      });
      const answer = answerTo(error);
      end(request, answer);
      return answer.status;
    }
  }

  /** An answer = it was refused before anything else was sent. */
  async #serve(request: UpgradeRequest): Promise<Answer | undefined> {
    const { url, user, header } = request;
    const place = streamPlace(url.pathname);
    if (place === undefined) return unknownPath();
    if (isForeign(request)) return refusal(403, "requests from pages of other sites are refused");
    if (user.access === "ReadOnly")
      return refusal(
        403,
        `pods ${JSON.stringify(place.pod)} is forbidden: User ${JSON.stringify(user.name)} cannot create resource "pods/${place.verb}" in API group "" in the namespace ${JSON.stringify(place.namespace)}: it is read-only`,
      );
    if (!isWebSocket(request) && header("upgrade")?.toLowerCase() !== SPDY.toLowerCase())
      return UPGRADE_REQUIRED;
    const asked = streamRequest(place, url.searchParams, isWebSocket(request));
    if (!asked.ok) return refusal(400, asked.errors.map(({ message }) => message).join("; "));
    const taken = this.#places.take(user.name);
    if (typeof taken === "string") return refusal(429, taken);
    using _place = taken;
    const target = await this.#target(asked.value, request.signal);
    if ("status" in target) return target;
    this.#logOpened(request, asked.value, target);
    keepAlive(request);
    const serve = async (): Promise<Answer | undefined> =>
      isWebSocket(request) ? this.#webSocket(request, target) : this.#passThrough(request, target);
    const { verb, command } = asked.value;
    if (verb !== "exec" || this.#hangUp === undefined) return await serve();
    return await this.#hangUp.during({ containerId: target.id, command }, serve);
  }

  #logOpened({ user }: UpgradeRequest, asked: StreamRequest, { container }: Target): void {
    const { namespace, pod: name, verb } = asked;
    const pod = podName({ metadata: { namespace, name } });
    this.#options.log.info("stream opened", { verb, pod, container, user: user.name });
  }

  async #target(asked: StreamRequest, signal: AbortSignal): Promise<Target | Answer> {
    const { namespace, pod: name, uid } = asked;
    const entry = this.#options
      .pods()
      .find(({ pod: { metadata } }) => metadata.namespace === namespace && metadata.name === name);
    if (entry === undefined || (uid !== undefined && entry.pod.metadata.uid !== uid))
      return notFound("pods", name);
    return asked.verb === "portforward"
      ? this.#sandbox(asked, entry, signal)
      : this.#container(asked, entry, signal);
  }

  async #sandbox(
    asked: StreamRequest,
    { pod, status }: PodEntry,
    signal: AbortSignal,
  ): Promise<Target | Answer> {
    const id = await this.#runtime.sandbox(pod.metadata.uid, signal);
    if (id === undefined) return podNotRunning(pod.metadata.name, status);
    return { id, streams: asked, container: undefined };
  }

  async #container(
    asked: StreamRequest,
    { pod, status }: PodEntry,
    signal: AbortSignal,
  ): Promise<Target | Answer> {
    const container = chooseContainer(pod, asked.container);
    if ("status" in container) return container;
    const { name, tty } = container;
    const id = await this.#runtime.container(pod.metadata.uid, name, signal);
    if (id === undefined) return notRunning(pod.metadata.name, name, status);
    if (asked.verb === "exec") return { id, streams: asked, container: name };
    // Whether the main process has a terminal was decided when it started. kubelet: GetAttach
    const streams = { ...asked, tty, stderr: asked.stderr && !tty };
    return { id, streams, container: name };
  }

  async #passThrough(request: UpgradeRequest, { id, streams }: Target): Promise<undefined> {
    const { socket, head, header, signal } = request;
    const protocols = (header(PROTOCOL_HEADER.toLowerCase()) ?? "")
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one !== "");
    const { socket: runtime, response } = await this.#runtime.open(id, streams, {
      protocols,
      signal,
    });
    // Also a refusal: the client knows the runtime's answers.
    socket.write(response.bytes);
    if (response.rest.length > 0) socket.write(response.rest);
    if (head.length > 0) runtime.write(head);
    await splice(socket, runtime, this.#options.clock);
  }

  async #webSocket(request: UpgradeRequest, target: Target): Promise<Answer | undefined> {
    const { header, signal } = request;
    const { verb, tty, stdin, stdout, stderr } = target.streams;
    const offered = header("sec-websocket-protocol");
    const protocol = chooseProtocol(verb, offered);
    if (protocol === undefined)
      return refusal(
        400,
        `none of the WebSocket subprotocols is supported: ${offered}; this node has ${supportedProtocols(verb)}`,
      );
    const protocols = verb === "portforward" ? FORWARD_PROTOCOLS : COMMAND_PROTOCOLS;
    const opened = await this.#runtime.open(target.id, target.streams, { protocols, signal });
    using _runtime = { [Symbol.dispose]: () => opened.socket.destroy() };
    if (opened.response.status !== 101) return await this.#refused(opened);
    if (protocol.name === TUNNEL) {
      const { clock } = this.#options;
      const peer = await acceptWebSocket(request, { protocol: TUNNEL, clock });
      if (peer !== undefined) await serveTunnel(peer, opened.socket, opened.response.rest);
      return undefined;
    }
    const connection = new SpdyConnection(opened.socket, opened.response.rest);
    const serve =
      verb === "portforward"
        ? this.#ports(request, { connection, protocol, ports: target.streams.ports })
        : this.#command(request, {
            connection,
            protocol,
            streams: { tty, stdin, stdout, stderr },
          });
    await serve;
    return undefined;
  }

  async #command(
    request: UpgradeRequest,
    {
      connection,
      protocol,
      streams,
    }: {
      readonly connection: SpdyConnection;
      readonly protocol: ChannelProtocol;
      readonly streams: Pick<Streams, "stdin" | "stdout" | "stderr" | "tty">;
    },
  ): Promise<void> {
    const opened = await openCommandStreams(connection, streams);
    const { clock } = this.#options;
    const peer = await acceptWebSocket(request, { protocol: protocol.name, clock });
    if (peer !== undefined) await serveCommand(peer, protocol, { connection, streams: opened });
  }

  async #ports(
    request: UpgradeRequest,
    {
      connection,
      protocol,
      ports,
    }: {
      readonly connection: SpdyConnection;
      readonly protocol: ChannelProtocol;
      readonly ports: readonly number[];
    },
  ): Promise<void> {
    const { clock } = this.#options;
    // Before the client is let in: it may send at once.
    const streams = await openPorts(connection, ports);
    const peer = await acceptWebSocket(request, { protocol: protocol.name, clock });
    if (peer === undefined) return;
    try {
      await servePorts(peer, protocol, { connection, ports, streams });
    } catch (error) {
      peer.close(INTERNAL_ERROR, messageOf(error).slice(0, 100));
    }
  }

  async #refused(opened: Upgraded): Promise<Answer> {
    const text = await refusalText(opened, this.#options.clock);
    return refusal(500, `the container runtime refused the stream: ${text}`);
  }
}

/** Switching Protocols. */
const SWITCHED = 101;
const UPGRADE_REQUIRED = refusal(
  400,
  "Upgrade request required: this is a stream, for SPDY/3.1 or WebSocket clients such as kubectl",
);

/** The answer to a request of a stream without an upgrade; undefined = the path is another. */
export function upgradeRequired(path: string): Answer | undefined {
  return streamPlace(path) === undefined ? undefined : UPGRADE_REQUIRED;
}

/** From a page in a browser, which sends the user's certificate unasked. */
function isForeign({ header }: UpgradeRequest): boolean {
  const origin = header("origin");
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== header("host");
}

function keepAlive({ socket }: UpgradeRequest): void {
  if (isTcp(socket)) socket.setKeepAlive(true, KEEP_ALIVE_MS);
}

function isTcp(socket: Duplex): socket is Socket {
  return "setKeepAlive" in socket;
}

function answerTo(error: unknown): Answer {
  const isGone = reasonOf(error, "") === "NotFound";
  return refusal(isGone ? 404 : 500, messageOf(error));
}

/** Of a connection on which nothing was sent yet. */
function end({ socket }: UpgradeRequest, { status, contentType, body }: Answer): void {
  if (socket.destroyed) return;
  socket.resume();
  socket.end(closingResponse(status, contentType, body));
}
