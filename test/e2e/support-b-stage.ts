// What each of these test files stands on: a private containerd with images, and agents on it that disturb nobody else.

import { afterAll, type test } from "bun:test";

import { AgentProcess, type AgentOptions } from "../harness/agent-process.ts";
import type { Broker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX_1, importImages } from "../harness/images.ts";
import {
  isUnavailable,
  startPrivateContainerd,
  type PrivateContainerd,
} from "../harness/private-containerd.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { makeTempDirectory, type TempDirectory } from "../harness/temp-directory.ts";
import { listContainers, listTasks, type ContainerFacts } from "../harness/containerd-lists.ts";
import { ContainerdWatch } from "../harness/watch-containerd.ts";

export type StageAgent = Partial<AgentOptions> & { readonly broker?: Broker };

export interface Stage {
  readonly e2e: typeof test;
  readonly temp: TempDirectory;
  /** Throws where containerd cannot run; tests are skipped there. */
  readonly containerd: () => PrivateContainerd;
  readonly watch: () => Promise<ContainerdWatch>;
  /** Directories, node name and instance are called `name`: nothing is shared with another agent. */
  readonly agent: (name: string, options?: StageAgent) => AgentProcess;
}

export async function openStage(): Promise<Stage> {
  const temp = makeTempDirectory();
  afterAll(() => temp.remove(), 180_000);
  const started = await startPrivateContainerd(temp);
  if (!isUnavailable(started)) await importImages(started, temp.directory("images"), [BUSYBOX_1]);
  const containerd = (): PrivateContainerd => {
    if (isUnavailable(started)) throw new Error(started.unavailable);
    return started;
  };
  return {
    e2e: testWhenAvailable(started),
    temp,
    containerd,
    watch: () => ContainerdWatch.start(containerd(), temp),
    agent: (name, { broker, ...options } = {}) =>
      new AgentProcess(temp, {
        endpoint: containerd().endpoint,
        cgroupRoot: containerd().cgroupRoot,
        name,
        nodeName: name,
        instance: name,
        ...(broker === undefined ? {} : { mqttUrl: broker.url }),
        ...options,
        // A broker that comes back is found again within a second.
        mqtt: { reconnectMax: "1s", ...options.mqtt },
      }),
  };
}

export interface RunningContainer {
  readonly id: string;
  /** Of the pod. */
  readonly name: string;
  readonly instance: string;
}

/** App containers whose task runs, as containerd lists them, ordered by pod and id. */
export async function runningApps(
  containerd: PrivateContainerd,
  instance?: string,
): Promise<readonly RunningContainer[]> {
  const tasks = await listTasks(containerd);
  const running = new Set(tasks.filter(({ status }) => status === "RUNNING").map(({ id }) => id));
  return (await wholeList(containerd))
    .filter(({ id, labels }) => running.has(id) && labels["io.cri-containerd.kind"] === "container")
    .map(({ id, labels }) => ({
      id,
      name: labels["io.kubernetes.pod.name"] ?? "?",
      instance: labels["agent/instance"] ?? "?",
    }))
    .filter((container) => instance === undefined || container.instance === instance)
    .toSorted((a, b) => (`${a.name} ${a.id}` < `${b.name} ${b.id}` ? -1 : 1));
}

/** Pod names of the running app containers of one agent; a pod with two of them stands there twice. */
export async function runningPods(
  containerd: PrivateContainerd,
  instance: string,
): Promise<readonly string[]> {
  return (await runningApps(containerd, instance)).map(({ name }) => name);
}

/** Ids of everything an agent has in containerd, sandboxes and dead containers included, as `pod/kind`. */
export async function everythingOf(
  containerd: PrivateContainerd,
  instance: string,
): Promise<readonly string[]> {
  return (await wholeList(containerd))
    .filter(({ labels }) => labels["agent/instance"] === instance)
    .map(
      ({ labels }) =>
        `${labels["io.kubernetes.pod.name"] ?? "?"}/${labels["io.cri-containerd.kind"] ?? "?"}`,
    )
    .toSorted();
}

/** A container may go while the list is made: then it is made again. */
async function wholeList(containerd: PrivateContainerd): Promise<readonly ContainerFacts[]> {
  return eventually("the list of containers is whole", () => listContainers(containerd));
}
