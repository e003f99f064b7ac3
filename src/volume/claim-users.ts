// Which pods use a claim, or may.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { referencesOf } from "../api/pod/object-references.ts";
import { podName } from "../api/v1/pod.ts";
import type { ClaimName } from "./claim-directory.ts";

export interface ClaimUsers {
  /** All pods that are desired, running or being stopped. */
  readonly pods: readonly DesiredPod[];
  /** Pods known only by name, for example because their source has not synced: each may use any claim. */
  readonly strangers: readonly ClaimName[];
  /** False = the sources have not synced, or the runtime has not answered yet. */
  readonly areKnown: boolean;
}

/** `namespace/name` of every pod that uses the claim, or may. */
export function usersOf(
  claim: ClaimName,
  { pods, strangers }: Pick<ClaimUsers, "pods" | "strangers">,
): readonly string[] {
  const known = pods.filter(({ pod }) =>
    referencesOf(pod).some(
      (reference) => reference.kind === "PersistentVolumeClaim" && isSame(reference, claim),
    ),
  );
  const unknown = strangers.filter(({ namespace }) => namespace === claim.namespace);
  const names = [
    ...known.map(({ pod }) => podName(pod)),
    ...unknown.map(({ namespace, name }) => `${namespace}/${name}`),
  ];
  return [...new Set(names)].toSorted();
}

function isSame(a: ClaimName, b: ClaimName): boolean {
  return a.namespace === b.namespace && a.name === b.name;
}
