// Carries the pods of one document through their updates: asks how they do, writes down what was decided, and says what
// may run. What it has said is on the disk.

import type { DecodeContext, JsonObject } from "../api/decode-context.ts";
import type { DesiredPod, SourceName } from "../api/desired-pod.ts";
import type { LocalObjects } from "../api/local-object.ts";
import { podName, type PodUID } from "../api/pod.ts";
import {
  NO_ROLLOUT,
  type GoodCopy,
  type PodOfSource,
  type Revision,
  type RolloutState,
} from "../api/rollout.ts";
import type { Monotonic } from "../lib/clock.ts";
import { goodCopy, pinnedObjects, readGoodCopy, type GoodPod } from "./good-copy.ts";
import { planRollout, released, type RolloutPolicy, type RolloutStep } from "./rollout.ts";
import { rolloutPods } from "./rollout-pods.ts";
import type { TrialFacts } from "./rollout-trial.ts";

/** The checkpoint. What `save` has returned from is on the disk; when it throws, nothing is. */
export interface RolloutStore {
  of(source: SourceName): ReadonlyMap<string, RolloutState>;
  copy(
    pod: PodOfSource,
  ): { readonly type: "Found"; readonly copy: GoodCopy } | { readonly type: "Lost" };
  save(
    changes: readonly (PodOfSource & { readonly state: RolloutState; readonly copy?: GoodCopy })[],
  ): void;
  forget(pods: readonly PodOfSource[]): void;
}

/** A pod as the newest document has it. */
export interface RolloutPod {
  readonly desired: DesiredPod;
  /** The object as its author wrote it. */
  readonly written: JsonObject;
}

export interface RolloutDocument {
  readonly generation: number;
  readonly policy: RolloutPolicy &
    Pick<TrialFacts, "minReadySeconds" | "progressDeadlineSeconds" | "retryFailed">;
  readonly pods: readonly RolloutPod[];
}

export interface DocumentRolloutsOptions {
  readonly source: SourceName;
  readonly store: RolloutStore;
  readonly bootId: string;
  /** To read a good copy with. */
  readonly context: Omit<DecodeContext, "lenient" | "locate" | "source" | "sourceRef">;
  readonly revision: (desired: DesiredPod, objects: LocalObjects) => Revision;
  /** What pods of this source find at this moment. */
  readonly objects: () => LocalObjects;
  /** How the pod of this UID does, and what else its trial depends on. */
  readonly facts: (
    desired: DesiredPod,
  ) => Pick<
    TrialFacts,
    "health" | "isMeantToFinish" | "registryAnswers" | "fatal" | "hold" | "upstream"
  >;
  /** Container name → what the runtime calls the image that the pod of this UID runs. */
  readonly images: (uid: PodUID) => Readonly<Record<string, string>>;
  readonly now: () => Monotonic;
}

/** What may run, and how it stands. */
export interface RolloutOutcome {
  readonly pods: readonly DesiredPod[];
  readonly steps: readonly RolloutStep[];
  /** When time alone may change it. */
  readonly reviewAt: Monotonic | undefined;
}

export class DocumentRollouts {
  readonly #options: DocumentRolloutsOptions;
  #document: RolloutDocument | undefined;
  #states = new Map<string, RolloutState>();
  readonly #good = new Map<string, { readonly revision: Revision; readonly pod: GoodPod }>();
  /** What runs the good revision although the document wants another. */
  #pinned: ReadonlyMap<PodUID, GoodPod> = new Map();

  constructor(options: DocumentRolloutsOptions) {
    this.#options = options;
    this.#states = new Map(options.store.of(options.source));
  }

  /** What the pod of this UID finds: what was there when it was good, while it is not to follow the document. */
  objectsOf(uid: PodUID): LocalObjects {
    const live = this.#options.objects();
    const pinned = this.#pinned.get(uid);
    return pinned === undefined ? live : pinnedObjects(pinned, live);
  }

  /** The image that a container must run, and no other; undefined = as its spec says. */
  imageOf(uid: PodUID, container: string): string | undefined {
    return this.#pinned.get(uid)?.images[container];
  }

  /** The accepted document; `review` tells what it means. */
  update(document: RolloutDocument): void {
    this.#document = document;
  }

  /** `agent release`: what has failed is tried again. False = no such pod. */
  release(name: string): boolean {
    const state = this.#states.get(name);
    if (state === undefined) return false;
    this.#states.set(name, released(state));
    return true;
  }

