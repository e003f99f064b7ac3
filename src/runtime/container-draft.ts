// Performs: prepares a container up to the CreateContainer call: images, environment and mounts, attempt number,
// termination log. kubelet: generateContainerConfig

import { newestContainer } from "../api/pod/observed-pod.ts";
import type { Pod } from "../api/v1/pod.ts";
import type { ContainerConfigInit } from "../cri/cri-client.ts";
import type { Edges } from "../edges.ts";
import type {
  ActionInput,
  ContainerDraft,
  ContainerFacts,
  ContainerImages,
  EnsureImage,
} from "./decide/action-input.ts";
import type { RuntimeHelper } from "./runtime-helper.ts";
import type { PodConfigs } from "./pod-configs.ts";
import {
  type RunOptionsGenerator,
  type RunContainerFacts,
  readsAddress,
} from "./run-container-options.ts";
import type { Container } from "../api/v1/container.ts";
import { highestLogAttempt } from "./observe/newest.ts";
import { volumeImages } from "./cri-config/container-mounts.ts";

export interface ContainerDraftsOptions extends Pick<Edges, "files"> {
  readonly configs: PodConfigs;
  /** Pulls if the policy requires it; rejects with Kubernetes' reasons. */
  readonly ensureImage: EnsureImage;
  readonly helper: Pick<RuntimeHelper, "mountsImages">;
  readonly runOptions: RunOptionsGenerator;
}

export class ContainerDrafts {
  readonly #options: ContainerDraftsOptions;

  constructor(options: ContainerDraftsOptions) {
    this.#options = options;
  }

  /** Images of volumes are fetched like the container's own. */
  async images(container: Container, input: ActionInput): Promise<ContainerImages> {
    const { ensureImage, helper } = this.#options;
    const { desired, signal } = input;
    const { pod } = desired;
    const image = await (input.images.get(container.name) ?? ensureImage(pod, container, signal));
    const imageVolumes = new Map<string, string>();
    if (helper.mountsImages())
      for (const [volume, wanted] of volumeImages(pod, container))
        imageVolumes.set(volume, (await ensureImage(pod, wanted, signal)).ref);
    return { image, imageVolumes };
  }

  /** `attempt`: the lowest that is free in the runtime's lists. Throws AgentError `CreateContainerConfigError`. */
  async make(
    { container, attempt: wanted }: Pick<ContainerDraft, "container" | "attempt">,
    images: ContainerImages,
    input: ActionInput,
  ): Promise<ContainerDraft> {
    // Fetching the image may have taken long.
    input.signal.throwIfAborted();
    const { facts, events, needsAddress } = await this.#options.runOptions.generate(
      container,
      input,
    );
    const attempt = this.#freeAttempt(container.name, wanted, input);
    const config = this.#config({ container, attempt, input }, { ...images, ...facts });
    return { container, attempt, config, events, needsAddress };
  }

  /**
   * Also creates the log directory, which the runtime does not; after the pod's own directory, by which housekeeping finds
   * the logs of a pod that went while no agent saw it.
   */
  #freeAttempt(name: string, wanted: number, input: ActionInput): number {
    const { configs, files } = this.#options;
    const { desired } = input;
    const directory = configs.containerLogDirectory(desired, name);
    const terminationLog = configs.terminationLog(desired, name, wanted);
    files.makeDirectory(terminationLog.slice(0, terminationLog.lastIndexOf("/")), 0o755);
    files.makeDirectory(directory, 0o755);
    const reserved = input.reserved.containers.get(name) ?? 0;
    if (newestContainer(input.observed, name) !== undefined) return Math.max(wanted, reserved);
    return Math.max(wanted, reserved, highestLogAttempt(files.list(directory)) + 1);
  }

  #config(
    { container, attempt, input }: { container: Container; attempt: number; input: ActionInput },
    own: RunContainerFacts & Pick<ContainerFacts, "image" | "imageVolumes">,
  ): ContainerConfigInit {
    const { configs, files } = this.#options;
    const { desired, volumes, podRestarts = 0 } = input;
    const terminationLog = configs.terminationLog(desired, container.name, attempt);
    const facts = { attempt, podRestarts, volumes, terminationLog, ...own };
    const config = configs.container(desired, container, facts);
    // Any user of the container may write its termination message.
    files.writeLazily(terminationLog, "", 0o666);
    return config;
  }
}

/**
 * Whether it can be drafted before the sandbox exists. Paths that a process on the host may exchange meanwhile, hostPath
 * volumes and parts of volumes, are checked right before the runtime is called.
 */
export function canBeDraftedEarly(container: Container, { spec }: Pod): boolean {
  const isExchangeable = spec.volumes.some((volume) => "hostPath" in volume);
  const hasParts = container.volumeMounts.some(
    ({ subPath = "", subPathExpr = "" }) => subPath !== "" || subPathExpr !== "",
  );
  return !isExchangeable && !hasParts && (spec.hostNetwork || !readsAddress(container));
}
