// The yardstick: the CRI calls that a pod cannot do without, and nothing else.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type {
  ContainerConfigInit,
  CriClient,
  PodSandboxConfigInit,
} from "../../src/cri/cri-client.ts";

/** What every pod of the bench runs: ends at once on TERM. */
export const COMMAND = [
  "sh",
  "-c",
  "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done",
] as const;

export interface BareOptions {
  readonly image: string;
  readonly logDirectory: string;
  readonly cgroupParent: string;
}

export interface BarePod {
  readonly config: PodSandboxConfigInit;
  readonly sandboxId: string;
  readonly containerId: string;
}

/** What a container gets beside its image. */
export interface BareContainer {
  readonly command?: readonly string[];
  readonly envs?: ContainerConfigInit["envs"];
  readonly mounts?: ContainerConfigInit["mounts"];
  readonly securityContext?: NonNullable<ContainerConfigInit["linux"]>["securityContext"];
}

interface BareStart {
  readonly attempt: number;
  readonly container: BareContainer;
}

export class BareCalls {
  readonly #cri: CriClient;
  readonly #options: BareOptions;
  #made = 0;

  constructor(cri: CriClient, options: BareOptions) {
    this.#cri = cri;
    this.#options = options;
  }

  /** Directories are made here, so that no call is timed with them. */
  prepare(count: number): readonly PodSandboxConfigInit[] {
    return Array.from({ length: count }, () => this.#sandboxConfig(`bare-${(this.#made += 1)}`));
  }

  /** RunPodSandbox, CreateContainer, StartContainer. */
  async run(config: PodSandboxConfigInit, container: BareContainer = {}): Promise<BarePod> {
    const sandboxId = await this.#cri.runPodSandbox({ config });
    const containerId = await this.#start(sandboxId, config, { attempt: 0, container });
    return { config, sandboxId, containerId };
  }

  /** The pod's address. */
  async address(sandboxId: string): Promise<string> {
    const { status } = await this.#cri.podSandboxStatus(sandboxId);
    return status?.network?.ip ?? "";
  }

  /** CreateContainer, StartContainer. */
  async startContainer(
    sandboxId: string,
    sandboxConfig: PodSandboxConfigInit,
    attempt: number,
  ): Promise<string> {
    return this.#start(sandboxId, sandboxConfig, { attempt, container: {} });
  }

  async #start(
    sandboxId: string,
    sandboxConfig: PodSandboxConfigInit,
    start: BareStart,
  ): Promise<string> {
    const config = this.#containerConfig(start);
    const id = await this.#cri.createContainer({ sandboxId, sandboxConfig, config });
    await this.#cri.startContainer(id);
    return id;
  }

  /** StopPodSandbox, RemovePodSandbox. */
  async remove(sandboxId: string): Promise<void> {
    await this.#cri.stopPodSandbox(sandboxId);
    await this.#cri.removePodSandbox(sandboxId);
  }

  #sandboxConfig(name: string): PodSandboxConfigInit {
    const logDirectory = join(this.#options.logDirectory, name);
    mkdirSync(join(logDirectory, "main"), { recursive: true });
    return {
      metadata: { name, uid: `${name}-uid`, namespace: "bare", attempt: 0 },
      hostname: name,
      logDirectory,
      labels: {
        "io.kubernetes.pod.name": name,
        "io.kubernetes.pod.namespace": "bare",
        "io.kubernetes.pod.uid": `${name}-uid`,
      },
      linux: { cgroupParent: this.#options.cgroupParent },
    };
  }

  #containerConfig({ attempt, container }: BareStart): ContainerConfigInit {
    const { command = COMMAND, envs = [], mounts = [], securityContext } = container;
    return {
      metadata: { name: "main", attempt },
      image: { image: this.#options.image },
      command: [...command],
      envs,
      mounts,
      logPath: `main/${attempt}.log`,
      labels: { "io.kubernetes.container.name": "main" },
      linux: {
        resources: { cpuShares: 2n },
        ...(securityContext === undefined ? {} : { securityContext }),
      },
    };
  }
}

/** `work` on every item, at most `width` at a time. */
export async function atMost<T, R>(
  width: number,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}
