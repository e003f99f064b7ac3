// Performs: performs what was decided for a pod, in order. A failed start does not keep the other containers from
// starting, anything else ends the sync.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { podEvent, type RecordEvent } from "../api/v1/events.ts";
import { newestStarted } from "../api/pod/newest-observed.ts";
import type { ObservedPod, KilledInstance } from "../api/pod/observed-pod.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import type {
  ActionInput,
  EarlyStarts,
  ImageRefs,
  SandboxRef,
} from "../runtime/decide/action-input.ts";
import { isLive, usableSandbox } from "../runtime/observe/newest.ts";
import type { KillReason, PodAction } from "../runtime/decide/pod-action.ts";
import type { RuntimeWatch } from "../pleg/runtime-watch.ts";
import type { PodRuntime } from "../runtime/pod-runtime.ts";
import type { PodVolumes } from "../volume/pod-volumes.ts";
import type { PodLife } from "./pod-life.ts";

export interface ActionPerformerOptions {
  readonly runtime: PodRuntime;
  readonly volumes: Pick<PodVolumes, "check" | "shareLargeClaims" | "setUp">;
  readonly network: Pick<RuntimeWatch, "requireNetwork">;
  readonly clock: Clock;
  readonly record: RecordEvent;
}

export interface PerformInput {
  readonly desired: DesiredPod;
  readonly observed: ObservedPod | undefined;
  readonly life: PodLife;
  /** Something long begins: what is true by now should be said before it ends. */
  readonly onHook: () => void;
  /** Stops between two actions, ends waiting, pulling and hooks. */
  readonly signal: AbortSignal;
}

/** The runtime was asked in vain, or not at all: no start that a container could have failed. */
const NEVER_BEGUN: readonly string[] = ["NameReserved", "CreateContainerConfigError"];

interface OneInput extends PerformInput {
  /** The actions after this one. */
  readonly following: readonly PodAction[];
}

/** What one action leaves for the next. */
interface Progress {
  readonly images: ImageRefs;
  readonly early: EarlyStarts;
  readonly volumes: ReadonlyMap<string, string>;
  readonly sandbox: SandboxRef | undefined;
}

export class ActionPerformer {
  readonly #options: ActionPerformerOptions;

  constructor(options: ActionPerformerOptions) {
    this.#options = options;
  }

  /** The first of the errors; undefined = everything was done, or `signal` ended it. */
  async perform(work: readonly PodAction[], input: PerformInput): Promise<unknown> {
    const { desired, observed, life, signal } = input;
    let progress: Progress = {
      images: new Map(),
      early: new Map(),
      volumes: new Map(),
      sandbox: refOf(usableSandbox(desired.pod, observed), life),
    };
    let firstError: unknown;
    for (const [index, action] of work.entries()) {
      if (signal.aborted) break;
      const restarts = new Map(life.restarts);
      if (action.type === "StartContainer") life.starting.add(action.container);
      try {
        const following = work.slice(index + 1);
        const after = await this.#one(action, progress, { ...input, following });
        // Whatever follows of the order is not wanted either.
        if (after === "Withdrawn") break;
        progress = after;
      } catch (error) {
        if (signal.aborted) break;
        if (action.type === "StartContainer" && NEVER_BEGUN.includes(reasonOf(error, "")))
          life.takeBackStart(action.container, restarts.get(action.container));
        if ("container" in action) life.noteFailure(action.container, error);
        else life.notePodFailure(desired.pod, error);
        // The next decision ends the container: that is progress, not a failure to wait for.
        if (reasonOf(error, "") === "PostStartHookError") continue;
        firstError ??= error;
        if (action.type !== "StartContainer") break;
      } finally {
        life.releaseGraces();
        life.starting.clear();
      }
    }
    return firstError;
  }

