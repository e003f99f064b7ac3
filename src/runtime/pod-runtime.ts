// Performs single actions on one pod in the runtime; decides nothing. kubelet: kuberuntime manager

import type { DesiredPod } from "../api/desired-pod.ts";
import type { ObservedPod } from "../api/observed-pod.ts";
import { podName, type Container } from "../api/pod.ts";
import type { ContainerConfigInit, CriClient, PodSandboxConfigInit } from "../cri/cri-client.ts";
import { isNameReserved, isNetworkNotReady, isNotFound } from "../cri/cri-error.ts";
import { ContainerState } from "../cri/gen/runtime/v1/api_pb.ts";
import type { Files } from "../host/files.ts";
import { AgentError, messageOf, type Reason } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { Limiter } from "../lib/limiter.ts";
import { newestContainer, type PodAction } from "./actions.ts";
import { highestLogAttempt } from "./log-attempts.ts";

/** How a pod becomes CRI's messages; the pure functions of this room with the node's facts filled in. */
export interface PodConfigs {
  sandbox(desired: DesiredPod, attempt: number): PodSandboxConfigInit;
  container(desired: DesiredPod, container: Container, facts: ContainerFacts): ContainerConfigInit;
  /** Directory of one container's logs. */
  containerLogDirectory(desired: DesiredPod, container: string): string;
}

export interface ContainerFacts {
  readonly attempt: number;
  /** What the runtime calls the pulled image. */
  readonly imageRef: string;
  /** Volume name → path on the host. */
  readonly volumes: ReadonlyMap<string, string>;
}

export interface PodRuntimeOptions {
  readonly cri: CriClient;
  readonly files: Files;
  readonly log: Logger;
  readonly configs: PodConfigs;
  /** The image on this node, pulled if the policy says so; rejects with Kubernetes' reasons. */
  readonly ensureImage: (container: Container, signal: AbortSignal) => Promise<string>;
  /** How many creating calls the runtime gets at once: more would only queue inside it. */
  readonly creating: Limiter;
}

export interface SandboxRef {
  readonly id: string;
  readonly attempt: number;
  /** What it was made from, where this process made it. */
  readonly config?: PodSandboxConfigInit;
}

/** Container name → what the runtime calls its image, as soon as it is here. */
export type ImageRefs = ReadonlyMap<string, Promise<string>>;

/** What an action needs beside itself. */
export interface ActionInput {
  readonly desired: DesiredPod;
  readonly observed: ObservedPod | undefined;
  readonly sandbox: SandboxRef | undefined;
  readonly volumes: ReadonlyMap<string, string>;
  /** By container, where fetching has begun already. */
  readonly images: ImageRefs;
  /** Lowest attempts that no unanswered call can have taken; raised here when a name turns out reserved. */
  readonly reserved: ReservedAttempts;
  /** Ends waiting and pulling; never a call that changes something. */
  readonly signal: AbortSignal;
}

export interface ReservedAttempts {
  sandbox: number;
  readonly containers: Map<string, number>;
}

export class PodRuntime {
  readonly #options: PodRuntimeOptions;

  constructor(options: PodRuntimeOptions) {
    this.#options = options;
  }

  /** Performs one action; a new sandbox is the answer. Rejects with AgentError in Kubernetes' words. */
  async perform(action: PodAction, input: ActionInput): Promise<SandboxRef | undefined> {
    const { cri, log } = this.#options;
    const { type, ...facts } = action;
    if (type !== "Wait") log.info(type, { pod: podName(input.desired.pod), ...facts });
    switch (action.type) {
      case "StopSandbox":
        return ignoreAnswer(cri.stopPodSandbox(action.id));
      case "CreateSandbox":
        return this.#createSandbox(action.attempt, input);
      case "KillContainer":
        return ignoreAnswer(cri.stopContainer(action.id, graceOf(input)));
      case "RemoveContainer":
        return this.#removeUnstarted(action.id);
      case "StartContainer":
        return this.#startContainer(action.container, action.attempt, input);
      case "Wait":
        return undefined;
    }
  }

