// A container of which CRI says "not running" while containerd has a task for it can be removed all the same.

import { afterAll, expect } from "bun:test";
import { join } from "node:path";

import { strayTaskClient } from "../../src/containerd/remove-stray-task.ts";
import { grpcCriClient, type GrpcCriClient } from "../../src/cri/cri-client.ts";
import { ContainerState } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import { GrpcChannel } from "../../src/cri/grpc-connection.ts";
import { systemClock } from "../../src/lib/system-clock.ts";
import { eventually } from "../harness/eventually.ts";
import { PAUSE } from "../harness/images.ts";
import { listContainers, listTasks } from "../harness/containerd-lists.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open({ sandboxImage: PAUSE.name });
afterAll(() => stage.close());

interface Pod {
  readonly sandboxId: string;
  readonly id: string;
}

/** A sandbox and a container in it that was never started. */
async function created(cri: GrpcCriClient, name: string): Promise<Pod> {
  const sandboxConfig = {
    metadata: { name, uid: name, namespace: "stray", attempt: 0 },
    logDirectory: join(stage.temp.path, name),
    linux: { cgroupParent: stage.containerd.cgroupRoot },
  };
  const sandboxId = await cri.runPodSandbox({ config: sandboxConfig });
  const config = {
    metadata: { name: "main", attempt: 0 },
    image: { image: "local/busybox:1" },
    command: ["sleep", "100000"],
    logPath: "main.log",
    linux: {},
  };
  return { sandboxId, id: await cri.createContainer({ sandboxId, sandboxConfig, config }) };
}

async function taskOf(id: string): Promise<string | undefined> {
  return (await listTasks(stage.containerd)).find((task) => task.id === id)?.status;
}

/** Starts it where CRI does not see it. */
async function startBehindCri(id: string): Promise<void> {
  await stage.containerd.ctr("tasks", "start", "--detach", "--null-io", id);
}

function clients(): DisposableStack & { plain: GrpcCriClient; cri: GrpcCriClient } {
  const clock = systemClock();
  const { endpoint } = stage.containerd;
  const stack = new DisposableStack();
  const channel = stack.use(new GrpcChannel({ endpoint, clock }));
  const plain = stack.use(grpcCriClient({ endpoint, clock }));
  const cri = stack.use(strayTaskClient({ endpoint, clock, channel }));
  return Object.assign(stack, { plain, cri });
}

async function names(): Promise<readonly string[]> {
  return (await listContainers(stage.containerd)).map(({ id }) => id);
}

stage.test(
  "a container with a task that CRI does not see is removed, the others live on",
  async () => {
    using both = clients();
    const { plain, cri } = both;
    const pod = await created(cri, "container");
    const other = await created(cri, "other");
    await cri.startContainer(other.id);
    await startBehindCri(pod.id);
    const { status } = await cri.containerStatus(pod.id);
    expect(status?.state).toBe(ContainerState.CONTAINER_CREATED);
    expect(plain.removeContainer(pod.id)).rejects.toThrow("cannot delete running task");

    // Whoever calls it tries again: an end takes a moment.
    const remove = async (): Promise<boolean> => cri.removeContainer(pod.id).then(() => true);
    await eventually("the container is removed", remove);
    expect(await taskOf(pod.id)).toBeUndefined();
    expect(await names()).not.toContain(pod.id);
    expect(await taskOf(other.id)).toBe("RUNNING");
  },
);

stage.test("a sandbox with such a container is removed", async () => {
  using both = clients();
  const { plain, cri } = both;
  const pod = await created(cri, "sandbox");
  await startBehindCri(pod.id);
  await cri.stopPodSandbox(pod.sandboxId);
  expect(plain.removePodSandbox(pod.sandboxId)).rejects.toThrow("cannot delete running task");
  const remove = async (): Promise<boolean> => cri.removePodSandbox(pod.sandboxId).then(() => true);
  await eventually("the sandbox is removed", remove);
  expect(await names()).not.toContain(pod.id);
  expect(await names()).not.toContain(pod.sandboxId);
});

stage.test(
  "a start that is cut off at any moment leaves nothing that cannot be removed",
  async () => {
    using both = clients();
    const { cri } = both;
    const reasons: string[] = [];
    for (let cut = 0; cut < 40; cut += 1) {
      const pod = await created(cri, `cut-${cut}`);
      const signal = AbortSignal.timeout(44 + cut / 2);
      await cri.startContainer(pod.id, { signal }).catch(() => undefined);
      await cri.stopPodSandbox(pod.sandboxId);
      const { status } = await cri.containerStatus(pod.id);
      const task = await taskOf(pod.id);
      reasons.push(`${status?.reason ?? ""} ${task ?? ""}`.trim());
      // "in starting state" until containerd has given the start up.
      const remove = async (): Promise<boolean> =>
        cri.removePodSandbox(pod.sandboxId).then(() => true);
      await eventually(`sandbox ${cut} is removed`, remove, { timeout: 60_000 });
      expect(await taskOf(pod.id)).toBeUndefined();
    }
    console.log(`cut-off starts ended as: ${[...new Set(reasons)].toSorted().join(", ")}`);
  },
  180_000,
);
