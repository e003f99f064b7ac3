// Performs: single actions on one pod in the runtime. kubelet: kuberuntime manager

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import {
  normal,
  podEvent,
  warning,
  type EventContent,
  type RecordEvent,
} from "../api/v1/events.ts";
import type { CriClient } from "../cri/cri-client.ts";
import { CriError, ifFound, isNameReserved, isNetworkNotReady } from "../cri/cri-error.ts";
import type { Edges } from "../edges.ts";
import { ContainerState } from "../cri/gen/runtime/v1/api_pb.ts";
import { AgentError, configError, messageOf, withReason, type Reason } from "../lib/errors.ts";
import type { CreatingPlaces } from "./creating-places.ts";
import type {
  ActionInput,
  EarlyStart,
  EnsureImage,
  ImageRefs,
  SandboxRef,
} from "./decide/action-input.ts";
import type { PodConfigs } from "./pod-configs.ts";
import type { PodKiller } from "./kill-pod.ts";
import { sandboxAddresses } from "./observe/observe.ts";
import type { KillReason, PodAction } from "./decide/pod-action.ts";
import type { ContainerStarter } from "./start-container.ts";
import { allContainers, findContainer, podName } from "../api/v1/pod.ts";
import type { Container } from "../api/v1/container.ts";
import { withoutUndefined } from "../lib/json.ts";

export interface PodRuntimeOptions extends Pick<Edges, "cri" | "clock" | "log" | "meter"> {
  readonly configs: PodConfigs;
  readonly ensureImage: EnsureImage;
  readonly creating: CreatingPlaces;
  readonly starter: ContainerStarter;
  readonly killer: PodKiller;
  readonly record: RecordEvent;
}

export class PodRuntime {
  readonly #options: PodRuntimeOptions;

  constructor(options: PodRuntimeOptions) {
    this.#options = options;
    for (const name of ["kubelet_started_pods_total", "kubelet_started_pods_errors_total"] as const)
      options.meter?.count(name, {}, 0);
  }

  /** Performs one action; returns the sandbox if it created one. Rejects with AgentError with Kubernetes' reasons. */
  async perform(action: PodAction, input: ActionInput): Promise<SandboxRef | undefined> {
    const { cri, log, starter } = this.#options;
    const { type, ...facts } = action;
    if (type !== "Wait") log.info(type, { pod: podName(input.desired.pod), ...facts });
    switch (action.type) {
      case "KillPod":
        return this.#killPod(action.reason, input);
      case "StopSandbox":
        return ignoreAnswer(cri.stopPodSandbox(action.id));
      case "CreateSandbox":
        return this.#createSandbox(action.attempt, input);
      case "KillContainer":
        return this.#killContainer(action, input);
      case "RemoveContainer":
        return this.#removeUnstarted(action.id);
      case "StartContainer":
        return ignoreAnswer(starter.start({ ...action, name: action.container }, input));
      case "Wait":
        return undefined;
    }
  }

  /** Begins to fetch the images of all containers that these actions start. */
  fetchImages(actions: readonly PodAction[], desired: DesiredPod, signal: AbortSignal): ImageRefs {
    const starts = actions.filter((action) => action.type === "StartContainer");
    const names = new Set(starts.map(({ container }) => container));
    return new Map(
      allContainers(desired.pod.spec)
        .filter(({ name }) => names.has(name))
        .map((container) => {
          const image = this.#options.ensureImage(desired.pod, container, signal);
          // Errors surface when the container is started; this avoids an unhandled rejection.
          image.catch(() => undefined);
          return [container.name, image];
        }),
    );
  }

  /** Begins a start before the sandbox exists; undefined = it has to wait for the sandbox. Never rejects. */
  async beginStart(action: PodAction, input: ActionInput): Promise<EarlyStart | undefined> {
    if (action.type !== "StartContainer") return undefined;
    return this.#options.starter.begin({ ...action, name: action.container }, input);
  }

  /** Resolves when the image of a container is on this node; rejects with Kubernetes' reasons. */
  async fetchImage(name: string, { pod }: DesiredPod, signal: AbortSignal): Promise<void> {
    const container = findContainer(pod.spec, name);
    if (container !== undefined) await this.#options.ensureImage(pod, container, signal);
  }