  /** Begins to fetch the images of all containers that will start in a sandbox yet to be made. */
  fetchImages(actions: readonly PodAction[], desired: DesiredPod, signal: AbortSignal): ImageRefs {
    if (!actions.some(({ type }) => type === "CreateSandbox")) return new Map();
    const starts = actions.filter((action) => action.type === "StartContainer");
    const names = new Set(starts.map(({ container }) => container));
    return new Map(
      desired.pod.spec.containers
        .filter(({ name }) => names.has(name))
        .map((container) => {
          const image = this.#options.ensureImage(container, signal);
          // Whoever starts the container learns of a failure; it may never come to that.
          image.catch(() => undefined);
          return [container.name, image];
        }),
    );
  }

  /** A start whose answer was lost may have come true since the decision: then it is left to the next one. */
  async #removeUnstarted(id: string): Promise<undefined> {
    const { cri } = this.#options;
    const state = await stateOf(cri, id);
    if (state === undefined) return;
    if (state !== ContainerState.CONTAINER_CREATED)
      throw new AgentError({
        reason: "SyncError",
        message: `container ${id} was started after all`,
      });
    await cri.removeContainer(id);
  }

  async #createSandbox(wanted: number, input: ActionInput): Promise<SandboxRef> {
    const { cri, configs, creating } = this.#options;
    const attempt = Math.max(wanted, input.reserved.sandbox);
    const config = configs.sandbox(input.desired, attempt);
    try {
      const id = await creating.run(() => {
        // The queue may have taken longer than the wish for this pod.
        input.signal.throwIfAborted();
        return cri.runPodSandbox({ config });
      });
      return { id, attempt, config };
    } catch (error) {
      if (isNameReserved(error)) {
        input.reserved.sandbox = attempt + 1;
        throw inWords("NameReserved", error);
      }
      throw inWords(isNetworkNotReady(error) ? "NetworkNotReady" : "CreatePodSandboxError", error);
    }
  }

  async #startContainer(name: string, wanted: number, input: ActionInput): Promise<undefined> {
    const { desired, sandbox, volumes } = input;
    const container = desired.pod.spec.containers.find((one) => one.name === name);
    if (container === undefined || sandbox === undefined) return;
    const imageRef = await (input.images.get(name) ??
      this.#options.ensureImage(container, input.signal));
    const attempt = this.#freeAttempt(name, wanted, input);
    const config = this.#options.configs.container(desired, container, {
      attempt,
      imageRef,
      volumes,
    });
    await this.#options.creating.run(async () => {
      input.signal.throwIfAborted();
      const id = await this.#createContainer(config, sandbox, { name, attempt, input });
      input.signal.throwIfAborted();
      await this.#options.cri.startContainer(id).catch((error: unknown) => {
        throw inWords("RunContainerError", error);
      });
    });
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

  async #createContainer(
    config: ContainerConfigInit,
    sandbox: SandboxRef,
    { name, attempt, input }: { name: string; attempt: number; input: ActionInput },
  ): Promise<string> {
    const { cri, configs } = this.#options;
    const sandboxConfig = sandbox.config ?? configs.sandbox(input.desired, sandbox.attempt);
    try {
      return await cri.createContainer({ sandboxId: sandbox.id, config, sandboxConfig });
    } catch (error) {
      if (isNameReserved(error)) {
        input.reserved.containers.set(name, attempt + 1);
        throw inWords("NameReserved", error);
      }
      throw inWords("CreateContainerError", error);
    }
  }
}

/** undefined = it is not there. */
async function stateOf(cri: CriClient, id: string): Promise<ContainerState | undefined> {
  try {
    return (await cri.containerStatus(id)).status?.state;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function graceOf(input: ActionInput): number {
  return input.desired.pod.spec.terminationGracePeriodSeconds;
}

async function ignoreAnswer(call: Promise<void>): Promise<undefined> {
  await call;
  return undefined;
}

function inWords(reason: Reason, cause: unknown): AgentError {
  return new AgentError({ reason, message: messageOf(cause), cause });
}
