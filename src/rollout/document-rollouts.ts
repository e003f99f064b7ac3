// Performs: carries the pods of one document through their updates: asks how they do, writes down what was decided, and
// says what may run. What it has said is on the disk.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { LocalObject, LocalObjects } from "../api/v1/local-object.ts";
import { podName, type PodUID } from "../api/v1/pod.ts";
import { NO_ROLLOUT, type Revision, type RolloutState } from "../api/pod/rollout.ts";
import { policyOf } from "../api/pod/update-annotations.ts";
import type { Monotonic } from "../lib/clock.ts";
import { goodCopy, pinnedObjects, type GoodPod } from "./good-revision.ts";
import { GoodPods } from "./good-pods.ts";
import {
  isSameGood,
  paused,
  planRollout,
  released,
  stepByDisk,
  unattended,
  type PodOnRollout,
  type RolloutStep,
} from "./next-step.ts";
import type {
  DocumentRolloutsOptions,
  RolloutDocument,
  RolloutOutcome,
  RolloutPod,
} from "./rollout-document.ts";
import { rolloutPods } from "./rollout-pods.ts";
import { listedPods, unlistedPods, untilFetched } from "./rollout-choice.ts";
import { trialFacts, withStrategy } from "./trial-facts.ts";

const NOTHING = {
  generation: 0,
  pods: [],
  held: [],
  steps: [],
  repinned: [],
  reviewAt: undefined,
};
const HELD_AGAIN_MS = 5_000;
const SAVE_AGAIN_MS = 30_000;

