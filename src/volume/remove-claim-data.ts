// Performs: removes the data of a persistentVolumeClaim, unless a pod uses it or may use it.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { referencesOf } from "../api/pod/object-references.ts";
import { podName } from "../api/v1/pod.ts";
import { messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { ClaimName, Claims } from "./claim-directory.ts";

export interface ClaimUsers {
  /** All pods that are desired, running or being stopped. */
  readonly pods: readonly DesiredPod[];
  /** Pods known only by name, for example because their source has not synced: each may use any claim. */
  readonly strangers: readonly ClaimName[];
  /** False = the sources have not synced, or the runtime has not answered yet. */
  readonly areKnown: boolean;
}

interface ClaimDataOptions {
  readonly claims: Pick<Claims, "list" | "removeData">;
  readonly users: ClaimUsers;
  readonly log: Logger;
}

const UNKNOWN = "the pods of this node are not known yet; try again in a moment";

/** Removes the data of a claim, unless a pod may still use it. */
export function removeClaimData(
  claim: ClaimName,
  { claims, users, log }: ClaimDataOptions,
): ClaimOutcome {
  if (!users.areKnown) return { type: "Failed", message: UNKNOWN };
  const pods = usersOf(claim, users);
  if (pods.length > 0) return { type: "InUse", pods };
  const name = `${claim.namespace}/${claim.name}`;
  try {
    if (!claims.list().some((known) => isSame(known, claim))) return { type: "NotFound" };
    claims.removeData(claim);
  } catch (error) {
    log.error("cannot remove the data of a claim", { claim: name, error: messageOf(error) });
    return { type: "Failed", message: messageOf(error) };
  }
  log.info("RemoveClaimData", { claim: name });
  return { type: "Removed" };
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

/** The result of removing a claim's data. */
export type ClaimOutcome =
  | { readonly type: "Removed" }
  /** Pods (`namespace/name`) that mount it and are desired or not gone yet. */
  | { readonly type: "InUse"; readonly pods: readonly string[] }
  /** There is no directory of this name. */
  | { readonly type: "NotFound" }
  | { readonly type: "Failed"; readonly message: string };
