// Performs: A CRI client that gets rid of containers which containerd itself cannot remove.  A StartContainer whose
// caller dies at the wrong moment ends, in containerd 1.6, as "StartError" for CRI while its task stays: made, never
// started, seen by nobody. From then on RemoveContainer and RemovePodSandbox answer "cannot delete running task", for
// ever (measured: a start cut off 50 ms after its call, in 2 of 80). The task has to go by containerd's own service.

import type { CallOptions } from "../cri/cri-client.ts";
import { CriError, GrpcCode } from "../cri/cri-error.ts";
import { GrpcCriClient, type GrpcCriClientOptions } from "../cri/client.ts";
import { ContainerState } from "../cri/gen/runtime/v1/api_pb.ts";
import type { GrpcChannel } from "../cri/grpc.ts";
import { Tasks } from "./gen/containerd/services/tasks/v1/tasks_pb.ts";
import { CRI_NAMESPACE_HEADERS } from "./namespace.ts";

const SIGKILL = 9;
const CALL_MS = 10_000;

export interface StrayTaskClientOptions extends GrpcCriClientOptions {
  /** To the same containerd; another runtime refuses its calls, and nothing is done. */
  readonly channel: GrpcChannel;
}

export class StrayTaskClient extends GrpcCriClient {
  readonly #channel: GrpcChannel;

  /** Throws AgentError `InvalidEndpoint`. */
  constructor({ channel, ...options }: StrayTaskClientOptions) {
    super(options);
    this.#channel = channel;
  }

  override async removeContainer(id: string, options?: CallOptions): Promise<void> {
    try {
      await super.removeContainer(id, options);
    } catch (refusal) {
      if (!isBlocked(refusal)) throw refusal;
      await this.#end([id], refusal);
      await super.removeContainer(id, options);
    }
  }

  override async removePodSandbox(id: string, options?: CallOptions): Promise<void> {
    try {
      await super.removePodSandbox(id, options);
    } catch (refusal) {
      if (!isBlocked(refusal)) throw refusal;
      const containers = await this.listContainers({ podSandboxId: id }, options);
      const dead = containers.filter(({ state }) => state !== ContainerState.CONTAINER_RUNNING);
      await this.#end(
        dead.map((container) => container.id),
        refusal,
      );
      await super.removePodSandbox(id, options);
    }
  }

  /** Of containers that are to be removed, so whatever still runs of them is not wanted. Throws `refusal` where there is none. */
  async #end(ids: readonly string[], refusal: CriError): Promise<void> {
    const ended = await Promise.all(ids.map((id) => this.#endTask(id)));
    if (!ended.includes(true)) throw refusal;
  }

  async #endTask(containerId: string): Promise<boolean> {
    const settings = { timeoutMs: CALL_MS, headers: CRI_NAMESPACE_HEADERS };
    const kill = { containerId, signal: SIGKILL, all: true };
    try {
      await this.#channel.unary(Tasks.method.kill, kill, settings).catch(() => undefined);
      await this.#channel.unary(Tasks.method.delete, { containerId }, settings);
      return true;
    } catch {
      // No task; one whose end takes a moment; or no containerd: the refusal stands, and the caller comes again.
      return false;
    }
  }
}

function isBlocked(thrown: unknown): thrown is CriError {
  return thrown instanceof CriError && thrown.code === GrpcCode.FAILED_PRECONDITION;
}
