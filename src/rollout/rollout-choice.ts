// Which pods may run by now, by how each stands to its document and by what is there of it.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { podName } from "../api/v1/pod.ts";
import { isMeantToFinish } from "../api/pod/restart-policy.ts";
import type { RolloutState } from "../api/pod/rollout.ts";
import type { GoodPods } from "./good-pods.ts";
import type { DocumentRolloutsOptions, RolloutDocument, RolloutPod } from "./rollout-document.ts";
import type { ListedPod, UnlistedPod } from "./rollout-pods.ts";
import type { RolloutStep } from "./next-step.ts";

export interface RolloutWorld extends Pick<
  DocumentRolloutsOptions,
  "isThere" | "isKnown" | "isRunning" | "isKeptWaiting" | "holdOf"
> {
  readonly good: GoodPods;
  readonly states: ReadonlyMap<string, RolloutState>;
}

export interface Unlisted extends UnlistedPod {
  /** Of one that is held. */
  readonly step?: RolloutStep;
}

/** While its images or objects are awaited and nothing else runs, what was good does: a node may have booted meanwhile. */
export function untilFetched(
  step: RolloutStep,
  wanted: DesiredPod | undefined,
  { isRunning, isKeptWaiting, good: goodPods }: RolloutWorld,
): RolloutStep {
  const { run, standing, state } = step;
  const isOpen = run === "Wanted" && standing.type === "OnTrial" && state.trial?.started !== true;
  const good = isOpen ? goodPods.of(step.name, state)?.desired : undefined;
  if (wanted === undefined || good === undefined || wanted.stopFirst === true) return step;
  if (good.uid === wanted.uid || isRunning(good.uid) || !isKeptWaiting(wanted)) return step;
  return { ...step, run: "Good" };
}

/** What the document names. */
export function listedPods(
  steps: readonly RolloutStep[],
  pods: ReadonlyMap<string, RolloutPod>,
  { isKnown, good: goodPods }: RolloutWorld,
): readonly ListedPod[] {
  return steps.flatMap((step) => {
    const pod = pods.get(step.name);
    const good = goodPods.of(step.name, step.state)?.desired;
    if (pod === undefined) return [];
    const isDone = good !== undefined && isMeantToFinish(good.pod.spec) && !isKnown(good.uid);
    return [{ wanted: pod.desired, good, isDone, step }];
  });
}

/** What runs of earlier documents under other names. */
export function unlistedPods(
  { pods, policy }: RolloutDocument,
  { isThere, isKnown, holdOf, good: goodPods, states }: RolloutWorld,
): readonly Unlisted[] {
  const named = new Set(pods.map(({ desired }) => podName(desired.pod)));
  return [...states].flatMap(([name, state]): readonly Unlisted[] => {
    const good = named.has(name) || !isThere(name) ? undefined : goodPods.of(name, state);
    // Of another revision nothing is started only to linger.
    if (good === undefined || !isKnown(good.desired.uid)) return [];
    const why = holdOf(good.desired, policy);
    if (why === undefined) return [{ good: good.desired, isHeld: false }];
    const standing = { type: "Held", why } as const;
    const step = {
      name,
      run: "Good",
      standing,
      state,
      save: false,
      reviewAt: undefined,
    } as const;
    return [{ good: good.desired, isHeld: true, step }];
  });
}
