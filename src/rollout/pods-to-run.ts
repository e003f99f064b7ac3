// Which pods a document asks for by now: the revision that each listed pod may run, and the pods that it no longer lists
// until they may go.

import type { DesiredPod, SourceName } from "../api/pod/desired-pod.ts";
import { isMeantToFinish } from "../api/pod/restart-policy.ts";
import type { RolloutState } from "../api/pod/rollout.ts";
import type { UpdatePolicy } from "../api/pod/update-policy.ts";
import { devicesOf } from "../api/resource/devices.ts";
import { portConflict } from "../api/validation/host-ports.ts";
import { allContainers, podName, type Pod } from "../api/v1/pod.ts";
import type { JsonObject } from "../lib/json.ts";
import type { GoodPods } from "./good-revision.ts";
import type { RolloutStep } from "./rollback.ts";
import type { PodsOnNode } from "./pods-on-node.ts";
import type { UpdateHolds } from "./update-holds.ts";

/** A pod as the newest document has it. */
export interface RolloutPod {
  readonly desired: DesiredPod;
  /** The object as its author wrote it. */
  readonly written: JsonObject;
}

export interface RolloutDocument {
  readonly generation: number;
  readonly policy: UpdatePolicy;
  readonly pods: readonly RolloutPod[];
}

/** What the choice depends on beside the document. */
export interface NodeFacts {
  readonly source: SourceName;
  readonly states: ReadonlyMap<string, RolloutState>;
  readonly pods: Pick<
    PodsOnNode,
    "isThere" | "isKnown" | "isLeaving" | "isRunning" | "isKeptWaiting"
  >;
  readonly holds: Pick<UpdateHolds, "ofRunning">;
  readonly good: Pick<GoodPods, "of">;
}

/** A pod that the document names. */
export interface ListedPod {
  readonly wanted: DesiredPod;
  /** The last good revision; undefined = there is none, or it is lost. */
  readonly good: DesiredPod | undefined;
  /** It has ended well, and nothing of it is there: it does not run twice. */
  readonly isDone?: boolean;
  readonly step: Pick<RolloutStep, "run" | "status">;
}

/** A pod of an earlier document, under a name that this one does not have. */
interface UnlistedPod {
  readonly good: DesiredPod;
  /** A hold or a lock keeps it from being changed. */
  readonly isHeld: boolean;
  /** Of one that is held. */
  readonly step?: RolloutStep;
}

interface PodsToRun {
  readonly pods: readonly DesiredPod[];
  /** Names (`namespace/name`) under which what runs goes on: its spec is lost, and nothing else may take its place. */
  readonly held: readonly string[];
}

/** While its images or objects are awaited and nothing else runs, the last good revision runs: a node may have booted
 * meanwhile. */
export function untilFetched(
  step: RolloutStep,
  wanted: DesiredPod | undefined,
  { pods, good: goodPods }: NodeFacts,
): RolloutStep {
  const { run, status, state } = step;
  const isOpen = run === "Wanted" && status.type === "OnTrial" && state.trial?.started !== true;
  const good = isOpen ? goodPods.of(step.name, state)?.desired : undefined;
  if (wanted === undefined || good === undefined || wanted.stopFirst === true) return step;
  if (good.uid === wanted.uid || pods.isRunning(good.uid) || !pods.isKeptWaiting(wanted))
    return step;
  return { ...step, run: "Good" };
}

export function listedPods(
  steps: readonly RolloutStep[],
  byName: ReadonlyMap<string, RolloutPod>,
  { pods, good: goodPods }: NodeFacts,
): readonly ListedPod[] {
  return steps.flatMap((step) => {
    const pod = byName.get(step.name);
    const good = goodPods.of(step.name, step.state)?.desired;
    if (pod === undefined) return [];
    const isDone = good !== undefined && isMeantToFinish(good.pod.spec) && !pods.isKnown(good.uid);
    return [{ wanted: pod.desired, good, isDone, step }];
  });
}

