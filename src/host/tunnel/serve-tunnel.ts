// Performs: the node's side of a tunnel: each stream is a connection to the node's own API, behind a gate that lets it reach
// one pod only.

import { connect, type Socket } from "node:net";
import { isSwitched, judgeHead, type GateScope } from "../../protocol/tunnel/api-gate.ts";
import type { Clock } from "../../lib/clock.ts";
import { joinSocket, writtenTo } from "./join-socket.ts";
import { Tunnel, type TunnelOptions } from "./tunnel.ts";
import type { TunnelStream } from "./tunnel-stream.ts";

interface ServeOptions extends Pick<TunnelOptions, "cipher" | "send" | "idleMs" | "totalMs"> {
  readonly scope: GateScope;
}

/** Opens the node's side of a tunnel. */
export type ServeTunnel = (
  options: ServeOptions,
) => Pick<Tunnel, "ended" | "receive" | "resumed" | "close">;

/** `socket`: of the node's own API. */
export function tunnelServer(clock: Clock, socket: string): ServeTunnel {
  return ({ scope, ...options }) =>
    new Tunnel({
      ...options,
      clock,
      side: "node",
      onStream: (stream) => new GatedStream(stream, { scope, socket }).begin(),
    });
}

/** One request of an operator, and what follows it. */
class GatedStream {
  readonly #stream: TunnelStream;
  readonly #parts: { readonly scope: GateScope; readonly socket: string };
  #received: Uint8Array = new Uint8Array();

  constructor(stream: TunnelStream, parts: { readonly scope: GateScope; readonly socket: string }) {
    this.#stream = stream;
    this.#parts = parts;
  }

  begin(): void {
    const over = (): void => this.#stream.reset();
    this.#stream.receive({
      data: (data) => this.#head(data),
      ended: over,
      closed: () => undefined,
    });
  }

  async #head(data: Uint8Array): Promise<void> {
    this.#received = Buffer.concat([this.#received, data]);
    const answer = judgeHead(this.#received, this.#parts.scope);
    switch (answer.type) {
      case "More":
        return;
      case "Refused":
        await this.#stream.write(new TextEncoder().encode(answer.response));
        this.#stream.end();
        this.#stream.receive({ data: ignored, ended: noop, closed: noop });
        return;
      case "Request":
        this.#ask(answer.head, answer.isUpgrade, answer.rest);
    }
  }

  #ask(head: string, isUpgrade: boolean, rest: Uint8Array): void {
    const stream = this.#stream;
    const socket = connect({ path: this.#parts.socket, allowHalfOpen: true });
    socket.write(head);
    // A command that does not read its input must not outlast the session.
    const cut = (): void => void socket.destroy();
    // A request that only reads has no body: what else the operator sends would be another request.
    if (!isUpgrade) return joinSocket(stream, socket, { data: ignored, cut });
    // Until the API has switched, the operator's bytes wait: it would take them for another request.
    const switched = switchedBy(socket);
    joinSocket(stream, socket, {
      cut,
      data: async (data) => {
        if (await switched) await writtenTo(socket, data);
      },
    });
    void switched.then((isOpen) => (isOpen && rest.length > 0 ? socket.write(rest) : undefined));
  }
}

/** Whether the API begins the stream; false when it closes before. */
function switchedBy(socket: Socket): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let answer: Uint8Array = new Uint8Array();
  const look = (data: Uint8Array): void => {
    answer = Buffer.concat([answer, data]);
    const isOpen = isSwitched(answer);
    if (isOpen === undefined) return;
    socket.off("data", look);
    resolve(isOpen);
  };
  socket.on("data", look);
  socket.once("close", () => resolve(false));
  return promise;
}

function noop(): void {
  // Nothing to do.
}

function ignored(): Promise<void> {
  return Promise.resolve();
}
