// Which pods a document asks for by now: the revision that each may run, and those it no longer names until they may go. Pure.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { devicesOf } from "../api/resource/devices.ts";
import { claimsConflict, hostPortClaims } from "../api/validation/host-ports.ts";
import { allContainers, podName, type Pod } from "../api/v1/pod.ts";
import type { RolloutStep } from "./next-step.ts";

export interface ListedPod {
  /** As the newest document has it. */
  readonly wanted: DesiredPod;
  /** The last good revision; absent = there is none, or it is lost. */
  readonly good: DesiredPod | undefined;
  /** It has ended well, and nothing of it is there: it is not done twice. */
  readonly isDone?: boolean;
  readonly step: Pick<RolloutStep, "run" | "standing">;
}

export interface UnlistedPod {
  readonly good: DesiredPod;
  /** Somebody keeps it from being changed. */
  readonly isHeld: boolean;
}

export interface RolloutPods {
  readonly pods: readonly DesiredPod[];
  /** Of them those that go when the others are there. */
  readonly lingering: readonly DesiredPod[];
  /** Names (`namespace/name`) under which whatever runs goes on: its spec is lost, and nothing else may take its place. */
  readonly held: readonly string[];
}

/**
 * `unlisted`: what runs of earlier documents under names that this one does not have. They stop last, so that a rename
 * is no outage, but at once where a new pod needs their host port, device or claim.
 */
export function rolloutPods(
  listed: readonly ListedPod[],
  unlisted: readonly UnlistedPod[],
): RolloutPods {
  const back = listed.flatMap(({ step, good }) => (step.run === "Good" ? (good ?? []) : []));
  const chosen = listed.flatMap((pod) => choose(pod, back) ?? []);
  const areThere = listed.every(({ step }) => hasArrived(step));
  const newcomers = chosen.map(({ pod }) => pod);
  const lingering = unlisted
    .filter(({ good, isHeld }) => isHeld || !(areThere || isInTheWay(good.pod, newcomers)))
    .map(({ good }) => good);
  const held = listed
    .filter(({ step, good }) => step.run === "Good" && good === undefined)
    .map(({ wanted }) => podName(wanted.pod));
  return { pods: [...chosen, ...lingering], lingering, held };
}

function choose(
  { wanted, good, step, isDone = false }: ListedPod,
  back: readonly DesiredPod[],
): DesiredPod | undefined {
  switch (step.run) {
    case "Wanted":
      // Whoever was there before has the right to its place when it comes back.
      return step.standing.type !== "Good" && takesPort(wanted, back) ? good : wanted;
    case "Good":
      return isDone ? undefined : good;
    case "Nothing":
      return undefined;
  }
}

function takesPort(newcomer: DesiredPod, back: readonly DesiredPod[]): boolean {
  const ports = hostPortClaims(newcomer.pod);
  const others = back.filter(({ pod }) => podName(pod) !== podName(newcomer.pod));
  return others.some(({ pod }) =>
    hostPortClaims(pod).some((port) => ports.some((own) => claimsConflict(port, own))),
  );
}

/** One that was taken back runs what ran before, and takes nobody's place. */
function hasArrived({ standing }: ListedPod["step"]): boolean {
  switch (standing.type) {
    case "Good":
    case "RolledBack":
      return true;
    case "OnTrial":
    case "Held":
    case "Failed":
      return false;
  }
}

function isInTheWay(old: Pod, newcomers: readonly Pod[]): boolean {
  const ports = hostPortClaims(old);
  const [devices, claims] = [devicePaths(old), claimNames(old)];
  return newcomers.some(
    (pod) =>
      hostPortClaims(pod).some((port) => ports.some((held) => claimsConflict(port, held))) ||
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