  async #killPod(
    reason: KillReason,
    { desired, observed, grace }: ActionInput,
  ): Promise<undefined> {
    if (observed === undefined) return;
    if (reason === "SandboxChanged") {
      const message = "Pod sandbox changed, it will be killed and re-created.";
      this.#record(desired, normal("SandboxChanged", message));
    }
    const { pod } = desired;
    const seconds = pod.spec.terminationGracePeriodSeconds;
    await this.#options.killer.stopPod(observed, { pod, grace: grace(seconds) });
  }

  async #killContainer(
    { id, reason }: Extract<PodAction, { type: "KillContainer" }>,
    { desired: { pod }, observed, grace }: ActionInput,
  ): Promise<undefined> {
    const container = observed?.containers.find((one) => one.id === id);
    if (observed === undefined || container === undefined) return;
    const spec = findContainer(pod.spec, container.name);
    const seconds = ownGrace(reason, spec) ?? pod.spec.terminationGracePeriodSeconds;
    const message = killMessage(reason, container.name);
    const order = { pod, grace: grace(seconds), reason, message };
    await this.#options.killer.stopContainer(observed, container, order);
  }

  /** A start whose answer was lost may have happened since the decision: then the next decision handles it. */
  async #removeUnstarted(id: string): Promise<undefined> {
    const { cri } = this.#options;
    const found = await ifFound(cri.containerStatus(id));
    const state = found?.status?.state;
    if (state === undefined) return;
    if (state !== ContainerState.CONTAINER_CREATED)
      throw new AgentError({
        reason: "SyncError",
        message: `container ${id} has started meanwhile`,
      });
    await cri.removeContainer(id);
  }

  async #createSandbox(wanted: number, input: ActionInput): Promise<SandboxRef> {
    const { cri, configs, creating, meter } = this.#options;
    const { activeSince, startTime, desired } = input;
    const attempt = Math.max(wanted, input.reserved.sandbox);
    meter?.count("kubelet_started_pods_total");
    try {
      const life = { attempt, activeSince, ...withoutUndefined({ startTime }) };
      const config = configs.sandbox(desired, life);
      const runtimeHandler = configs.runtimeHandler(desired);
      const id = await creating.run(desired, () => {
        // The pod may have been removed while the call was queued.
        input.signal.throwIfAborted();
        configs.prepareCgroup(desired);
        return cri.runPodSandbox({ config, runtimeHandler });
      });
      await this.#settleCgroup(desired, id);
      return { id, ...life, ips: once(() => this.#addresses(id)), config };
    } catch (error) {
      if (!input.signal.aborted) meter?.count("kubelet_started_pods_errors_total");
      if (isNameReserved(error)) {
        input.reserved.sandbox = attempt + 1;
        throw withReason("NameReserved", error);
      }
      const message = `Failed to create pod sandbox: ${messageOf(error)}`;
      if (!input.signal.aborted) this.#record(desired, warning("FailedCreatePodSandBox", message));
      throw withReason(sandboxReason(error), error);
    }
  }

  /** In a later turn of the event loop, so that a CreateContainer request made in this turn is sent first. */
  async #addresses(sandboxId: string): Promise<readonly string[]> {
    await this.#options.clock.sleep(0);
    return addressesOf(this.#options.cri, sandboxId);
  }

  /** A sandbox whose limits are not enforced must not get containers. */
  async #settleCgroup(desired: DesiredPod, id: string): Promise<void> {
    const { cri, configs } = this.#options;
    try {
      configs.settleCgroup(desired);
    } catch (error) {
      await cri.stopPodSandbox(id);
      throw error;
    }
  }

  #record({ pod }: DesiredPod, event: EventContent): void {
    this.#options.record(podEvent(pod.metadata, event));
  }
}

/** The agent's own refusals keep their reason; the runtime's errors share one. */
function sandboxReason(error: unknown): Reason {
  if (isNetworkNotReady(error)) return "NetworkNotReady";
  const isOurs = error instanceof AgentError && !(error instanceof CriError);
  return isOurs ? error.reason : "CreatePodSandboxError";
}

/** Shares the result of the first call; a failed call is repeated by the next caller. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask().catch((error: unknown) => {
      answer = undefined;
      throw error;
    });
    return answer;
  };
}

async function addressesOf(cri: CriClient, sandboxId: string): Promise<readonly string[]> {
  try {
    const { status } = await cri.podSandboxStatus(sandboxId);
    return sandboxAddresses(status);
  } catch (cause) {
    const message = `cannot read the pod's address from the container runtime: ${messageOf(cause)}`;
    throw configError(message, cause);
  }
}

/** Seconds instead of the pod's own. */
function ownGrace(reason: KillReason, container: Container | undefined): number | undefined {
  if (reason === "LivenessProbe") return container?.livenessProbe?.terminationGracePeriodSeconds;
  if (reason === "StartupProbe") return container?.startupProbe?.terminationGracePeriodSeconds;
  // kubelet: at once, and without preStop hooks, because the state of the pod is known to be broken.
  if (reason === "RestartAllContainers") return 0;
  return undefined;
}

/** The kubelet's messages where it has them. */
function killMessage(reason: KillReason, name: string): string {
  switch (reason) {
    case "LivenessProbe":
      return `Container ${name} failed liveness probe, will be restarted`;
    case "StartupProbe":
      return `Container ${name} failed startup probe, will be restarted`;
    case "ContainerChanged":
      return `Container ${name} definition changed, will be restarted`;
    case "PostStartHook":
      return `Container ${name} failed its postStart hook, will be restarted`;
    case "ConfigChanged":
      return `Container ${name} reads a ConfigMap or Secret that has changed, will be restarted`;
    case "RestartOrdered":
      return `Container ${name} was ordered to restart`;
    case "RestartAllContainers":
      return `Container ${name} is restarted with all containers of the pod, because one exited with a code whose rule is RestartAllContainers`;
    case "ContainerUnknown":
      return `Container ${name} is in unknown state, will be killed before it starts again`;
    case "SandboxChanged":
    case "NotInSpec":
    case "Duplicate":
    case "Finished":
    case "DeadlineExceeded":
      return `Stopping container ${name}`;
  }
}

async function ignoreAnswer(call: Promise<void>): Promise<undefined> {
  await call;
  return undefined;
}
