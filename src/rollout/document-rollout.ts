// Performs: carries the pods of one document through their updates: collects the facts, has the next step of each pod
// decided, writes the decision to the disk, and answers which pods may run. What it has answered is on the disk.

import type { DesiredPod, SourceName } from "../api/pod/desired-pod.ts";
import { revisionOf } from "../api/pod/revision.ts";
import { NO_ROLLOUT, type Revision, type RolloutState } from "../api/pod/rollout.ts";
import { policyOf } from "../api/pod/update-annotations.ts";
import type { LocalObject, LocalObjects } from "../api/v1/object/local-object.ts";
import { podName, type PodUID } from "../api/v1/pod.ts";
import type { Edges } from "../edges.ts";
import { podImages } from "../image/gc/pod-images.ts";
import { earliest, type Monotonic } from "../lib/clock.ts";
import type { Store } from "../store/store.ts";
import type { SourceSnapshots } from "../source/source-snapshots.ts";
import { GoodPods, goodCopy, pinnedObjects, type GoodPod } from "./good-revision.ts";
import { paused, planRollout, unattended } from "./plan-rollout.ts";
import type { RolloutStep } from "./rollback.ts";
import {
  listedPods,
  podsToRun,
  unlistedPods,
  untilFetched,
  type RolloutDocument,
  type RolloutPod,
} from "./pods-to-run.ts";
import type { PodsOnNode, PodsOnNodeOptions } from "./pods-on-node.ts";
import type { UpstreamFacts } from "./require-upstream.ts";
import type { UpdateHolds } from "./update-holds.ts";
import { withStrategy, trialFacts, type PodOnRollout } from "./trial-facts.ts";
import { forgetBad } from "./bad-revisions.ts";
import { isSameGood, mustSave } from "./checkpoint.ts";
import { stepByDisk } from "./full-disk.ts";

/** The checkpoint. What `save` has returned from is on the disk; when it throws, nothing is. */
export type RolloutStore = Pick<Store["rollouts"], "of" | "copy" | "save" | "forget">;

export interface DocumentRolloutOptions {
  readonly source: SourceName;
  readonly store: RolloutStore;
  readonly edges: Pick<Edges, "bootId" | "sha256" | "meter"> & Pick<PodsOnNodeOptions, "clock">;
  readonly nodeName: string;
  readonly secrets: PodsOnNodeOptions["secrets"];
  /** What the sources ask for now, before updates are judged. */
  readonly written: Pick<SourceSnapshots, "objectsFor" | "late" | "isShadowed">;
  readonly pods: Pick<
    PodsOnNode,
    | "areAllKnown"
    | "isThere"
    | "isKnown"
    | "isLeaving"
    | "isRunning"
    | "isKeptWaiting"
    | "progressOf"
    | "imagesOf"
  >;
  readonly holds: Pick<UpdateHolds, "of" | "ofUpdate" | "ofRunning">;
  readonly upstream: () => UpstreamFacts;
}

/** What may run, and how each pod stands. */
export interface RolloutOutcome {
  /** Of the document that was judged; 0 = there is none. */
  readonly generation: number;
  readonly pods: readonly DesiredPod[];
  /** Names (`namespace/name`) under which what runs goes on. */
  readonly held: readonly string[];
  readonly steps: readonly RolloutStep[];
  /** Pods that find other objects or images from now on than they did before. */
  readonly repinned: readonly PodUID[];
  /** When time alone may change it. */
  readonly reviewAt: Monotonic | undefined;
  /** Why the decision could not be written down, so that only what the disk knows is done; absent = it was written. */
  readonly trouble?: unknown;
}

/** References of images, of the pod `namespace/name`. */
export interface GoodImages {
  readonly name: string;
  readonly references: readonly string[];
}

const NOTHING = { generation: 0, pods: [], held: [], steps: [], repinned: [], reviewAt: undefined };
const HELD_AGAIN_MS = 5_000;
const SAVE_AGAIN_MS = 30_000;

