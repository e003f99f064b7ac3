// Performs: creates and starts one container of a pod from its draft, and runs its postStart hook. kubelet: startContainer

import {
  containerEvent,
  normal,
  warning,
  type EventContent,
  type RecordEvent,
} from "../api/v1/events.ts";
import { isNameReserved } from "../cri/cri-error.ts";
import { AgentError, messageOf, reasonOf, withReason, type Reason } from "../lib/errors.ts";
import type { Edges } from "../edges.ts";
import type { CreatingPlaces } from "./creating-places.ts";
import type { ActionInput, ContainerDraft, EarlyStart, SandboxRef } from "./decide/action-input.ts";
import type { PodConfigs } from "./pod-configs.ts";
import { canBeDraftedEarly, type ContainerDrafts } from "./container-draft.ts";
import type { RunOptionsGenerator } from "./run-container-options.ts";
import { asWritten } from "./cri-config/expansion.ts";
import type { LifecycleRunner } from "./lifecycle-hooks.ts";
import { findContainer, podName } from "../api/v1/pod.ts";
import type { Container } from "../api/v1/container.ts";

export interface ContainerStarterOptions extends Pick<Edges, "cri" | "log" | "meter"> {
  readonly configs: Pick<PodConfigs, "sandbox">;
  /** Limits parallel creating calls: more would only queue inside the runtime. */
  readonly creating: CreatingPlaces;
  readonly lifecycle: LifecycleRunner;
  readonly drafts: ContainerDrafts;
  readonly runOptions: Pick<RunOptionsGenerator, "settle">;
  readonly record: RecordEvent;
}

export interface ContainerStart {
  readonly name: string;
  /** The lowest that is free in the runtime's lists. */
  readonly attempt: number;
}

interface Creation {
  readonly draft: ContainerDraft;
  readonly sandbox: SandboxRef;
  readonly input: ActionInput;
  /** The container may start only when this has resolved. */
  readonly settled: Promise<void>;
}

export class ContainerStarter {
  readonly #options: ContainerStarterOptions;

  constructor(options: ContainerStarterOptions) {
    this.#options = options;
  }

  /** Resolves when the container runs and its postStart hook has succeeded. */
  async start({ name, attempt }: ContainerStart, input: ActionInput): Promise<void> {
    const { desired, sandbox } = input;
    const container = findContainer(desired.pod.spec, name);
    if (container === undefined || sandbox === undefined) return;
    const { initContainers } = desired.pod.spec;
    const isInit = initContainers.includes(container);
    const labels = { container_type: isInit ? "init_container" : "container" };
    this.#options.meter?.count("kubelet_started_containers_total", labels);
    try {
      await this.#start(container, attempt, { ...input, sandbox });
    } catch (error) {
      const failed = { ...labels, code: reasonOf(error, "RunContainerError") };
      if (!input.signal.aborted)
        this.#options.meter?.count("kubelet_started_containers_errors_total", failed);
      throw error;
    }
  }

