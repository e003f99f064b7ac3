// Performs: everything that a container is made of before the runtime is asked for it: images, what it finds, its
// number, its message. kubelet: generateContainerConfig

import { newestContainer } from "../api/pod/newest-observed.ts";
import type { Pod } from "../api/v1/pod.ts";
import type { ContainerConfigInit } from "../cri/cri-client.ts";
import type { Files } from "../host/files.ts";
import type {
  ActionInput,
  ContainerDraft,
  ContainerFacts,
  ContainerImages,
  RuntimeHelper,
  EnsureImage,
  PodConfigs,
} from "./decide/action-input.ts";
import {
  type ContainerSurroundings,
  type SurroundingFacts,
  readsAddress,
} from "./run-container-options.ts";
import type { Container } from "../api/v1/container.ts";
import { highestLogAttempt } from "./observe/newest.ts";
import { volumeImages } from "./cri-config/container-mounts.ts";

export interface ContainerDraftsOptions {
  readonly files: Files;
  readonly configs: PodConfigs;
  /** The image on this node, pulled if the policy says so; rejects with Kubernetes' reasons. */
  readonly ensureImage: EnsureImage;
  readonly helper: Pick<RuntimeHelper, "mountsImages">;
  readonly surroundings: ContainerSurroundings;
}

export class ContainerDrafts {
  readonly #options: ContainerDraftsOptions;

  constructor(options: ContainerDraftsOptions) {
    this.#options = options;
  }

  /** Those of its volumes are fetched as the container's own is. */
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

  /** `wanted`: the lowest attempt that is free as far as the runtime tells. Throws AgentError `CreateContainerConfigError`. */
  async make(
    { container, attempt: wanted }: Pick<ContainerDraft, "container" | "attempt">,
    images: ContainerImages,
    input: ActionInput,
  ): Promise<ContainerDraft> {
    // An image may have taken its time.
    input.signal.throwIfAborted();
    const found = await this.#options.surroundings.gather(container, input);
    const attempt = this.#freeAttempt(container.name, wanted, input);
    const config = this.#config({ container, attempt, input }, { ...images, ...found.facts });
    const { said, needsAddress } = found;
    return { container, attempt, config, said, needsAddress };
  }

  /** Also makes the log directory: the runtime does not. */
  #freeAttempt(name: string, wanted: number, input: ActionInput): number {
    const { configs, files } = this.#options;
    const directory = configs.containerLogDirectory(input.desired, name);
    files.makeDirectory(directory, 0o755);
    const reserved = input.reserved.containers.get(name) ?? 0;
    if (newestContainer(input.observed, name) !== undefined) return Math.max(wanted, reserved);
    return Math.max(wanted, reserved, highestLogAttempt(files.list(directory)) + 1);
  }

  #config(
    { container, attempt, input }: { container: Container; attempt: number; input: ActionInput },
    found: SurroundingFacts & Pick<ContainerFacts, "image" | "imageVolumes">,
  ): ContainerConfigInit {
    const { configs, files } = this.#options;
    const { desired, volumes } = input;
    const terminationLog = configs.terminationLog(desired, container.name, attempt);
    const facts = { attempt, volumes, terminationLog, ...found };
    const config = configs.container(desired, container, facts);
    // Whoever the container runs as may write its last words.
    files.makeDirectory(terminationLog.slice(0, terminationLog.lastIndexOf("/")), 0o755);
    files.writeEmpty(terminationLog, 0o666);
    return config;
  }
}

/**
 * Whether it can be drafted before there is a sandbox. What somebody on the host may exchange meanwhile, a path or a part
 * of a volume, is looked at right before the runtime is asked.
 */
export function canBeDraftedEarly(container: Container, { spec }: Pod): boolean {
  const isExchangeable = spec.volumes.some((volume) => "hostPath" in volume);
  const hasParts = container.volumeMounts.some(
    ({ subPath = "", subPathExpr = "" }) => subPath !== "" || subPathExpr !== "",
  );
  return !isExchangeable && !hasParts && (spec.hostNetwork || !readsAddress(container));
}
