// Performs: brings one container of a pod to life, as it was drafted: create, start, postStart. kubelet: startContainer

import { type EventContent, type RecordEvent, containerEvent } from "../api/v1/events.ts";
import type { CriClient } from "../cri/cri-client.ts";
import { isNameReserved } from "../cri/cri-error.ts";
import { AgentError, messageOf, reasonOf, type Reason } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { Limiter } from "../lib/limiter.ts";
import type {
  ActionInput,
  ContainerDraft,
  EarlyStart,
  PodConfigs,
  SandboxRef,
} from "./decide/action-input.ts";
import { canBeDraftedEarly, type ContainerDrafts } from "./container-draft.ts";
import type { ContainerSurroundings } from "./run-container-options.ts";
import { asWritten } from "./cri-config/expansion.ts";
import type { LifecycleRunner } from "./lifecycle.ts";
import { podName, type Pod, allContainers } from "../api/v1/pod.ts";
import type { Container } from "../api/v1/container.ts";

export interface ContainerStarterOptions {
  readonly cri: CriClient;
  readonly log: Logger;
  readonly configs: Pick<PodConfigs, "sandbox">;
  /** How many creating calls the runtime gets at once: more would only queue inside it. */
  readonly creating: Limiter;
  readonly lifecycle: LifecycleRunner;
  readonly drafts: ContainerDrafts;
  readonly surroundings: Pick<ContainerSurroundings, "settle">;
  readonly record: RecordEvent;
}

export interface ContainerStart {
  readonly name: string;
  /** The lowest attempt that is free as far as the runtime tells. */
  readonly attempt: number;
}

interface Birth {
  readonly draft: ContainerDraft;
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
  async start({ name, attempt }: ContainerStart, input: ActionInput): Promise<void> {
    const { drafts } = this.#options;
    const { desired, sandbox } = input;
    const container = named(desired.pod, name);
    if (container === undefined || sandbox === undefined) return;
    const early = await input.early?.get(name);
    const images = await (early?.images ?? drafts.images(container, input));
    try {
      const draft = early?.draft ?? (await drafts.make({ container, attempt }, images, input));
      await this.#bear(draft, sandbox, input);
    } catch (error) {
      const isNews = !input.signal.aborted && !SPOKEN.includes(reasonOf(error, ""));
      const message = `Error: ${messageOf(error)}`;
      if (isNews) this.#say(container, input, { type: "Warning", reason: "Failed", message });
      throw error;
    }
  }

  /** Before there is a sandbox; undefined = all of it has to wait for that. Never rejects: `start` says why. */
  async begin(
    { name, attempt }: ContainerStart,
    input: ActionInput,
  ): Promise<EarlyStart | undefined> {
    const { drafts } = this.#options;
    const container = named(input.desired.pod, name);
    if (container === undefined || !canBeDraftedEarly(container, input.desired.pod))
      return undefined;
    const images = drafts.images(container, input);
    try {
      return { images, draft: await drafts.make({ container, attempt }, await images, input) };
    } catch {
      return { images, draft: undefined };
    }
  }

  async #bear(draft: ContainerDraft, sandbox: SandboxRef, input: ActionInput): Promise<void> {
    const { surroundings, creating } = this.#options;
    for (const one of draft.said) this.#say(draft.container, input, one);
    const settled = draft.needsAddress ? surroundings.settle(sandbox, input) : Promise.resolve();
    // Whoever starts the container learns of a failure; it may never come to that.
    settled.catch(() => undefined);
    const birth = { draft, sandbox, input, settled };
    const id = await creating.run(() => this.#create(birth));
    await this.#postStart(id, birth);
  }

  async #create(birth: Birth): Promise<string> {
    try {
      return await this.#createAndStart(birth);
    } catch (error) {
      throw withoutValues(error, birth.draft);
    }
  }

  async #createAndStart(birth: Birth): Promise<string> {
    const { input, draft } = birth;
    const { container } = draft;
    const { signal } = input;
    signal.throwIfAborted();
    const id = await this.#createContainer(birth);
    const { name } = container;
    const message = `Created container: ${name}`;
    this.#say(container, input, { type: "Normal", reason: "Created", message });
    await birth.settled;
    signal.throwIfAborted();
    await this.#options.cri.startContainer(id).catch((error: unknown) => {
      throw inWords("RunContainerError", error);
    });
    const started = `Started container ${name}`;
    this.#say(container, input, { type: "Normal", reason: "Started", message: started });
    return id;
  }

  async #createContainer({ draft, sandbox, input }: Birth): Promise<string> {
    const { cri, configs } = this.#options;
    const { container, attempt, config } = draft;
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
    const { draft, input } = birth;
    const { container } = draft;
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
        this.#say(container, input, { type: "Warning", reason: "FailedPostStartHook", message });
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

  #say(container: Container, input: ActionInput, said: EventContent): void {
    this.#options.record(containerEvent(input.desired.pod, container.name, said));
  }
}

function named({ spec }: Pod, name: string): Container | undefined {
  return allContainers(spec).find((one) => one.name === name);
}

/** Failures that have their own event, or are nobody's. */
const SPOKEN: readonly Reason[] = ["NameReserved", "PostStartHookError"];

function inWords(reason: Reason, cause: unknown): AgentError {
  return new AgentError({ reason, message: messageOf(cause), cause });
}

/** Runtimes quote the words that they cannot run; what the environment put into them may be secret. */
function withoutValues(error: unknown, { container, config }: ContainerDraft): unknown {
  if (!(error instanceof AgentError)) return error;
  const { command, args } = container;
  const expanded = [...(config.command ?? []), ...(config.args ?? [])];
  const words = [...command, ...args].map((written, index) => {
    return { written, expanded: expanded[index] ?? written };
  });
  const message = asWritten(error.message, words);
  return message === error.message ? error : new AgentError({ reason: error.reason, message });
}
