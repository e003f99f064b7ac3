// Carries the pods of one document through their updates: asks how they do, writes down what was decided, and says what
// may run. What it has said is on the disk.

import type { DecodeContext } from "../api/decode-context.ts";
import type { DesiredPod, SourceName } from "../api/desired-pod.ts";
import type { LocalObject, LocalObjects } from "../api/local-object.ts";
import { podName, type PodUID } from "../api/pod.ts";
import { NO_ROLLOUT, type Revision, type RolloutState } from "../api/rollout.ts";
import { policyOf } from "../api/update-annotations.ts";
import type { Monotonic } from "../lib/clock.ts";
import { goodCopy, pinnedObjects, type GoodPod } from "./good-copy.ts";
import { GoodPods } from "./good-pods.ts";
import {
  planRollout,
  released,
  runByDisk,
  type PodOnRollout,
  type RolloutStep,
} from "./rollout.ts";
import type { RolloutDocument, RolloutPod, RolloutStore } from "./rollout-document.ts";
import { rolloutPods } from "./rollout-pods.ts";
import {
  trialFacts,
  type PodProgress,
  type TrialPolicy,
  type UpstreamFacts,
} from "./trial-facts.ts";

export interface DocumentRolloutsOptions {
  readonly source: SourceName;
  readonly store: RolloutStore;
  readonly bootId: string;
  /** To read a good copy with. */
  readonly context: Omit<DecodeContext, "lenient" | "locate" | "source" | "sourceRef">;
  readonly revision: (desired: DesiredPod, objects: LocalObjects) => Revision;
  /** What the pod finds at this moment, by the newest word of all sources. */
  readonly objects: (desired: DesiredPod) => LocalObjects;
  /** What it reads may still come: what is missing says nothing yet. */
  readonly isLate: (desired: DesiredPod) => boolean;
  /** Another source has its name: it is not this document's to run. */
  readonly isShadowed: (desired: DesiredPod) => boolean;
  /** Something of this `namespace/name` is there. */
  readonly isThere: (name: string) => boolean;
  /** How the pod of this UID does, and what else its trial depends on. */
  readonly progress: (desired: DesiredPod, policy: TrialPolicy) => PodProgress;
  readonly upstream: () => UpstreamFacts;
  /** Container name → what the runtime calls the image that the pod of this UID runs. */
  readonly images: (uid: PodUID) => Readonly<Record<string, string>>;
  readonly now: () => Monotonic;
}

/** What may run, and how it stands. */
export interface RolloutOutcome {
  readonly pods: readonly DesiredPod[];
  readonly steps: readonly RolloutStep[];
  /** Pods that find other objects or images from now on than they did before. */
  readonly repinned: readonly PodUID[];
  /** When time alone may change it. */
  readonly reviewAt: Monotonic | undefined;
  /** What could not be written down, so that only what the disk knows is done; absent = nothing. */
  readonly trouble?: unknown;
}

/** What could not be written down is tried again. */
const SAVE_AGAIN_MS = 30_000;

export class DocumentRollouts {
  readonly #options: DocumentRolloutsOptions;
  readonly #good: GoodPods;
  #document: RolloutDocument | undefined;
  #states = new Map<string, RolloutState>();
  readonly #watched = new Map<string, { readonly revision: Revision; readonly since: Monotonic }>();
  /** What runs the good revision although the document wants another. */
  #pinned: ReadonlyMap<PodUID, GoodPod> = new Map();