export class DocumentRollouts {
  readonly #options: DocumentRolloutsOptions;
  readonly #good: GoodPods;
  #document: RolloutDocument | undefined;
  #states = new Map<string, RolloutState>();
  /** By name, of copies that are there, or were tried. */
  readonly #sealed = new Map<string, Revision>();
  readonly #watched = new Map<string, { readonly revision: Revision; readonly since: Monotonic }>();
  /** Pods that read newer content than was good. */
  readonly #beyond = new Set<PodUID>();
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
    const pods = document.pods.map(({ desired, written }) => ({
      desired: withStrategy(desired, document.policy),
      written,
    }));
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
    if (document === undefined) return NOTHING;
    const judged = document.pods.filter(({ desired }) => !isShadowed(desired));
    const byName = new Map(judged.map((pod) => [podName(pod.desired.pod), pod]));
    const onRollout = [...byName].map(([name, pod]) => this.#onRollout(name, pod, document));
    const planned = planRollout(
      onRollout.map(({ pod }) => pod),
      document.policy,
      store.of(source),
    );
    const saved = this.#save(planned, byName);
    const decided = saved.ok ? planned : this.#byDisk(planned, byName);
    const world = { ...this.#options, good: this.#good, states: this.#states };
    const steps = decided.map((step) => untilFetched(step, byName.get(step.name)?.desired, world));
    for (const { name, state } of planned)
      if (saved.ok || isSameGood(state, store.of(source).get(name))) this.#states.set(name, state);
    const repinned = this.#pin(steps, byName);
    const unlisted = unlistedPods(document, world);
    const { pods, held } = rolloutPods(listedPods(steps, byName, world), unlisted);
    const stays = unlisted.flatMap(({ step }) => step ?? []);
    const times = [
      ...steps.map(({ reviewAt }) => reviewAt),
      ...onRollout.map(({ reviewAt }) => reviewAt),
      ...(stays.length === 0 ? [] : [now() + HELD_AGAIN_MS]),
      ...(saved.ok ? [] : [now() + SAVE_AGAIN_MS]),
    ].filter((at) => at !== undefined);
    const shadowed = document.pods.filter(({ desired }) => isShadowed(desired));
    for (const { desired } of shadowed) this.#pause(podName(desired.pod));
    return {
      generation: document.generation,
      pods: [...pods, ...shadowed.map(({ desired }) => desired)],
      held,
      steps: [...steps, ...stays],
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
      for (const known of [this.#states, this.#sealed, this.#watched]) known.delete(name);
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
    const { good: lost, ...withoutGood } = state;
    const progress = progressOf(desired, policy);
    const facts = trialFacts({
      desired,
      before: good?.desired,
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
    const reviewAt = progress.hold === undefined ? undefined : progress.holdReviewAt;
    const pod = { name, state, facts, onFailure };
    if (usable || lost === undefined) return { pod, reviewAt };
    return { pod: { ...pod, state: withoutGood, lost }, reviewAt };
  }

  /** Nobody can try it as long as another source has its name. */
  #pause(name: string): void {
    const state = this.#states.get(name);
    if (state?.trial !== undefined) this.#states.set(name, paused(state, this.#options.now()));
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
    const { revision, objects, late } = this.#options;
    const isSameSpec = good !== undefined && good.desired.uid === desired.uid;
    // What was not there when it was good is not missed.
    const isLate = isSameSpec && late(desired).some((key) => good.objects.has(key));
    if (isLate && state.good !== undefined) return state.good.revision;
    return revision(desired, objects(desired));
  }

  /** One transaction, with a whole copy of what has just become good. */
  #save(
    steps: readonly RolloutStep[],
    pods: ReadonlyMap<string, RolloutPod>,
  ): { readonly ok: true } | { readonly ok: false; readonly trouble: unknown } {
    const { source, store, objects, images } = this.#options;
    const saved = store.of(source);
    const unsealed = this.#unsealed(steps, saved);
    const changes = steps
      .filter(({ save, name }) => save || unsealed.has(name))
      .map(({ name, state }) => {
        const pod = pods.get(name);
        const isNew =
          state.good?.revision !== saved.get(name)?.good?.revision || unsealed.has(name);
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

  /** What is good and wanted, and whose copy is lost with its key: the way back is made anew, once. */
  #unsealed(
    steps: readonly RolloutStep[],
    saved: ReadonlyMap<string, RolloutState>,
  ): ReadonlySet<string> {
    const lost = steps.filter(({ name, state, standing }) => {
      if (standing.type !== "Good" || state.good === undefined) return false;
      // What has just become good has no copy yet: the one that is there is its predecessor's.
      if (saved.get(name)?.good?.revision !== state.good.revision) return false;
      if (this.#sealed.get(name) === state.good.revision) return false;
      this.#sealed.set(name, state.good.revision);
      return this.#good.of(name, state) === undefined;
    });
    return new Set(lost.map(({ name }) => name));
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
      return pod === undefined
        ? step
        : stepByDisk(step, revision(pod, objects(pod)), saved.get(step.name));
    });
  }

  /** What has gone on to newer content does not go back to the old one only because its successor comes. */
  #noteBeyond(steps: readonly RolloutStep[], pods: ReadonlyMap<string, RolloutPod>): void {
    for (const { name, state, run, standing } of steps) {
      const uid = pods.get(name)?.desired.uid;
      const isSame = uid !== undefined && this.#good.of(name, state)?.desired.uid === uid;
      if (!isSame) continue;
      if (run === "Wanted" && standing.type !== "Good") this.#beyond.add(uid);
      else this.#beyond.delete(uid);
    }
  }

  /** Also of a pod that runs on until the images of its successor are here. Whoever finds something else from now on. */
  #pin(steps: readonly RolloutStep[], pods: ReadonlyMap<string, RolloutPod>): readonly PodUID[] {
    const before = this.#pinned;
    this.#noteBeyond(steps, pods);
    this.#pinned = new Map(
      steps.flatMap(({ name, state, run }): [PodUID, GoodPod][] => {
        const good = this.#good.of(name, state);
        if (good === undefined) return [];
        const { uid } = good.desired;
        const isBefore = uid !== pods.get(name)?.desired.uid && !this.#beyond.has(uid);
        return run === "Good" || isBefore ? [[uid, good]] : [];
      }),
    );
    return [...new Set([...before.keys(), ...this.#pinned.keys()])].filter(
      (uid) => before.get(uid) !== this.#pinned.get(uid),
    );
  }
}