  async #start(
    container: Container,
    attempt: number,
    input: ActionInput & { readonly sandbox: SandboxRef },
  ): Promise<void> {
    const { drafts } = this.#options;
    const early = await input.early?.get(container.name);
    const images = await (early?.images ?? drafts.images(container, input));
    try {
      const draft = early?.draft ?? (await drafts.make({ container, attempt }, images, input));
      await this.#createFrom(draft, input.sandbox, input);
    } catch (error) {
      const isUnreported = !input.signal.aborted && !REPORTED.includes(reasonOf(error, ""));
      if (isUnreported)
        this.#record(container, input, warning("Failed", `Error: ${messageOf(error)}`));
      throw error;
    }
  }

  /** Begins a start before the sandbox exists; undefined = impossible. Never rejects: `start` throws the error. */
  async begin(
    { name, attempt }: ContainerStart,
    input: ActionInput,
  ): Promise<EarlyStart | undefined> {
    const { drafts } = this.#options;
    const container = findContainer(input.desired.pod.spec, name);
    if (container === undefined || !canBeDraftedEarly(container, input.desired.pod))
      return undefined;
    const images = drafts.images(container, input);
    try {
      return { images, draft: await drafts.make({ container, attempt }, await images, input) };
    } catch {
      return { images, draft: undefined };
    }
  }

  async #createFrom(draft: ContainerDraft, sandbox: SandboxRef, input: ActionInput): Promise<void> {
    const { runOptions, creating } = this.#options;
    for (const event of draft.events) this.#record(draft.container, input, event);
    const settled = draft.needsAddress ? runOptions.settle(sandbox, input) : Promise.resolve();
    // Errors surface in #createAndStart; this avoids an unhandled rejection.
    settled.catch(() => undefined);
    const creation = { draft, sandbox, input, settled };
    const id = await creating.run(input.desired, () => this.#create(creation));
    await this.#postStart(id, creation);
  }

  async #create(creation: Creation): Promise<string> {
    try {
      return await this.#createAndStart(creation);
    } catch (error) {
      throw withoutValues(error, creation.draft);
    }
  }

  async #createAndStart(creation: Creation): Promise<string> {
    const { input, draft } = creation;
    const { container } = draft;
    const { signal } = input;
    signal.throwIfAborted();
    const id = await this.#createContainer(creation);
    const { name } = container;
    this.#record(container, input, normal("Created", `Created container: ${name}`));
    await creation.settled;
    signal.throwIfAborted();
    await this.#options.cri.startContainer(id).catch((error: unknown) => {
      throw withReason("RunContainerError", error);
    });
    this.#record(container, input, normal("Started", `Started container ${name}`));
    return id;
  }

  async #createContainer({ draft, sandbox, input }: Creation): Promise<string> {
    const { cri, configs } = this.#options;
    const { container, attempt, config } = draft;
    const sandboxConfig = sandbox.config ?? configs.sandbox(input.desired, sandbox);
    try {
      return await cri.createContainer({ sandboxId: sandbox.id, config, sandboxConfig });
    } catch (error) {
      if (isNameReserved(error)) {
        input.reserved.containers.set(container.name, attempt + 1);
        throw withReason("NameReserved", error);
      }
      throw withReason("CreateContainerError", error);
    }
  }

  /** A container whose hook failed must not keep running: the next decision stops it. */
  async #postStart(id: string, creation: Creation): Promise<void> {
    const { draft, input } = creation;
    const { container } = draft;
    const hook = container.lifecycle.postStart;
    if (hook === undefined) return;
    input.onHook();
    try {
      const podIP = hook.type === "httpGet" ? await this.#address(creation) : undefined;
      const { uid } = input.desired;
      const target = { uid, containerId: id, podIP, ports: container.ports };
      await this.#options.lifecycle.run(hook, target, { signal: input.signal });
    } catch (error) {
      const message = "PostStartHook failed";
      if (!input.signal.aborted) {
        // The hook's output may contain secrets: it is logged, but not sent in an event.
        const pod = podName(input.desired.pod);
        const facts = { pod, container: container.name, error: messageOf(error) };
        this.#options.log.warn("postStart hook failed", facts);
        this.#record(container, input, warning("FailedPostStartHook", message));
        input.onHookFailed(id);
      }
      throw new AgentError({ reason: "PostStartHookError", message, cause: error });
    }
  }

  async #address({ sandbox, input }: Creation): Promise<string | undefined> {
    if (input.desired.pod.spec.hostNetwork) return "127.0.0.1";
    return (await sandbox.ips())[0];
  }

  #record(container: Container, input: ActionInput, event: EventContent): void {
    this.#options.record(containerEvent(input.desired.pod, container.name, event));
  }
}

/** Failures that have their own event, or that are retried without one. */
const REPORTED: readonly Reason[] = ["NameReserved", "PostStartHookError"];

/** Runtimes quote commands that they cannot run; values expanded in them may be secret. */
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
