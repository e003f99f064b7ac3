// Performs: a CRI client that also removes containers which containerd itself cannot remove. If the caller of
// StartContainer dies at the wrong moment, containerd 1.6 reports "StartError" over CRI while the container's task stays:
// created, never started, invisible to CRI. From then on RemoveContainer and RemovePodSandbox always fail with "cannot
// delete running task" (measured: 2 of 80 starts cut off 50 ms after the call). The task is deleted through containerd's
// own service.

import { hasCode } from "../cri/cri-error.ts";
import { grpcCriClient, type GrpcCriClient, type GrpcCriClientOptions } from "../cri/cri-client.ts";
import { ContainerState } from "../cri/gen/runtime/v1/api_pb.ts";
import type { CallOptions, GrpcChannel } from "../cri/grpc-connection.ts";
import { CRI_NAMESPACE_HEADERS } from "./containerd.ts";
import { syncedImages, type SyncImages } from "./synced-images.ts";
import { sandboxImageClient, type ImportPause } from "./sandbox-image-client.ts";
import { Tasks } from "./gen/containerd/services/tasks/v1/tasks_pb.ts";
import { GrpcCode } from "../lib/grpc-code.ts";

const SIGKILL = 9;
const CALL_MS = 10_000;

interface StrayTaskClientOptions extends GrpcCriClientOptions {
  /** To the same containerd; another runtime rejects its calls, and no task is deleted. */
  readonly channel: GrpcChannel;
  /** Absent = a sandbox whose image is missing fails. */
  readonly importPause?: ImportPause;
  /** Absent = images are on the disk when the kernel likes. */
  readonly syncImages?: SyncImages;
}

/** Throws AgentError `InvalidEndpoint`. */
export function strayTaskClient(options: StrayTaskClientOptions): GrpcCriClient {
  const { channel, importPause, syncImages } = options;
  const plain = grpcCriClient(options);
  const whole = syncImages === undefined ? plain : syncedImages(plain, syncImages);
  const cri = importPause === undefined ? whole : sandboxImageClient(whole, importPause);

  /** Tries once more after the tasks of `containers` are deleted, if the removal was refused because of a task. */
  async function remove(
    attempt: () => Promise<void>,
    containers: () => Promise<readonly string[]>,
  ): Promise<void> {
    try {
      await attempt();
    } catch (refusal) {
      if (!hasCode(refusal, GrpcCode.FAILED_PRECONDITION)) throw refusal;
      const ids = await containers();
      const deleted = await Promise.all(ids.map((id) => deleteTask(channel, id)));
      if (!deleted.includes(true)) throw refusal;
      await attempt();
    }
  }

  async function deadContainers(
    podSandboxId: string,
    callOptions?: CallOptions,
  ): Promise<readonly string[]> {
    const containers = await cri.listContainers({ podSandboxId }, callOptions);
    return containers
      .filter(({ state }) => state !== ContainerState.CONTAINER_RUNNING)
      .map(({ id }) => id);
  }

  return {
    ...cri,
    removeContainer: (id, callOptions) =>
      remove(
        () => cri.removeContainer(id, callOptions),
        () => Promise.resolve([id]),
      ),
    removePodSandbox: (id, callOptions) =>
      remove(
        () => cri.removePodSandbox(id, callOptions),
        () => deadContainers(id, callOptions),
      ),
  };
}

/** Of a container that is to be removed, so nothing of it may keep running. False = there was none, or it is still there. */
async function deleteTask(channel: GrpcChannel, containerId: string): Promise<boolean> {
  const settings = { timeoutMs: CALL_MS, headers: CRI_NAMESPACE_HEADERS };
  const kill = { containerId, signal: SIGKILL, all: true };
  try {
    await channel.unary(Tasks.method.kill, kill, settings).catch(() => undefined);
    await channel.unary(Tasks.method.delete, { containerId }, settings);
    return true;
  } catch {
    // No task, one that takes a moment to end, or no containerd: the refusal is thrown, and the caller retries.
    return false;
  }
}
