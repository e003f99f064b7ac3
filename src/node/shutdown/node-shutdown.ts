// Performs: ends all pods before the machine goes off, group by group, and lets none start meanwhile. Only an order begins
// it: a signal to the agent stops no pod. kubelet: nodeshutdown manager

import type { Removal } from "../../api/pod/desired-pod.ts";
import { normal, type RecordEvent } from "../../api/v1/events.ts";
import type { PodUID } from "../../api/v1/pod.ts";
import { priorityOf } from "../../api/resource/priority.ts";
import type { AgentConfig } from "../../config/config.ts";
import type { Edges } from "../../edges.ts";
import { compareText } from "../../lib/compare.ts";
import { messageOf } from "../../lib/errors.ts";
import { LatestBox } from "../../lib/mailbox.ts";
import { nameOf, removalOf } from "../../podworkers/plan-workers.ts";
import type { Pods } from "../../podworkers/pods.ts";
import { graceIn, groupOf, type ShutdownGroup, shutdownGroups } from "./shutdown-groups.ts";
import type { ShutdownState } from "./shutdown-state.ts";

export interface NodeShutdownOptions {
  readonly edges: Pick<Edges, "clock" | "log">;
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly record: RecordEvent;
  readonly state: ShutdownState;
  readonly pods: Pods;
  /** Begins to end pods for good. */
  readonly stop: (removals: readonly Removal[]) => void;
  /** Every pod of the sources and of the runtime has its worker: nothing is ended before. */
  readonly isSettled: () => boolean;
  /** Other pods may start now than before. */
  readonly onChange: () => void;
}

/** How far a shutdown is. */
export interface ShutdownView {
  readonly active: boolean;
  /** Whether every pod is known; before that, nothing is stopped and pods may be missing here. */
  readonly known: boolean;
  /** `namespace/name` of the pods that are left, sorted. */
  readonly pods: readonly string[];
  /** Most seconds that stopping them takes by their grace periods. */
  readonly seconds: number;
}

/** One life that has not ended. */
interface Left {
  readonly removal: Removal;
  readonly priority: number;
  /** undefined = unknown. */
  readonly grace: number | undefined;
  readonly isLeaving: boolean;
}

/** While the node shuts down, and then only. */
const POLL_MS = 500;
const AGAIN_MS = 2_000;
/** Of a pod whose spec is not there: Kubernetes' default grace period. */
const UNKNOWN_SECONDS = 30;

export class NodeShutdown {
  readonly #options: NodeShutdownOptions;
  readonly #groups: readonly ShutdownGroup[];
  readonly #begun = new LatestBox<true>();

  constructor(options: NodeShutdownOptions) {
    this.#options = options;
    this.#groups = shutdownGroups(options.config);
    if (options.state.isActive) this.#begun.put(true);
  }