export function unlistedPods(
  document: RolloutDocument,
  { source, pods, holds, good: goodPods, states }: NodeFacts,
): readonly UnlistedPod[] {
  const named = new Set(document.pods.map(({ desired }) => podName(desired.pod)));
  return [...states].flatMap(([name, state]): readonly UnlistedPod[] => {
    const isGone = named.has(name) || !pods.isThere(source, name);
    const good = isGone ? undefined : goodPods.of(name, state)?.desired;
    // A revision that does not run is not started only to linger, nor one that stops, such as for a file's pod of its name.
    if (good === undefined || !pods.isKnown(good.uid) || pods.isLeaving(good.uid)) return [];
    const why = holds.ofRunning(good, document.policy);
    if (why === undefined) return [{ good, isHeld: false }];
    const status = { type: "Held", why } as const;
    const stays = { name, run: "Good", status, state, save: false } as const;
    return [{ good, isHeld: true, step: { ...stays, reviewAt: undefined } }];
  });
}

/**
 * Unlisted pods stop last, so that a rename is no outage, but at once where a new pod needs their host port, device or
 * claim, and as soon as it could start where it needs their resources or place (preemption-order.ts).
 */
export function podsToRun(
  listed: readonly ListedPod[],
  unlisted: readonly UnlistedPod[],
): PodsToRun {
  const back = listed.flatMap(({ step, good }) => (step.run === "Good" ? (good ?? []) : []));
  const chosen = listed.flatMap((pod) => choose(pod, back) ?? []);
  const areThere = listed.every(({ step }) => hasArrived(step));
  const lingering = unlisted
    .filter(({ good, isHeld }) => isHeld || !(areThere || isInTheWay(good.pod, chosen)))
    .map(({ good, isHeld }) => (isHeld ? good : lingeringOf(good)));
  const held = listed
    .filter(({ step, good }) => step.run === "Good" && good === undefined)
    .map(({ wanted }) => podName(wanted.pod));
  return { pods: [...chosen, ...lingering], held };
}

const LINGERING = new WeakMap<DesiredPod, DesiredPod>();

/** Always the same object for the same pod: another one would be a change, after which everything is merged again. */
function lingeringOf(good: DesiredPod): DesiredPod {
  return LINGERING.getOrInsertComputed(good, () => ({ ...good, lingers: true }));
}

function choose(
  { wanted, good, step, isDone = false }: ListedPod,
  back: readonly DesiredPod[],
): DesiredPod | undefined {
  switch (step.run) {
    case "Wanted":
      // A pod that comes back has the right to the ports that it had.
      return step.status.type !== "Good" && takesPort(wanted, back) ? good : wanted;
    case "Good":
      return isDone ? undefined : good;
    case "Nothing":
      return undefined;
  }
}

function takesPort(newcomer: DesiredPod, back: readonly DesiredPod[]): boolean {
  const others = back.filter(({ pod }) => podName(pod) !== podName(newcomer.pod));
  return portConflict(newcomer.pod, others) !== undefined;
}

/** A pod that was rolled back runs what ran before, and needs no place of another pod. */
function hasArrived({ status }: ListedPod["step"]): boolean {
  switch (status.type) {
    case "Good":
    case "RolledBack":
      return true;
    case "OnTrial":
    case "Held":
    case "Failed":
      return false;
  }
}

function isInTheWay(old: Pod, newcomers: readonly DesiredPod[]): boolean {
  if (portConflict(old, newcomers) !== undefined) return true;
  const [devices, claims] = [devicePaths(old), claimNames(old)];
  return newcomers.some(
    ({ pod }) =>
      [...devicePaths(pod)].some((path) => devices.has(path)) ||
      [...claimNames(pod)].some((name) => claims.has(name)),
  );
}

function devicePaths(pod: Pod): ReadonlySet<string> {
  const all = allContainers(pod.spec).map((container) => devicesOf(pod, container));
  return new Set(
    all.flatMap(({ devices, cdiNames }) => [
      ...devices.map(({ hostPath }) => hostPath),
      ...cdiNames,
    ]),
  );
}

/** `namespace/name` of each claim. */
function claimNames({ metadata, spec }: Pod): ReadonlySet<string> {
  return new Set(
    spec.volumes.flatMap((volume) =>
      "persistentVolumeClaim" in volume
        ? [`${metadata.namespace}/${volume.persistentVolumeClaim.claimName}`]
        : [],
    ),
  );
}
