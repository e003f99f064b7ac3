// Performs: stops and removes one pod in the runtime: hooks, containers gracefully and in order, sandboxes, then their
// records. kubelet: KillPod, killContainersWithSyncResult, killContainer

import {
  normal,
  podEvent,
  warning,
  type EventContent,
  type RecordEvent,
} from "../api/v1/events.ts";
import type { ObservedContainer, ObservedPod } from "../api/pod/observed-pod.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";
import type { CriClient } from "../cri/cri-client.ts";
import { aborted } from "../lib/clock.ts";
import { AgentError, messageOf } from "../lib/errors.ts";
import type { Edges } from "../edges.ts";
import { StopBudget, type GracePeriod } from "./grace-period.ts";
import { hookAddress } from "./hook-request.ts";
import type { LifecycleRunner } from "./lifecycle-hooks.ts";
import { isLive } from "./observe/newest.ts";
import { stopFacts, stopTurns, type StopFacts } from "./decide/stop-order.ts";

export interface PodKillerOptions extends Pick<Edges, "cri" | "clock" | "log"> {
  readonly lifecycle: LifecycleRunner;
  readonly record: RecordEvent;
}

export interface StopPodOrder {
  /** undefined = the spec is unknown: the containers' annotations are used. */
  readonly pod: Pod | undefined;
  /** Counts from the call, for each container separately. */
  readonly grace: GracePeriod;
}

export interface StopContainerOrder extends StopPodOrder {
  /** For the log. */
  readonly reason: string;
  /** The event's message instead of `Stopping container web`. */
  readonly message?: string;
}

/** Container ids whose event and hook are not repeated when a stop is retried. */
interface Begun {
  readonly announced: Set<string>;
  readonly hooked: Set<string>;
}

interface Stop {
  readonly observed: ObservedPod;
  readonly container: ObservedContainer;
  readonly order: StopPodOrder & Partial<StopContainerOrder>;
  /** The stops of containers that must be gone before. */
  readonly before: readonly Promise<void>[];
}

export class PodKiller {
  readonly #options: PodKillerOptions;
  readonly #begun = new Map<PodUID, Begun>();

  constructor(options: PodKillerOptions) {
    this.#options = options;
  }

  /** Resolves when nothing of the pod runs and its network is released. Rejects with AgentError `KillPodError`: call again. */
  async stopPod(observed: ObservedPod, order: StopPodOrder): Promise<void> {
    const { cri } = this.#options;
    const stops = new Map<string, Promise<void>>();
    for (const { container, waitsFor } of stopTurns(
      observed.containers.filter(isLive),
      order.pod,
    )) {
      const before = waitsFor.flatMap((id) => stops.get(id) ?? []);
      stops.set(container.id, this.#stop({ observed, container, order, before }));
    }
    // A start whose answer was lost may still happen: removing its container prevents that.
    const unstarted = observed.containers.filter(({ state }) => state === "Created");
    await allOf([...stops.values(), ...unstarted.map(({ id }) => cri.removeContainer(id))]);
    // Sandboxes that are down too: only an answered StopPodSandbox proves that the network is released.
    await allOf(observed.sandboxes.map(({ id }) => cri.stopPodSandbox(id)));
    this.#begun.delete(observed.uid);
  }

  /** Resolves when the container has stopped; removes one that never started. Rejects with AgentError `KillContainerError`. */
  async stopContainer(
    observed: ObservedPod,
    container: ObservedContainer,
    order: StopContainerOrder,
  ): Promise<void> {
    try {
      if (container.state === "Created") await this.#options.cri.removeContainer(container.id);
      if (isLive(container)) await this.#stop({ observed, container, order, before: [] });
    } catch (cause) {
      const message = `container "${container.name}" cannot be stopped: ${messageOf(cause)}`;
      throw new AgentError({ reason: "KillContainerError", message, cause });
    }
    this.#forget(observed.uid, container.id);
  }

  async #stop(stop: Stop): Promise<void> {
    const { container, order, before } = stop;
    const { clock } = this.#options;
    const written = container.gracePeriodSeconds;
    using budget = new StopBudget({ grace: order.grace, written, clock });
    const facts = stopFacts(container, order.pod);
    this.#announce(stop, facts, budget.seconds);
    await this.#preStop(stop, facts, budget);
    await awaitTurn(before, budget);
    await this.#stopNow(container.id, budget);
  }

