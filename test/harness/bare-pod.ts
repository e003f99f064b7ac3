// Runs a pod with bare CRI calls: somebody else's pod for the tests, and the yardstick for the bench.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type { CriClient, PodSandboxConfigInit } from "../../src/cri/cri-client.ts";

export interface BarePodOptions {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly logDirectory: string;
  readonly cgroupParent?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly hostPort?: { readonly host: number; readonly container: number };
  /** Host path → path in the container, writable. */
  readonly mounts?: Readonly<Record<string, string>>;
}

export interface BarePod {
  readonly sandboxId: string;
  readonly containerId: string;
  readonly ip: string;
}

/** RunPodSandbox, CreateContainer, StartContainer. */
export async function runBarePod(cri: CriClient, options: BarePodOptions): Promise<BarePod> {
  const { name } = options;
  const labels = { ...options.labels };
  const directory = join(options.logDirectory, name);
  mkdirSync(directory, { recursive: true });
  const config: PodSandboxConfigInit = {
    metadata: { name, uid: `${name}-uid`, namespace: "bare", attempt: 0 },
    hostname: name,
    logDirectory: directory,
    labels,
    portMappings:
      options.hostPort === undefined
        ? []
        : [{ hostPort: options.hostPort.host, containerPort: options.hostPort.container }],
    linux: { cgroupParent: options.cgroupParent ?? "" },
  };
  const sandboxId = await cri.runPodSandbox({ config });
  const containerId = await cri.createContainer({
    sandboxId,
    sandboxConfig: config,
    config: {
      metadata: { name: "main", attempt: 0 },
      image: { image: options.image },
      command: [...options.command],
      logPath: "main/0.log",
      labels,
      mounts: Object.entries(options.mounts ?? {}).map(([hostPath, containerPath]) => ({
        hostPath,
        containerPath,
      })),
    },
  });
  mkdirSync(join(directory, "main"), { recursive: true });
  await cri.startContainer(containerId);
  const { status } = await cri.podSandboxStatus(sandboxId);
  return { sandboxId, containerId, ip: status?.network?.ip ?? "" };
}

/** StopPodSandbox, RemovePodSandbox. */
export async function removeBarePod(cri: CriClient, pod: BarePod): Promise<void> {
  await cri.stopPodSandbox(pod.sandboxId);
  await cri.removePodSandbox(pod.sandboxId);
}
