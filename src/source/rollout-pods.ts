// Which pods a document asks for by now: the revision that each may run, and those it no longer names until they may go. Pure.

import type { DesiredPod } from "../api/desired-pod.ts";
import { devicesOf } from "../api/devices.ts";
import { claimsConflict, hostPortClaims } from "../api/host-ports.ts";
import { allContainers, type Pod } from "../api/pod.ts";
import type { RolloutStep } from "./rollout.ts";

export interface ListedPod {
  /** As the newest document has it. */
  readonly wanted: DesiredPod;
  /** The last good revision; absent = there is none, or it is lost. */
  readonly good: DesiredPod | undefined;
  readonly step: Pick<RolloutStep, "run" | "standing">;
}

export interface RolloutPods {
  readonly pods: readonly DesiredPod[];
  /** Of them those that go when the others are there. */
  readonly lingering: readonly DesiredPod[];
}

/**
 * `unlisted`: what runs of earlier documents under names that this one does not have. They stop last, so that a rename
 * is no outage, but at once where a new pod needs their host port, device or claim.
 */
export function rolloutPods(
  listed: readonly ListedPod[],
  unlisted: readonly DesiredPod[],
): RolloutPods {
  const chosen = listed.flatMap((pod) => choose(pod) ?? []);
  const areThere = listed.every(({ step }) => hasArrived(step));
  const newcomers = chosen.map(({ pod }) => pod);
  const lingering = areThere ? [] : unlisted.filter(({ pod }) => !isInTheWay(pod, newcomers));
  return { pods: [...chosen, ...lingering], lingering };
}

/** A good copy that is lost cannot be run; what nobody has judged yet is better than nothing. */
function choose({ wanted, good, step }: ListedPod): DesiredPod | undefined {
  switch (step.run) {
    case "Wanted":
      return wanted;
    case "Good":
      return good ?? wanted;
    case "Nothing":
      return undefined;
  }
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