  #announce({ observed, container, order }: Stop, facts: StopFacts, graceSeconds: number): void {
    const { announced } = this.#begunOf(observed.uid);
    if (announced.has(container.id)) return;
    announced.add(container.id);
    const { name, id } = container;
    const { reason, message = `Stopping container ${name}` } = order;
    const pod = `${observed.namespace}/${observed.name}`;
    const about = { pod, container: name, id, graceSeconds, reason };
    this.#options.log.debug("stopping container", about);
    this.#record({ observed, container, facts }, normal("Killing", message));
  }

  /** Hooks run in parallel, before the container's turn; the container is stopped even if its hook fails. */
  async #preStop(
    { observed, container }: Stop,
    facts: StopFacts,
    budget: StopBudget,
  ): Promise<void> {
    const { lifecycle, log } = this.#options;
    const { preStop, ports } = facts;
    const { hooked } = this.#begunOf(observed.uid);
    const { id, name, sandboxId } = container;
    // It is unknown whether anything runs in a container in state Unknown, so its hook is skipped.
    if (preStop === undefined || budget.seconds === 0 || container.state === "Unknown") return;
    if (hooked.has(id)) return;
    const podIP = hookAddress(observed.sandboxes.find((sandbox) => sandbox.id === sandboxId));
    const limits = { timeoutMs: budget.leftMs, signal: budget.spent };
    try {
      const target = { uid: observed.uid, containerId: id, podIP, ports };
      await lifecycle.run(preStop, target, limits);
      hooked.add(id);
    } catch (error) {
      const isOver = budget.leftMs === 0;
      if (isOver) hooked.add(id);
      const pod = `${observed.namespace}/${observed.name}`;
      log.warn("preStop hook failed", { pod, container: name, id, error: messageOf(error) });
      // The kubelet's message: a hook's output may contain secrets, and events leave the node.
      const message = isOver
        ? "PreStopHook did not end within the grace period"
        : "PreStopHook failed";
      this.#record({ observed, container, facts }, warning("FailedPreStopHook", message));
    }
  }

  /**
   * Calls again when the grace period is shortened: the runtime obeys the shorter of two timeouts. The success of any call
   * counts, but only the newest call's failure.
   */
  async #stopNow(id: string, budget: StopBudget): Promise<void> {
    const { cri, clock } = this.#options;
    const gone = Promise.withResolvers<void>();
    const over = new AbortController();
    let calls = 0;
    let endsAt = Number.POSITIVE_INFINITY;
    const call = (): void => {
      const seconds = budget.stopSeconds;
      const end = clock.monotonic() + seconds * 1000;
      if (end >= endsAt) return;
      endsAt = end;
      calls += 1;
      const mine = calls;
      cri.stopContainer(id, seconds, { signal: over.signal }).then(gone.resolve, (error) => {
        if (mine === calls) gone.reject(error);
      });
    };
    using _ = budget.onShortened(call);
    call();
    try {
      await gone.promise;
    } finally {
      over.abort();
    }
  }

  #record(
    about: Pick<Stop, "observed" | "container"> & { facts: StopFacts },
    event: EventContent,
  ): void {
    const list = about.facts.role.type === "App" ? "containers" : "initContainers";
    const fieldPath = `spec.${list}{${about.container.name}}`;
    this.#options.record(podEvent(about.observed, { ...event, fieldPath }));
  }

  #begunOf(uid: PodUID): Begun {
    const begun = this.#begun.get(uid) ?? { announced: new Set(), hooked: new Set() };
    this.#begun.set(uid, begun);
    return begun;
  }

  #forget(uid: PodUID, id: string): void {
    const begun = this.#begun.get(uid);
    begun?.announced.delete(id);
    begun?.hooked.delete(id);
    if (begun?.announced.size === 0) this.#begun.delete(uid);
  }
}

/** Resolves when the others have stopped or the time is up; rejects if they cannot be stopped: the order is kept. */
async function awaitTurn(before: readonly Promise<void>[], budget: StopBudget): Promise<void> {
  if (before.length === 0 || budget.turnOver.aborted) return;
  await Promise.race([Promise.all(before), aborted(budget.turnOver)]);
}

/** Removes a stopped pod's records; the runtime removes a sandbox's containers with it. */
export async function removePod(
  cri: Pick<CriClient, "removeContainer" | "removePodSandbox">,
  observed: ObservedPod,
): Promise<void> {
  const inSandboxes = new Set(observed.sandboxes.map(({ id }) => id));
  const orphans = observed.containers.filter(({ sandboxId }) => !inSandboxes.has(sandboxId));
  await allOf(orphans.map(({ id }) => cri.removeContainer(id)));
  await allOf(observed.sandboxes.map(({ id }) => cri.removePodSandbox(id)));
}

/** Waits for all calls even if some fail: one stuck container must not shorten another's grace period. */
async function allOf(calls: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(calls);
  const errors = results.filter((result) => result.status === "rejected");
  const [first] = errors;
  if (first === undefined) return;
  throw new AgentError({
    reason: "KillPodError",
    message: [...new Set(errors.map(({ reason }) => messageOf(reason)))].join("; "),
    cause: first.reason,
  });
}