  async #one(
    action: PodAction,
    progress: Progress,
    input: OneInput,
  ): Promise<Progress | "Withdrawn"> {
    const { desired, life, signal } = input;
    // Whoever is ended to read anew must be able to start: until it is, it runs on.
    if (startsAnew(action))
      await this.#options.runtime.fetchImage(action.container, desired, signal);
    const ready = await this.#orSay(input, () => this.#ready(action, input, progress.volumes));
    if (isWithdrawn(action, life)) return "Withdrawn";
    note(action, input);
    life.unsure = true;
    const actionInput = actionInputOf(input, { ...progress, volumes: ready });
    const doing = this.#options.runtime.perform(action, actionInput);
    if (action.type === "CreateSandbox") {
      const beside = await this.#besides(doing, progress, input);
      life.forgetPodFailure();
      return { ...progress, ...beside };
    }
    const sandbox = await doing;
    if (action.type === "StartContainer") life.waiting.delete(action.container);
    return { ...progress, volumes: ready, sandbox: sandbox ?? progress.sandbox };
  }

  /** What can be done while the runtime makes the sandbox is done then. Rejects when both have come to their end. */
  async #besides(
    making: Promise<SandboxRef | undefined>,
    progress: Progress,
    input: OneInput,
  ): Promise<Progress> {
    const inVain = new AbortController();
    const signal = AbortSignal.any([input.signal, inVain.signal]);
    const preparing = this.#orSay(input, () => this.#prepare(progress, input, signal));
    const [made, prepared] = await Promise.allSettled([making, preparing]);
    // A draft that waits for an image belongs to no sandbox any more.
    if (made.status === "rejected") {
      inVain.abort(new Error("there is no sandbox"));
      throw made.reason;
    }
    // Whoever could not prepare has begun no draft.
    if (prepared.status === "rejected") throw prepared.reason;
    return { ...prepared.value, sandbox: made.value ?? progress.sandbox };
  }

  /** Images, volumes, and the first container but for making it; `wanted` ends a draft, not a pull. */
  async #prepare(progress: Progress, input: OneInput, wanted: AbortSignal): Promise<Progress> {
    const { clock, volumes, runtime } = this.#options;
    const { desired, following } = input;
    // The runtime's request shall be on its way.
    await clock.sleep(0, wanted);
    wanted.throwIfAborted();
    const images = runtime.fetchImages(following, desired, input.signal);
    const ready = { ...progress, images, volumes: volumes.setUp(desired.pod) };
    const [next] = following;
    if (next?.type !== "StartContainer") return ready;
    const begun = runtime.beginStart(next, actionInputOf({ ...input, signal: wanted }, ready));
    return { ...ready, early: new Map([[next.container, begun]]) };
  }

  async #orSay<T>({ desired, signal }: PerformInput, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      signal.throwIfAborted();
      const said = { reason: reasonOf(error, "FailedMount"), message: messageOf(error) };
      this.#options.record(podEvent(desired.pod.metadata, { type: "Warning", ...said }));
      throw error;
    }
  }

  /** Whatever an action needs on the host before the runtime is asked. */
  async #ready(
    action: PodAction,
    { desired, signal }: PerformInput,
    ready: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, string>> {
    const { volumes, network, clock } = this.#options;
    const isStart = action.type === "CreateSandbox" || action.type === "StartContainer";
    if (!isStart && !startsAnew(action)) return ready;
    if (action.type === "CreateSandbox" && !desired.pod.spec.hostNetwork)
      await network.requireNetwork();
    if (ready.size > 0) return ready;
    // No sandbox is made for a pod whose volumes are not ready.
    if (action.type === "CreateSandbox") volumes.check(desired.pod);
    // In steps, between which other pods are synced.
    for (const _ of volumes.shareLargeClaims(desired.pod)) {
      await clock.sleep(0, signal);
      signal.throwIfAborted();
    }
    return action.type === "CreateSandbox" ? ready : volumes.setUp(desired.pod);
  }
}

function actionInputOf(
  { desired, observed, life, signal, onHook }: PerformInput,
  progress: Progress,
): ActionInput {
  return {
    desired,
    observed,
    ...progress,
    signal,
    activeSince: life.begin(),
    reserved: life.reserved,
    grace: (seconds) => life.grace(seconds),
    onHook,
    onHookFailed: (id) => life.hookFailed.add(id),
  };
}

type Ending = Extract<PodAction, { type: "KillContainer" }>;

/** Whoever is ended although nothing is wrong with it. */
function startsAnew(action: PodAction): action is Ending {
  return (
    action.type === "KillContainer" &&
    (action.reason === "ConfigChanged" || action.reason === "RestartOrdered")
  );
}

/** Its restart was ordered when this was decided, and whoever ordered it has been told since that it did not come. */
function isWithdrawn(action: PodAction, { ordered }: PodLife): boolean {
  if (action.type !== "KillContainer" || action.reason !== "RestartOrdered") return false;
  return !ordered.has(action.id);
}

/** Before the deed: a power cut must not make it cost nothing. */
function note(action: PodAction, { desired, observed, life }: PerformInput): void {
  if (action.type === "StartContainer") life.noteStart(desired, action.container, observed);
  const killed = new Map(replacedBy(action, observed));
  life.writeKills(desired.pod, killed);
  for (const [container, instance] of killed) {
    if (!startsAnew(action)) life.noteKill(container, instance);
    else if (action.reason === "ConfigChanged") life.noteConfigChange(container, instance.id);
    else life.noteOrder(container, instance.id);
  }
}

/** Whom the action ends so that others take their places; an older one beside the newest gets no successor. */
function replacedBy(
  action: PodAction,
  observed: ObservedPod | undefined,
): readonly (readonly [string, KilledInstance])[] {
  const isNewest = (id: string, name: string): boolean => newestStarted(observed, name)?.id === id;
  if (action.type === "KillContainer" && isReplaced(action.reason)) {
    const { id, container, reason } = action;
    const killed = { id, always: ALWAYS.includes(reason) };
    return isNewest(id, container) ? [[container, killed]] : [];
  }
  // With their sandbox, all that live in it are ended to be replaced.
  if (action.type !== "KillPod" || action.reason !== "SandboxChanged") return [];
  const live = (observed?.containers ?? []).filter(isLive);
  return live
    .filter(({ id, name }) => isNewest(id, name))
    .map(({ id, name }) => [name, { id, always: false }]);
}

/** What the restart policy says of exits does not count then. */
const ALWAYS: readonly KillReason[] = ["ContainerChanged", "RestartOrdered"];

function isReplaced(reason: KillReason): boolean {
  return reason !== "Duplicate" && reason !== "NotInSpec";
}

function refOf(sandbox: ReturnType<typeof usableSandbox>, life: PodLife): SandboxRef | undefined {
  if (sandbox === undefined) return undefined;
  const { id, attempt, ips } = sandbox;
  return { id, attempt, ips: () => Promise.resolve(ips), activeSince: life.begin() };
}