export class DocumentRollout {
  readonly #options: DocumentRolloutOptions;
  readonly #good: GoodPods;
  #document: RolloutDocument | undefined;
  readonly #states: Map<string, RolloutState>;
  /** By name: revisions whose copy was found, or was made anew. */
  readonly #sealed = new Map<string, Revision>();
  readonly #watched = new Map<string, { readonly revision: Revision; readonly since: Monotonic }>();
  /** Pods that have read newer content than their good revision had. */
  readonly #beyond = new Set<PodUID>();
  /** Pods that run the good revision although the document wants another. */
  #pinned: ReadonlyMap<PodUID, GoodPod> = new Map();

  constructor(options: DocumentRolloutOptions) {
    this.#options = options;
    const { source, store, nodeName, edges } = options;
    const context = { ref: source, nodeName, sha256: edges.sha256 };
    this.#good = new GoodPods({ source, store, context });
    this.#states = new Map([...store.of(source)].map(([name, state]) => [name, unattended(state)]));
  }

  /** What the pod finds: the content of its good revision while it does not follow the document. */
  objectsOf(desired: DesiredPod): LocalObjects {
    const live = this.#options.written.objectsFor(desired);
    const pinned = this.#pinned.get(desired.uid);
    return pinned === undefined ? live : pinnedObjects(pinned, live);
  }

  /** The image that a container must run, and no other; undefined = the one of its spec. */
  imageOf(uid: PodUID, container: string): string | undefined {
    return this.#pinned.get(uid)?.images[container];
  }

