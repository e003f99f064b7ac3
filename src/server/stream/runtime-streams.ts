// Performs: finds a container or sandbox in the runtime, and opens the runtime's own stream for it.

import { connect } from "node:net";
import { LABEL } from "../../api/pod/labels.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { ContainerState, PodSandboxState } from "../../cri/gen/runtime/v1/api_pb.ts";
import type { Clock } from "../../lib/clock.ts";
import { runtimeAddress } from "./runtime-url.ts";
import type { StreamRequest } from "./stream-request.ts";
import { upgrade, withPlace, type Upgraded } from "./upgrade.ts";

export type StreamRuntime = Pick<
  CriClient,
  "exec" | "attach" | "portForward" | "listContainers" | "listPodSandbox"
>;

export interface RuntimeStreamsOptions {
  readonly cri: StreamRuntime;
  readonly clock: Clock;
}

export type Streams = Pick<
  StreamRequest,
  "verb" | "command" | "stdin" | "stdout" | "stderr" | "tty" | "ports"
>;

/** Of CRI's calls and of the streaming server's answer: both only prepare. */
const OPEN_MS = 15_000;
export const SPDY = "SPDY/3.1";
export const PROTOCOL_HEADER = "X-Stream-Protocol-Version";

export class RuntimeStreams {
  readonly #options: RuntimeStreamsOptions;

  constructor(options: RuntimeStreamsOptions) {
    this.#options = options;
  }

  /** The id of the newest running instance; undefined = none runs. */
  async container(uid: string, name: string, signal: AbortSignal): Promise<string | undefined> {
    const labelSelector = { [LABEL.podUID]: uid, [LABEL.containerName]: name };
    const state = { state: ContainerState.CONTAINER_RUNNING };
    const { cri } = this.#options;
    return newest(await cri.listContainers({ labelSelector, state }, limits(signal)));
  }

  /** The id of the newest ready sandbox of a pod; undefined = there is none. */
  async sandbox(uid: string, signal: AbortSignal): Promise<string | undefined> {
    const labelSelector = { [LABEL.podUID]: uid };
    const state = { state: PodSandboxState.SANDBOX_READY };
    const { cri } = this.#options;
    return newest(await cri.listPodSandbox({ labelSelector, state }, limits(signal)));
  }

  /** `id`: of a container, or of a sandbox for ports. Rejects with CriError or AgentError `StreamError`. */
  async open(
    id: string,
    streams: Streams,
    { protocols, signal }: { readonly protocols: readonly string[]; readonly signal: AbortSignal },
  ): Promise<Upgraded> {
    const { host, port, target } = runtimeAddress(await this.#url(id, streams, signal));
    const headers = [
      ["Host", `${host.includes(":") ? `[${host}]` : host}:${port}`],
      ["Connection", "Upgrade"],
      ["Upgrade", SPDY],
      ...protocols.map((protocol) => [PROTOCOL_HEADER, protocol] as const),
    ] as const;
    try {
      return await upgrade({
        connect: () => connect({ host, port, allowHalfOpen: true, noDelay: true }),
        target,
        headers,
        clock: this.#options.clock,
        timeoutMs: OPEN_MS,
        signal,
      });
    } catch (error) {
      throw withPlace(`the runtime's streaming server on ${host}:${port} cannot be used`, error);
    }
  }

  #url(id: string, streams: Streams, signal: AbortSignal): Promise<string> {
    const { cri } = this.#options;
    const { verb, command, stdin, stdout, stderr, tty, ports } = streams;
    const what = { containerId: id, stdin, stdout, stderr, tty };
    switch (verb) {
      case "exec":
        return cri.exec({ ...what, cmd: [...command] }, limits(signal));
      case "attach":
        return cri.attach(what, limits(signal));
      case "portforward":
        return cri.portForward(id, ports, limits(signal));
    }
  }
}

function limits(signal: AbortSignal) {
  return { signal, timeoutMs: OPEN_MS };
}

interface Attempt {
  readonly id: string;
  readonly metadata?: { readonly attempt: number } | undefined;
}

function newest(all: readonly Attempt[]): string | undefined {
  const order = all.toSorted((a, b) => (b.metadata?.attempt ?? 0) - (a.metadata?.attempt ?? 0));
  return order[0]?.id;
}
