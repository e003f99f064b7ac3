// Performs: removes what a claim holds, unless some pod may still be using it.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { referencesOf } from "../api/pod/object-references.ts";
import { podName } from "../api/v1/pod.ts";
import { messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { Claims } from "./claims.ts";

export interface ClaimUsers {
  /** All that are wanted, run or are being stopped. */
  readonly pods: readonly DesiredPod[];
  /** Pods of which only the name is known by now, such as those whose source has not spoken: each may use any claim. */
  readonly strangers: readonly NamedClaim[];
  /** False = the sources or the runtime have yet to tell of theirs. */
  readonly areKnown: boolean;
}

export interface ClaimDataOptions {
  readonly claims: Pick<Claims, "list" | "removeData">;
  readonly users: ClaimUsers;
  readonly log: Logger;
}

const UNKNOWN = "which pods run here is not known yet; try again in a moment";

export function removeClaimData(
  claim: NamedClaim,
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
    log.error("the data of a claim could not be removed", { claim: name, error: messageOf(error) });
    return { type: "Failed", message: messageOf(error) };
  }
  log.info("RemoveClaimData", { claim: name });
  return { type: "Removed" };
}

/** `namespace/name` of every pod that uses the claim, or may. */
export function usersOf(
  claim: NamedClaim,
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

function isSame(a: NamedClaim, b: NamedClaim): boolean {
  return a.namespace === b.namespace && a.name === b.name;
}

export interface NamedClaim {
  readonly namespace: string;
  readonly name: string;
}

/** What became of an order to remove a claim's directory. */
export type ClaimOutcome =
  | { readonly type: "Removed" }
  /** Pods (`namespace/name`) that are wanted or not gone yet, and mount it. */
  | { readonly type: "InUse"; readonly pods: readonly string[] }
  /** There is no directory of this name. */
  | { readonly type: "NotFound" }
  | { readonly type: "Failed"; readonly message: string };