  constructor(options: DocumentRolloutsOptions) {
    this.#options = options;
    this.#good = new GoodPods(options);
    this.#states = new Map(
      [...options.store.of(options.source)].map(([name, state]) => [name, unattended(state)]),
    );
  }

  /** What the pod finds: what was there when it was good, while it is not to follow the document. */
  objectsOf(desired: DesiredPod): LocalObjects {
    const live = this.#options.objects(desired);
    const pinned = this.#pinned.get(desired.uid);
    return pinned === undefined ? live : pinnedObjects(pinned, live);
  }

  /** The image that a container must run, and no other; undefined = as its spec says. */
  imageOf(uid: PodUID, container: string): string | undefined {
    return this.#pinned.get(uid)?.images[container];
  }

  /** What pods find beside the newest word of the sources. */
  pinnedObjects(): readonly LocalObject[] {
    return [...this.#pinned.values()].flatMap(({ objects }) => [...objects.values()]);
  }

  /** The accepted document; `review` tells what it means. */
  update(document: RolloutDocument): void {
    const pods = document.pods.map(({ desired, written }) => {
      const { strategy } = policyOf(desired.pod, document.policy);
      return strategy === "stop-then-pull"
        ? { desired: { ...desired, stopFirst: true }, written }
        : { desired, written };
    });
    this.#document = { ...document, pods };
  }

  /** `agent release`: what has failed is tried again. False = no such pod. */
  release(name: string): boolean {
    const state = this.#states.get(name);
    if (state === undefined) return false;
    this.#states.set(name, released(state));
    return true;
  }

  /** Looks at all pods. To be called again whenever something of them, or what they read, has changed. */
  review(): RolloutOutcome {
    const { isShadowed, store, source, now } = this.#options;
    const document = this.#document;
    if (document === undefined) return { pods: [], steps: [], repinned: [], reviewAt: undefined };
    const judged = document.pods.filter(({ desired }) => !isShadowed(desired));
    const byName = new Map(judged.map((pod) => [podName(pod.desired.pod), pod]));
    const onRollout = [...byName].map(([name, pod]) => this.#onRollout(name, pod, document));
    const planned = planRollout(
      onRollout.map(({ pod }) => pod),
      document.policy,
      store.of(source),
    );
    const saved = this.#save(planned, byName);
    const steps = saved.ok ? planned : this.#byDisk(planned, byName);
    for (const { name, state } of saved.ok ? steps : []) this.#states.set(name, state);
    const repinned = this.#pin(steps, byName);
    const times = [
      ...steps.map(({ reviewAt }) => reviewAt),
      ...onRollout.map(({ reviewAt }) => reviewAt),
      ...(saved.ok ? [] : [now() + SAVE_AGAIN_MS]),
    ].filter((at) => at !== undefined);
    const shadowed = document.pods.filter(({ desired }) => isShadowed(desired));
    return {
      pods: [...this.#pods(steps, byName), ...shadowed.map(({ desired }) => desired)],
      steps,
      repinned,
      reviewAt: times.length === 0 ? undefined : Math.max(now(), Math.min(...times)),
      ...(saved.ok ? {} : { trouble: saved.trouble }),
    };
  }

  /** Pods of earlier documents that are gone: what was good of them is nobody's any more. */
  forgetGone(): void {
    const { source, store, isThere } = this.#options;
    if (this.#document === undefined) return;
    const listed = new Set(this.#document.pods.map(({ desired }) => podName(desired.pod)));
    const gone = [...this.#states.keys()].filter((name) => !listed.has(name) && !isThere(name));
    store.forget(gone.map((name) => ({ source, name })));
    for (const name of gone) {
      this.#states.delete(name);
      this.#good.forget(name);
    }
  }

  #onRollout(
    name: string,
    { desired }: RolloutPod,
    { generation, policy }: RolloutDocument,
  ): { readonly pod: PodOnRollout; readonly reviewAt: Monotonic | undefined } {
    const { bootId, now, progress: progressOf, upstream } = this.#options;
    const state = this.#states.get(name) ?? NO_ROLLOUT;
    const good = this.#good.of(name, state);
    const revision = this.#revisionOf(desired, state, good);
    // A way back that cannot be read is none.
    const usable = good !== undefined || state.good?.revision === revision;
    const { good: _, ...withoutGood } = state;
    const progress = progressOf(desired, policy);
    const facts = trialFacts({
      desired,
      revision,
      generation,
      policy,
      trial: state.trial,
      progress,
      upstream: upstream(),
      watchedSince: this.#watchedSince(name, revision),
      now: now(),
      bootId,
    });
    const { onFailure } = policyOf(desired.pod, policy);
    const known = usable ? state : withoutGood;
    const reviewAt = progress.hold === undefined ? undefined : progress.holdReviewAt;
    return { pod: { name, state: known, facts, onFailure }, reviewAt };
  }

  #watchedSince(name: string, revision: Revision): Monotonic {
    const known = this.#watched.get(name);
    if (known?.revision === revision) return known.since;
    const since = this.#options.now();
    this.#watched.set(name, { revision, since });
    return since;
  }

  /** While what it reads may still come, it is taken for what it was. */
  #revisionOf(desired: DesiredPod, state: RolloutState, good: GoodPod | undefined): Revision {
    const { revision, objects, isLate } = this.#options;
    const isSameSpec = good !== undefined && good.desired.uid === desired.uid;
    if (isSameSpec && state.good !== undefined && isLate(desired)) return state.good.revision;
    return revision(desired, objects(desired));
  }

  /** One transaction, with a whole copy of what has just become good. */
  #save(
    steps: readonly RolloutStep[],
    pods: ReadonlyMap<string, RolloutPod>,
  ): { readonly ok: true } | { readonly ok: false; readonly trouble: unknown } {
    const { source, store, objects, images } = this.#options;
    const saved = store.of(source);
    const changes = steps
      .filter(({ save }) => save)
      .map(({ name, state }) => {
        const pod = pods.get(name);
        const isNew = state.good?.revision !== saved.get(name)?.good?.revision;
        if (state.good === undefined || pod === undefined || !isNew) return { source, name, state };
        const { desired, written } = pod;
        const found = { objects: objects(desired), images: images(desired.uid) };
        return { source, name, state, copy: goodCopy(desired, written, found) };
      });
    try {
      store.save(changes);
      return { ok: true };
    } catch (trouble) {
      return { ok: false, trouble };
    }
  }

  /** Nothing new begins that a power cut could not find again. */
  #byDisk(
    steps: readonly RolloutStep[],
    pods: ReadonlyMap<string, RolloutPod>,
  ): readonly RolloutStep[] {
    const { source, store, objects, revision } = this.#options;
    const saved = store.of(source);
    return steps.map((step) => {
      const pod = pods.get(step.name)?.desired;
      if (pod === undefined) return step;
      const run = runByDisk(revision(pod, objects(pod)), saved.get(step.name));
      return step.run === run ? step : { ...step, run, standing: { type: "OnTrial" } };
    });
  }

  /** Also of a pod that runs on until the images of its successor are here. Whoever finds something else from now on. */
  #pin(steps: readonly RolloutStep[], pods: ReadonlyMap<string, RolloutPod>): readonly PodUID[] {
    const before = this.#pinned;
    this.#pinned = new Map(
      steps.flatMap(({ name, state, run }): [PodUID, GoodPod][] => {
        const good = this.#good.of(name, state);
        if (good === undefined) return [];
        const isBefore = good.desired.uid !== pods.get(name)?.desired.uid;
        return run === "Good" || isBefore ? [[good.desired.uid, good]] : [];
      }),
    );
    return [...new Set([...before.keys(), ...this.#pinned.keys()])].filter(
      (uid) => before.get(uid) !== this.#pinned.get(uid),
    );
  }

  #pods(
    steps: readonly RolloutStep[],
    pods: ReadonlyMap<string, RolloutPod>,
  ): readonly DesiredPod[] {
    const { isThere } = this.#options;
    const listed = steps.flatMap((step) => {
      const pod = pods.get(step.name);
      const good = this.#good.of(step.name, step.state)?.desired;
      return pod === undefined ? [] : [{ wanted: pod.desired, good, step }];
    });
    const named = new Set(this.#document?.pods.map(({ desired }) => podName(desired.pod)));
    const unlisted = [...this.#states].flatMap(([name, state]) => {
      if (named.has(name) || !isThere(name)) return [];
      return this.#good.of(name, state)?.desired ?? [];
    });
    return rolloutPods(listed, unlisted).pods;
  }
}

/** While no agent ran, nobody tried what had not begun: that time does not count. */
function unattended(state: RolloutState): RolloutState {
  const { trial } = state;
  return trial === undefined || trial.started
    ? state
    : { ...state, trial: { ...trial, counts: false } };
}
