// Brings one container of a pod to life: image, surroundings, number, record for its last words, create, start, postStart.
// kubelet: startContainer

import { containerEvent, type RecordEvent, type Said } from "../api/events.ts";
import { allContainers, podName, type Container } from "../api/pod.ts";
import type { ContainerConfigInit, CriClient } from "../cri/cri-client.ts";
import { isNameReserved } from "../cri/cri-error.ts";
import type { Files } from "../host/files.ts";
import { AgentError, messageOf, reasonOf, type Reason } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { Limiter } from "../lib/limiter.ts";
import { asWritten } from "./expansion.ts";
import type { LifecycleRunner } from "./lifecycle.ts";
import { highestLogAttempt } from "./log-attempts.ts";
import { volumeImages } from "./volume-images.ts";
import { newestContainer } from "../api/newest-observed.ts";
import type {
  ActionInput,
  ContainerFacts,
  ContainerWorld,
  EnsureImage,
  LocalImage,
  PodConfigs,
  SandboxRef,
} from "./action-input.ts";
import type { ContainerSurroundings, SurroundingFacts } from "./container-surroundings.ts";

export interface ContainerStarterOptions {
  readonly cri: CriClient;
  readonly files: Files;
  readonly log: Logger;
  readonly configs: PodConfigs;
  /** The image on this node, pulled if the policy says so; rejects with Kubernetes' reasons. */
  readonly ensureImage: EnsureImage;
  /** How many creating calls the runtime gets at once: more would only queue inside it. */
  readonly creating: Limiter;
  readonly lifecycle: LifecycleRunner;
  readonly world: Pick<ContainerWorld, "mountsImages">;
  readonly surroundings: ContainerSurroundings;
  readonly record: RecordEvent;
}

export interface ContainerStart {
  readonly name: string;
  /** The lowest attempt that is free as far as the runtime tells. */
  readonly attempt: number;
}

interface Birth {
  readonly container: Container;
  readonly attempt: number;
  readonly sandbox: SandboxRef;
  readonly input: ActionInput;
  /** Before it, the container may not start. */
  readonly settled: Promise<void>;
}

export class ContainerStarter {
  readonly #options: ContainerStarterOptions;

  constructor(options: ContainerStarterOptions) {
    this.#options = options;
  }

