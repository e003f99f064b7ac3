// Performs: performs what was decided for a pod, in order. A failed start does not keep the other containers from
// starting, anything else ends the sync.

import { podEvent, type RecordEvent } from "../api/v1/events.ts";
import { type ObservedPod, type KilledInstance, newestStarted } from "../api/pod/observed-pod.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf, reasonOf, CONFIG_ERROR } from "../lib/errors.ts";
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
import type { Volumes } from "../volume/volume-manager.ts";
import { withoutUndefined } from "../lib/json.ts";
import type { PodLook, PodSyncState } from "./pod-sync-state.ts";

export interface ActionPerformerOptions {
  readonly runtime: PodRuntime;
  readonly volumes: Pick<Volumes, "check" | "setUp" | "setUpRemote" | "shareLargeClaims">;
  readonly network: Pick<RuntimeWatch, "requireNetwork">;
  readonly clock: Clock;
  readonly record: RecordEvent;
}

interface PerformInput extends PodLook, Pick<ActionInput, "startTime"> {
  /** A hook begins: it may take long, and the status is published before it ends. */
  readonly onHook: () => void;
  /** Whether the pod has come to its end, as the runtime has it now. */
  readonly isOver: () => Promise<boolean>;
  /** Stops between two actions, ends waiting, pulling and hooks. */
  readonly signal: AbortSignal;
}

/** The runtime did not start the container: no failure of its own. */
const NEVER_BEGUN: readonly string[] = ["NameReserved", CONFIG_ERROR];

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
    const { desired, observed, syncState, signal } = input;
    let progress: Progress = {
      images: new Map(),
      early: new Map(),
      volumes: new Map(),
      sandbox: refOf(usableSandbox(desired.pod, observed), input),
    };
    let firstError: unknown;
    for (const [index, action] of work.entries()) {
      if (signal.aborted) break;
      // What it was stopped to read, nothing reads any more; its room may be another pod's already.
      if (isConfigRestart(work[index - 1]) && (await input.isOver())) break;
      const restarts = new Map(syncState.restarts);
      if (action.type === "StartContainer") syncState.starting.add(action.container);
      try {
        const following = work.slice(index + 1);
        const after = await this.#one(action, progress, { ...input, following });
        // The actions after it belong to the same order.
        if (after === "Withdrawn") break;
        progress = after;
      } catch (error) {
        if (signal.aborted) break;
        if (action.type === "StartContainer" && NEVER_BEGUN.includes(reasonOf(error, "")))
          syncState.takeBackStart(action.container, restarts.get(action.container));
        if ("container" in action) syncState.noteFailure(action.container, error);
        else syncState.notePodFailure(desired.pod, error);
        // The next decision stops the container: progress, and no reason to back off.
        if (reasonOf(error, "") === "PostStartHookError") continue;
        firstError ??= error;
        if (action.type !== "StartContainer") break;
      } finally {
        syncState.releaseGraces();
        syncState.starting.clear();
      }
    }
    return firstError;
  }

  async #one(
    action: PodAction,
    progress: Progress,
    input: OneInput,
  ): Promise<Progress | "Withdrawn"> {
    const { desired, syncState, signal } = input;
    // A container is restarted to read new objects only once its image is here: until then it runs on.
    if (startsAnew(action))
      await this.#options.runtime.fetchImage(action.container, desired, signal);
    const ready = await this.#recordFailure(input, () =>
      this.#ready(action, input, progress.volumes),
    );
    if (isWithdrawn(action, syncState)) return "Withdrawn";
    note(action, input);
    syncState.unsure = true;
    const actionInput = actionInputOf(input, { ...progress, volumes: ready });
    const doing = this.#options.runtime.perform(action, actionInput);
    if (action.type === "CreateSandbox") {
      const beside = await this.#besides(doing, progress, input);
      syncState.forgetPodFailure();
      return { ...progress, ...beside };
    }
    const sandbox = await doing;
    if (action.type === "StartContainer") syncState.waiting.delete(action.container);
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
    const preparing = this.#recordFailure(input, () => this.#prepare(progress, input, signal));
    const [made, prepared] = await Promise.allSettled([making, preparing]);
    // Ends a draft that waits for an image: its sandbox does not exist.
    if (made.status === "rejected") {
      inVain.abort(new Error("there is no sandbox"));
      throw made.reason;
    }
    // A preparation that failed has begun no draft.
    if (prepared.status === "rejected") throw prepared.reason;
    return { ...prepared.value, sandbox: made.value ?? progress.sandbox };
  }

  /** Images, volumes, and the first container but for making it; `wanted` ends a draft, not a pull. */
  async #prepare(progress: Progress, input: OneInput, wanted: AbortSignal): Promise<Progress> {
    const { clock, volumes, runtime } = this.#options;
    const { desired, following } = input;
    // Lets the request to the runtime leave first.
    await clock.sleep(0, wanted);
    wanted.throwIfAborted();
    const images = runtime.fetchImages(following, desired, input.signal);
    const ready = { ...progress, images, volumes: volumes.setUp(desired.pod) };
    const [next] = following;
    if (next?.type !== "StartContainer") return ready;
    const begun = runtime.beginStart(next, actionInputOf({ ...input, signal: wanted }, ready));
    return { ...ready, early: new Map([[next.container, begun]]) };
  }

  async #recordFailure<T>({ desired, signal }: PerformInput, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      signal.throwIfAborted();
      const event = { reason: reasonOf(error, "FailedMount"), message: messageOf(error) };
      this.#options.record(podEvent(desired.pod.metadata, { type: "Warning", ...event }));
      throw error;
    }
  }

  /** Prepares what an action needs on the host, before the call to the runtime. */
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
    const remote = volumes.setUpRemote(desired.pod, signal);
    if (remote !== undefined) await remote;
    signal.throwIfAborted();
    // In steps, between which other pods are synced.
    for (const _ of volumes.shareLargeClaims(desired.pod)) {
      await clock.sleep(0, signal);
      signal.throwIfAborted();
    }
    return action.type === "CreateSandbox" ? ready : volumes.setUp(desired.pod);
  }
}