  view(): ShutdownView {
    const left = this.#left();
    const pods = left.map(({ removal }) => nameOf(removal)).toSorted(compareText);
    const perGroup = this.#groups.map((group, index) =>
      Math.max(
        0,
        ...this.#of(index, left).map(({ grace }) => graceIn(group, grace) ?? UNKNOWN_SECONDS),
      ),
    );
    const seconds = perGroup.reduce((sum, one) => sum + one, 0);
    const { state, isSettled } = this.#options;
    return { active: state.isActive, known: isSettled(), pods: [...new Set(pods)], seconds };
  }

  /** Begun twice is begun once. */
  begin(): ShutdownView {
    const { state, edges, onChange } = this.#options;
    if (!state.isActive) {
      state.begin();
      edges.log.info("Shutdown", { pods: this.#left().length });
      this.#note("The node shuts down: all pods are stopped, none is started");
      this.#begun.put(true);
      onChange();
    }
    return this.view();
  }

  /** Pods that are being stopped come to their end, and start anew. Throws if that cannot be stored. */
  cancel(): ShutdownView {
    const { state, edges, onChange } = this.#options;
    if (state.isActive) {
      state.end();
      edges.log.info("ShutdownCancelled");
      this.#note("The shutdown was cancelled: pods start again");
      onChange();
    }
    return this.view();
  }

  async run(signal: AbortSignal): Promise<void> {
    while ((await this.#begun.take(signal)) !== undefined) {
      while (this.#goesOn(signal)) {
        try {
          await this.#stopAll(signal);
        } catch (error) {
          this.#options.edges.log.error("cannot stop the pods", { error: messageOf(error) });
        }
        // What has come up meanwhile is stopped as well.
        await this.#sleep(AGAIN_MS, signal);
      }
    }
  }

  async #stopAll(signal: AbortSignal): Promise<void> {
    const { isSettled } = this.#options;
    while (!isSettled() && this.#goesOn(signal)) await this.#sleep(POLL_MS, signal);
    for (const [index, group] of this.#groups.entries()) {
      if (!this.#goesOn(signal)) return;
      await this.#stopGroup(index, group, signal);
    }
  }

  /** Until the pods of the group are gone, or its time is over. */
  async #stopGroup(index: number, group: ShutdownGroup, signal: AbortSignal): Promise<void> {
    const { state, stop, edges, pods } = this.#options;
    const all = this.#of(index, this.#left());
    if (all.length === 0) return;
    const seconds = new Map(
      all.map(({ removal, grace }) => [removal.uid, graceIn(group, grace)] as const),
    );
    const running = all.filter(({ isLeaving }) => !isLeaving).map(({ removal }) => removal);
    if (running.length > 0) {
      state.add(new Map(running.map(({ uid }) => [uid, seconds.get(uid) ?? null])));
      edges.log.info("StopGroup", { priority: group.priority, pods: running.length });
      stop(running);
    }
    for (const [uid, most] of seconds)
      if (most !== undefined) pods.workers.get(uid)?.shortenGrace(most);
    const longest = Math.max(0, ...[...seconds.values()].map((most) => most ?? UNKNOWN_SECONDS));
    const until = edges.clock.monotonic() + 1000 * longest;
    const isLeft = (): boolean => this.#left().some(({ removal }) => seconds.has(removal.uid));
    while (this.#goesOn(signal) && isLeft() && edges.clock.monotonic() < until)
      await this.#sleep(POLL_MS, signal);
  }

  #goesOn(signal: AbortSignal): boolean {
    return this.#options.state.isActive && !signal.aborted;
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    await this.#options.edges.clock.sleep(ms, signal);
  }

  #of(index: number, left: readonly Left[]): readonly Left[] {
    return left.filter(({ priority }) => groupOf(this.#groups, priority) === index);
  }

  /** Pods that are being removed, and pods that run or will, in the runtime or not there yet. */
  #left(): readonly Left[] {
    const { pods, config, state } = this.#options;
    const { cache, statuses, workers } = pods;
    const leaving = workers.leaving();
    const isLeaving = new Set<PodUID>(leaving.map(({ uid }) => uid));
    const known = [...cache.all().values(), ...workers.list()]
      .filter(({ uid }) => !isLeaving.has(uid) && !statuses.isOver(uid))
      .map((pod) => [pod.uid, removalOf(pod, "Shutdown")] as const);
    const running = new Map(known).values();
    return [...leaving, ...running].map((removal): Left => {
      const pod = workers.get(removal.uid)?.desired?.pod;
      return {
        removal,
        priority: pod === undefined ? 0 : priorityOf(pod, config),
        // Of a removal that another process had begun there is no spec.
        grace: state.grace(removal.uid) ?? pod?.spec.terminationGracePeriodSeconds,
        isLeaving: isLeaving.has(removal.uid),
      };
    });
  }

  #note(message: string): void {
    const { record, nodeName } = this.#options;
    record({ ...normal("NodeShutdown", message), object: { kind: "Node", name: nodeName } });
  }
}