  /** Looks at all pods. Throws what the store throws; then nothing new is said, and it is to be called again. */
  review(): RolloutOutcome {
    const { now } = this.#options;
    const document = this.#document;
    if (document === undefined) return { pods: [], steps: [], reviewAt: undefined };
    const byName = new Map(document.pods.map((pod) => [podName(pod.desired.pod), pod]));
    const facts = [...byName].map(([name, pod]) => this.#facts(name, pod, document));
    const { source, store } = this.#options;
    const steps = planRollout(facts, document.policy, store.of(source));
    this.#save(steps, byName);
    for (const { name, state } of steps) this.#states.set(name, state);
    this.#pinned = this.#pin(steps, byName);
    const times = steps.map(({ reviewAt }) => reviewAt).filter((at) => at !== undefined);
    return {
      pods: this.#pods(steps, byName),
      steps,
      reviewAt: times.length === 0 ? undefined : Math.max(now(), Math.min(...times)),
    };
  }

  /** Pods of earlier documents that are gone: what was good of them is nobody's any more. */
  forgetGone(isThere: (name: string) => boolean): void {
    const { source, store } = this.#options;
    const listed = new Set(this.#document?.pods.map(({ desired }) => podName(desired.pod)));
    const gone = [...this.#states.keys()].filter((name) => !listed.has(name) && !isThere(name));
    store.forget(gone.map((name) => ({ source, name })));
    for (const name of gone) {
      this.#states.delete(name);
      this.#good.delete(name);
    }
  }

  #facts(name: string, { desired }: RolloutPod, document: RolloutDocument) {
    const { revision, objects, bootId, now, facts } = this.#options;
    const { minReadySeconds, progressDeadlineSeconds, retryFailed } = document.policy;
    const wanted = {
      revision: revision(desired, objects()),
      generation: document.generation,
    };
    const policy = { minReadySeconds, progressDeadlineSeconds, retryFailed };
    const state = this.#states.get(name) ?? NO_ROLLOUT;
    // A way back that cannot be read is none.
    const usable = state.good === undefined || this.#goodPod(name, state) !== undefined;
    const { good: _, ...withoutGood } = state;
    const known = usable || state.good?.revision === wanted.revision ? state : withoutGood;
    return {
      name,
      state: known,
      facts: { wanted, ...policy, ...facts(desired), now: now(), bootId },
    };
  }

  /** One transaction, with a whole copy of what has just become good. */
  #save(steps: readonly RolloutStep[], pods: ReadonlyMap<string, RolloutPod>): void {
    const { source, store, objects, images } = this.#options;
    const saved = store.of(source);
    store.save(
      steps
        .filter(({ save }) => save)
        .map(({ name, state }) => {
          const pod = pods.get(name);
          const isNew = state.good?.revision !== saved.get(name)?.good?.revision;
          if (state.good === undefined || pod === undefined || !isNew)
            return { source, name, state };
          const { desired, written } = pod;
          const found = { objects: objects(), images: images(desired.uid) };
          return { source, name, state, copy: goodCopy(desired, written, found) };
        }),
    );
  }

  /** Also of a pod that runs on until the images of its successor are here. */
  #pin(
    steps: readonly RolloutStep[],
    pods: ReadonlyMap<string, RolloutPod>,
  ): ReadonlyMap<PodUID, GoodPod> {
    return new Map(
      steps.flatMap(({ name, state, run }): [PodUID, GoodPod][] => {
        const good = this.#goodPod(name, state);
        if (good === undefined) return [];
        const isBefore = good.desired.uid !== pods.get(name)?.desired.uid;
        return run === "Good" || isBefore ? [[good.desired.uid, good]] : [];
      }),
    );
  }

  #pods(
    steps: readonly RolloutStep[],
    pods: ReadonlyMap<string, RolloutPod>,
  ): readonly DesiredPod[] {
    const listed = steps.flatMap((step) => {
      const pod = pods.get(step.name);
      const good = this.#goodPod(step.name, step.state)?.desired;
      return pod === undefined ? [] : [{ wanted: pod.desired, good, step }];
    });
    const unlisted = [...this.#states].flatMap(([name, state]) => {
      const good = pods.has(name) ? undefined : this.#goodPod(name, state);
      return good === undefined ? [] : [good.desired];
    });
    return rolloutPods(listed, unlisted).pods;
  }

  #goodPod(name: string, { good }: RolloutState): GoodPod | undefined {
    if (good === undefined) return undefined;
    const known = this.#good.get(name);
    if (known?.revision === good.revision) return known.pod;
    const { source, store, context } = this.#options;
    const found = store.copy({ source, name });
    if (found.type === "Lost") return undefined;
    const sourceRef = `generation ${good.generation}`;
    const pod = readGoodCopy(found.copy, { ...context, source, sourceRef });
    if (pod !== undefined) this.#good.set(name, { revision: good.revision, pod });
    return pod;
  }
}