function actionInputOf(
  { desired, observed, syncState, startTime, signal, onHook }: PerformInput,
  progress: Progress,
): ActionInput {
  return {
    desired,
    observed,
    ...progress,
    signal,
    activeSince: syncState.begin(),
    ...withoutUndefined({ startTime }),
    podRestarts: syncState.run(desired.pod, observed).podRestarts,
    reserved: syncState.reserved,
    grace: (seconds) => syncState.grace(seconds),
    onHook,
    onHookFailed: (id) => syncState.hookFailed.add(id),
  };
}

type Ending = Extract<PodAction, { type: "KillContainer" }>;

/** A container that is stopped although it is healthy. */
function startsAnew(action: PodAction): action is Ending {
  return (
    action.type === "KillContainer" &&
    (action.reason === "ConfigChanged" || action.reason === "RestartOrdered")
  );
}

/** The container's start follows. */
function isConfigRestart(action: PodAction | undefined): boolean {
  return action?.type === "KillContainer" && action.reason === "ConfigChanged";
}

/** What is stopped has not failed. */
function isHealthy(action: PodAction): boolean {
  if (action.type !== "KillContainer") return false;
  return action.reason === "RestartAllContainers" || startsAnew(action);
}

/** The restart was ordered when this was decided, and the order has been taken back since. */
function isWithdrawn(action: PodAction, { ordered }: PodSyncState): boolean {
  if (action.type !== "KillContainer" || action.reason !== "RestartOrdered") return false;
  return !ordered.has(action.id);
}

/** Before the action: a restart counts even if power fails during it. */
function note(action: PodAction, { desired, observed, syncState }: PerformInput): void {
  if (action.type === "StartContainer") syncState.noteStart(desired, action.container, observed);
  const killed = new Map(replacedBy(action, observed));
  syncState.writeKills(desired.pod, killed);
  for (const [container, instance] of killed) {
    if (isHealthy(action)) syncState.noteRestart(container, instance);
    else syncState.noteKill(container, instance);
    if (startsAnew(action) && action.reason === "ConfigChanged")
      syncState.configRestarting = container;
  }
}

/** The containers that the action stops to replace; an older instance beside the newest is not replaced. */
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
  // All containers of a sandbox that is replaced are replaced too.
  if (action.type !== "KillPod" || action.reason !== "SandboxChanged") return [];
  const live = (observed?.containers ?? []).filter(isLive);
  return live
    .filter(({ id, name }) => isNewest(id, name))
    .map(({ id, name }) => [name, { id, always: false }]);
}

/** Replaced under every restart policy, and its exit code asks for nothing. */
const ALWAYS: readonly KillReason[] = [
  "ContainerChanged",
  "ConfigChanged",
  "RestartOrdered",
  "RestartAllContainers",
];

function isReplaced(reason: KillReason): boolean {
  return reason !== "Duplicate" && reason !== "NotInSpec";
}

function refOf(
  sandbox: ReturnType<typeof usableSandbox>,
  { syncState, startTime }: PerformInput,
): SandboxRef | undefined {
  if (sandbox === undefined) return undefined;
  const { id, attempt, ips } = sandbox;
  const life = { activeSince: syncState.begin(), ...withoutUndefined({ startTime }) };
  return { id, attempt, ips: () => Promise.resolve(ips), ...life };
}