  /** What a rollback of each pod needs: the image references of its good revision, also those that it really ran. */
  goodImages(): readonly GoodImages[] {
    return [...this.#states].flatMap(([name, state]) => {
      const good = this.#good.of(name, state);
      if (good === undefined) return [];
      return [
        { name, references: [...podImages(good.desired.pod), ...Object.values(good.images)] },
      ];
    });
  }

  /** What pods find beside the newest snapshots of the sources. */
  pinnedObjects(): readonly LocalObject[] {
    return [...this.#pinned.values()].flatMap(({ objects }) => [...objects.values()]);
  }

  /** Takes the accepted document; `review` decides what it means. */
  update(document: RolloutDocument): void {
    const pods = document.pods.map(({ desired, written }) => ({
      desired: withStrategy(desired, document.policy),
      written,
    }));
    this.#document = { ...document, pods };
  }

  /** `agent release`: tries again what has failed. */
  release(name: string): void {
    const state = this.#states.get(name);
    if (state !== undefined) this.#states.set(name, forgetBad(state));
  }

  /** Looks at all pods. To be called again whenever one of them, or what they read, has changed. */
  review(): RolloutOutcome {
    const { written, store, source, edges } = this.#options;
    const document = this.#document;
    if (document === undefined) return NOTHING;
    // 1. The facts of each pod.
    const shadowed = document.pods.filter(({ desired }) => written.isShadowed(desired));
    const judged = document.pods.filter((pod) => !shadowed.includes(pod));
    const byName = new Map(judged.map((pod) => [podName(pod.desired.pod), pod]));
    const onRollout = [...byName].map(([name, pod]) => this.#onRollout(name, pod, document));
    // 2. The decision, on the disk before it takes effect.
    const planned = planRollout(
      onRollout.map(({ pod }) => pod),
      document.policy,
      store.of(source),
    );
    const saved = this.#save(planned, byName);
    const decided = saved.ok ? planned : this.#byDisk(planned, byName);
    // 3. The pods that may run by now.
    const node = { ...this.#options, good: this.#good, states: this.#states };
    const steps = decided.map((step) => untilFetched(step, byName.get(step.name)?.desired, node));
    for (const { name, state } of planned)
      if (saved.ok || isSameGood(state, store.of(source).get(name))) this.#states.set(name, state);
    const taken = shadowed.map(({ desired }) => podName(desired.pod));
    const repinned = this.#pin(steps, byName, taken);
    const unlisted = unlistedPods(document, node);
    const { pods, held } = podsToRun(listedPods(steps, byName, node), unlisted);
    const stays = unlisted.flatMap(({ step }) => step ?? []);
    // 4. When to look again.
    const now = edges.clock.monotonic();
    const reviewAt = earliest([
      ...steps.map((step) => step.reviewAt),
      ...onRollout.map((pod) => pod.reviewAt),
      ...(stays.length === 0 ? [] : [now + HELD_AGAIN_MS]),
      ...(saved.ok ? [] : [now + SAVE_AGAIN_MS]),
    ]);
    this.#pause(taken);
    return {
      generation: document.generation,
      pods: [...pods, ...shadowed.map(({ desired }) => desired)],
      held,
      steps: [...steps, ...stays],
      repinned,
      reviewAt: reviewAt === undefined ? undefined : Math.max(now, reviewAt),
      ...(saved.ok ? {} : { trouble: saved.trouble }),
    };
  }

  /** Forgets the good revisions of pods of earlier documents that are gone. */
  forgetGone(): void {
    const { source, store, pods } = this.#options;
    if (this.#document === undefined) return;
    const listed = new Set(this.#document.pods.map(({ desired }) => podName(desired.pod)));
    const gone = [...this.#states.keys()].filter(
      (name) => !listed.has(name) && !pods.isThere(source, name),
    );
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
    const { edges, pods, holds, upstream } = this.#options;
    const state = this.#states.get(name) ?? NO_ROLLOUT;
    const good = this.#good.of(name, state);
    const revision = this.#revisionOf(desired, state, good);
    // A way back that cannot be read is none.
    const usable = good !== undefined || state.good?.revision === revision;
    const { good: lost, ...withoutGood } = state;
    const isUpdate = state.good !== undefined && state.good.revision !== revision;
    const hold = isUpdate ? holds.ofUpdate(desired, policy) : holds.of(desired, policy);
    const progress = { ...pods.progressOf(desired), ...hold };
    const facts = trialFacts({
      desired,
      before: good?.desired,
      wanted: { revision, generation },
      policy,
      trial: state.trial,
      progress,
      connection: upstream(),
      watchedSince: this.#watchedSince(name, revision),
      now: edges.clock.monotonic(),
      bootId: edges.bootId,
    });
    const { onFailure } = policyOf(desired.pod, policy);
    const pod = { name, state, facts, onFailure };
    const reviewAt = hold.holdReviewAt;
    if (usable || lost === undefined) return { pod, reviewAt };
    return { pod: { ...pod, state: withoutGood, lost }, reviewAt };
  }

  /** Pods cannot be tried as long as another source has their names. */
  #pause(names: readonly string[]): void {
    const { edges, source, store } = this.#options;
    const saved = store.of(source);
    const changes = names.flatMap((name) => {
      const before = this.#states.get(name);
      if (before?.trial === undefined) return [];
      const state = paused(before, edges.clock.monotonic());
      this.#states.set(name, state);
      return mustSave(state, saved.get(name)) ? [{ source, name, state }] : [];
    });
    try {
      if (changes.length > 0) store.save(changes);
    } catch {
      // A clock may lag behind on a full disk; the next review writes it.
    }
  }

  #watchedSince(name: string, revision: Revision): Monotonic {
    const known = this.#watched.get(name);
    if (known?.revision === revision) return known.since;
    const since = this.#options.edges.clock.monotonic();
    this.#watched.set(name, { revision, since });
    return since;
  }

  /** While what it reads may still come, it counts as the revision that it was. */
  #revisionOf(desired: DesiredPod, state: RolloutState, good: GoodPod | undefined): Revision {
    const { written } = this.#options;
    const isSameSpec = good !== undefined && good.desired.uid === desired.uid;
    // What was missing when it was good is not awaited.
    const isLate = isSameSpec && written.late(desired).some((key) => good.objects.has(key));
    if (isLate && state.good !== undefined) return state.good.revision;
    return this.#writtenRevision(desired);
  }

  #writtenRevision(desired: DesiredPod): Revision {
    const { written, edges, secrets } = this.#options;
    const secretDigest = (text: string): string => secrets.configDigest(text);
    const objects = written.objectsFor(desired);
    return revisionOf(desired, { objects, sha256: edges.sha256, secretDigest });
  }

  /** One transaction, with a whole copy of what has just become good. */
  #save(
    steps: readonly RolloutStep[],
    pods: ReadonlyMap<string, RolloutPod>,
  ): { readonly ok: true } | { readonly ok: false; readonly trouble: unknown } {
    const { source, store, written: sources, pods: onNode } = this.#options;
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
        const found = {
          objects: sources.objectsFor(desired),
          images: onNode.imagesOf(desired.uid),
        };
        return { source, name, state, copy: goodCopy(desired, written, found) };
      });
    try {
      store.save(changes);
    } catch (trouble) {
      return { ok: false, trouble };
    }
    this.#countRollbacks(steps);
    return { ok: true };
  }

  /** At the moment of each: later reviews find the revision known as bad, and have nothing to save. */
  #countRollbacks(steps: readonly RolloutStep[]): void {
    for (const { save, status } of steps)
      if (save && status.type === "RolledBack" && !status.isKnownBad)
        this.#options.edges.meter?.count("agent_rollbacks_total", { reason: status.why.reason });
  }

  /** Pods that are good and whose copy is lost with its key: the copy is made anew, once. */
  #unsealed(
    steps: readonly RolloutStep[],
    saved: ReadonlyMap<string, RolloutState>,
  ): ReadonlySet<string> {
    // It names the images that run.
    if (!this.#options.pods.areAllKnown) return new Set();
    const lost = steps.filter(({ name, state, status }) => {
      if (status.type !== "Good" || state.good === undefined) return false;
      // What has just become good has no copy yet: the stored one is its predecessor's.
      if (saved.get(name)?.good?.revision !== state.good.revision) return false;
      if (this.#sealed.get(name) === state.good.revision) return false;
      this.#sealed.set(name, state.good.revision);
      return this.#good.of(name, state) === undefined;
    });
    return new Set(lost.map(({ name }) => name));
  }

  /** While the disk takes nothing, no step begins that would be forgotten at a power cut. */
  #byDisk(
    steps: readonly RolloutStep[],
    pods: ReadonlyMap<string, RolloutPod>,
  ): readonly RolloutStep[] {
    const { source, store } = this.#options;
    const saved = store.of(source);
    return steps.map((step) => {
      const pod = pods.get(step.name)?.desired;
      return pod === undefined
        ? step
        : stepByDisk(step, this.#writtenRevision(pod), saved.get(step.name));
    });
  }

  /** A pod that has gone on to newer content does not go back to the old one only because its successor comes. */
  #noteBeyond(steps: readonly RolloutStep[], pods: ReadonlyMap<string, RolloutPod>): void {
    for (const { name, state, run, status } of steps) {
      const uid = pods.get(name)?.desired.uid;
      const isSame = uid !== undefined && this.#good.of(name, state)?.desired.uid === uid;
      if (!isSame) continue;
      if (run === "Wanted" && status.type !== "Good") this.#beyond.add(uid);
      else this.#beyond.delete(uid);
    }
  }

  /** Also pins a pod that runs on until the images of its successor are here. `taken`: names that another source has.
   * Returns the pods that find something else from now on. */
  #pin(
    steps: readonly RolloutStep[],
    pods: ReadonlyMap<string, RolloutPod>,
    taken: readonly string[],
  ): readonly PodUID[] {
    const before = this.#pinned;
    this.#noteBeyond(steps, pods);
    const judged = steps.flatMap(({ name, state, run }): [PodUID, GoodPod][] => {
      const good = this.#good.of(name, state);
      if (good === undefined) return [];
      const { uid } = good.desired;
      const isBefore = uid !== pods.get(name)?.desired.uid && !this.#beyond.has(uid);
      return run === "Good" || isBefore ? [[uid, good]] : [];
    });
    // One whose name another source has taken runs until it is replaced, and finds until then what it found.
    const replaced = [...before].filter(([, { desired }]) => taken.includes(podName(desired.pod)));
    this.#pinned = new Map([...replaced, ...judged]);
    return [...new Set([...before.keys(), ...this.#pinned.keys()])].filter(
      (uid) => before.get(uid) !== this.#pinned.get(uid),
    );
  }
}