  /** Resolves when the container runs and its postStart hook has ended well. */
  async start({ name, attempt: wanted }: ContainerStart, input: ActionInput): Promise<void> {
    const { desired, sandbox } = input;
    const container = allContainers(desired.pod.spec).find((one) => one.name === name);
    if (container === undefined || sandbox === undefined) return;
    const image = await (input.images.get(name) ??
      this.#options.ensureImage(desired.pod, container, input.signal));
    const imageVolumes = await this.#imageVolumes(container, input);
    try {
      const { facts, settled } = await this.#options.surroundings.gather({
        container,
        sandbox,
        input,
      });
      const attempt = this.#freeAttempt(name, wanted, input);
      const birth = { container, attempt, sandbox, input, settled };
      const config = this.#config(birth, image, { ...facts, imageVolumes });
      const id = await this.#options.creating.run(() => this.#create(config, birth));
      await this.#postStart(id, birth);
    } catch (error) {
      const isNews = !input.signal.aborted && !SPOKEN.includes(reasonOf(error, ""));
      const message = `Error: ${messageOf(error)}`;
      if (isNews) this.#say({ container, input }, { type: "Warning", reason: "Failed", message });
      throw error;
    }
  }

  /** Their images are fetched as the container's own is. */
  async #imageVolumes(
    container: Container,
    { desired: { pod }, signal }: ActionInput,
  ): Promise<ReadonlyMap<string, string>> {
    const { ensureImage, world } = this.#options;
    const refs = new Map<string, string>();
    if (!world.mountsImages()) return refs;
    for (const [volume, wanted] of volumeImages(pod, container))
      refs.set(volume, (await ensureImage(pod, wanted, signal)).ref);
    return refs;
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
    { container, attempt, input }: Birth,
    image: LocalImage,
    found: SurroundingFacts & Pick<ContainerFacts, "imageVolumes">,
  ): ContainerConfigInit {
    const { configs, files } = this.#options;
    const terminationLog = configs.terminationLog(input.desired, container.name, attempt);
    const { volumes } = input;
    const config = configs.container(input.desired, container, {
      attempt,
      image,
      volumes,
      terminationLog,
      ...found,
    });
    // Whoever the container runs as may write its last words.
    files.makeDirectory(terminationLog.slice(0, terminationLog.lastIndexOf("/")), 0o755);
    files.writeEmpty(terminationLog, 0o666);
    return config;
  }

  async #create(config: ContainerConfigInit, birth: Birth): Promise<string> {
    try {
      return await this.#createAndStart(config, birth);
    } catch (error) {
      throw withoutValues(error, birth.container, config);
    }
  }

  async #createAndStart(config: ContainerConfigInit, birth: Birth): Promise<string> {
    const { signal } = birth.input;
    signal.throwIfAborted();
    const id = await this.#createContainer(config, birth);
    const { name } = birth.container;
    const message = `Created container: ${name}`;
    this.#say(birth, { type: "Normal", reason: "Created", message });
    await birth.settled;
    signal.throwIfAborted();
    await this.#options.cri.startContainer(id).catch((error: unknown) => {
      throw inWords("RunContainerError", error);
    });
    this.#say(birth, { type: "Normal", reason: "Started", message: `Started container ${name}` });
    return id;
  }

  async #createContainer(config: ContainerConfigInit, birth: Birth): Promise<string> {
    const { cri, configs } = this.#options;
    const { container, attempt, sandbox, input } = birth;
    const sandboxConfig = sandbox.config ?? configs.sandbox(input.desired, sandbox);
    try {
      return await cri.createContainer({ sandboxId: sandbox.id, config, sandboxConfig });
    } catch (error) {
      if (isNameReserved(error)) {
        input.reserved.containers.set(container.name, attempt + 1);
        throw inWords("NameReserved", error);
      }
      throw inWords("CreateContainerError", error);
    }
  }

  /** A container whose hook failed shall not run half prepared: the next decision ends it. */
  async #postStart(id: string, birth: Birth): Promise<void> {
    const { container, input } = birth;
    const hook = container.lifecycle.postStart;
    if (hook === undefined) return;
    input.onHook();
    try {
      const podIP = hook.type === "httpGet" ? await this.#address(birth) : undefined;
      const target = { containerId: id, podIP, ports: container.ports };
      await this.#options.lifecycle.run(hook, target, { signal: input.signal });
    } catch (error) {
      if (!input.signal.aborted) {
        // What the hook printed may hold secrets: it stays on the node.
        const pod = podName(input.desired.pod);
        const facts = { pod, container: container.name, error: messageOf(error) };
        this.#options.log.warn("postStart hook failed", facts);
        const message = "PostStartHook failed";
        this.#say(birth, { type: "Warning", reason: "FailedPostStartHook", message });
        input.onHookFailed(id);
      }
      const message = "PostStartHook failed";
      throw new AgentError({ reason: "PostStartHookError", message, cause: error });
    }
  }

  async #address({ sandbox, input }: Birth): Promise<string | undefined> {
    if (input.desired.pod.spec.hostNetwork) return "127.0.0.1";
    return (await sandbox.ips())[0];
  }

  #say({ container, input }: Pick<Birth, "container" | "input">, said: Said): void {
    this.#options.record(containerEvent(input.desired.pod, container.name, said));
  }
}

/** Failures that have their own event, or are nobody's. */
const SPOKEN: readonly Reason[] = ["NameReserved", "PostStartHookError"];

function inWords(reason: Reason, cause: unknown): AgentError {
  return new AgentError({ reason, message: messageOf(cause), cause });
}

/** Runtimes quote the words that they cannot run; what the environment put into them may be secret. */
function withoutValues(
  error: unknown,
  { command, args }: Container,
  config: ContainerConfigInit,
): unknown {
  if (!(error instanceof AgentError)) return error;
  const expanded = [...(config.command ?? []), ...(config.args ?? [])];
  const words = [...command, ...args].map((written, index) => {
    return { written, expanded: expanded[index] ?? written };
  });
  const message = asWritten(error.message, words);
  return message === error.message ? error : new AgentError({ reason: error.reason, message });
}
