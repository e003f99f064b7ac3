// How a whole document runs: whether its pods have converged, and if not, how far they are and what is in the way.
// The acknowledgement (upstream/report/acknowledge.ts) puts this into phases, codes and messages.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { isMeantToFinish } from "../api/pod/restart-policy.ts";
import type { Failure, PodRolloutStatus } from "../api/pod/rollout.ts";
import type { UpdatePolicy } from "../api/pod/update-policy.ts";
import { policyOf } from "../api/pod/update-annotations.ts";
import { podName, type PodUID } from "../api/v1/pod.ts";
import { earliest, type Monotonic } from "../lib/clock.ts";
import { hasFailed, isWell, provenAt, type PodHealth } from "./pod-health.ts";

/** A pod that is not there yet, and how far it is; `health` undefined = it has not been started. */
export interface LatePod {
  /** `namespace/name`. */
  readonly name: string;
  readonly health: PodHealth | undefined;
}

/** One verdict for all pods of a document: the worst. */
export type DocumentHealth =
  /** Every pod is where the document wants it. */
  | { readonly type: "Converged" }
  /** Its revision has failed, and what was good before runs. `lastGood`: the lowest generation that runs instead. */
  | {
      readonly type: "RolledBack";
      readonly name: string;
      readonly why: Failure;
      readonly isKnownBad: boolean;
      readonly lastGood: number | undefined;
    }
  /** Its revision has failed, without a way back. */
  | { readonly type: "Failed"; readonly name: string; readonly why: Failure }
  | { readonly type: "Held"; readonly name: string; readonly why: string }
  /** It ran well, or has crashed too often. `pod` undefined = what failed is well again, but not for long enough. */
  | { readonly type: "Degraded"; readonly pod: LatePod | undefined }
  /** Nothing of it has been started. */
  | { readonly type: "Received" }
  | { readonly type: "Downloading"; readonly pod: LatePod }
  | { readonly type: "Applying"; readonly pod: LatePod }
  /** Its own pods are Ready; so many pods that it does not want are still there. */
  | { readonly type: "Stopping"; readonly leftovers: number }
  /** `pod` undefined = all are Ready, but not for long enough. */
  | { readonly type: "Progressing"; readonly pod: LatePod | undefined }
  /** All are Ready, and a trial among them is not over. */
  | { readonly type: "Unproven" };

interface DocumentJudgement {
  readonly health: DocumentHealth;
  /** When time alone may change the verdict; undefined = only events can. */
  readonly reviewAt: Monotonic | undefined;
}

/** What the node knows of a document's pods. */
export interface DocumentPods {
  readonly pods: readonly DesiredPod[];
  /** A pod that is not in it has not been started. */
  readonly health: ReadonlyMap<PodUID, PodHealth>;
  /** Pods that a source of higher precedence shadows (`isShadowed`): this document does not run them. */
  readonly shadowed: ReadonlySet<PodUID>;
  /** Pods of this source that are still there and not in the document itself. Asking the merge instead would call a
   * document converged in the moment between its acceptance and the merge. */
  readonly leftovers: number;
  /** Absent = the pods are of files, which have no policy. */
  readonly policy?: UpdatePolicy;
  /** How its updates stand; empty = none was judged. */
  readonly rollout: readonly PodRolloutStatus[];
  /** This version converged before, maybe in an earlier life of the agent. */
  readonly hasConverged: boolean;
  /** What this version was last, if it was either. */
  readonly before: "Healthy" | "Degraded" | undefined;
  readonly now: Monotonic;
}

const FILE_MIN_READY_SECONDS = 10;

/** A trial that has ended counts first: the pods may do well although what runs is not what the document asks for. */
export function judgeHealth(document: DocumentPods): DocumentJudgement {
  const ended = endedTrial(document.rollout);
  if (ended !== undefined) return { health: ended, reviewAt: undefined };
  const judged = judgePods(document);
  const isOnTrial = document.rollout.some(({ status }) => status.type === "OnTrial");
  if (!isOnTrial) return judged;
  const { health } = judged;
  // Whether it has failed is the trial's decision.
  if (health.type === "Degraded") return { ...judged, health: { ...health, type: "Progressing" } };
  if (health.type === "Converged") return { health: { type: "Unproven" }, reviewAt: undefined };
  return judged;
}

/** Rolled back before failed before held; undefined = no trial has ended badly, none is held. */
function endedTrial(rollout: readonly PodRolloutStatus[]): DocumentHealth | undefined {
  const rolledBack = rollout.flatMap(({ name, status, goodGeneration }) =>
    status.type === "RolledBack" ? [{ ...status, name, goodGeneration }] : [],
  );
  const [first] = rolledBack;
  if (first !== undefined) {
    const { name, why, isKnownBad } = first;
    const good = rolledBack.flatMap(({ goodGeneration }) => goodGeneration ?? []);
    const lastGood = good.length === 0 ? undefined : Math.min(...good);
    return { type: "RolledBack", name, why, isKnownBad, lastGood };
  }
  for (const { name, status } of rollout)
    if (status.type === "Failed") return { type: "Failed", name, why: status.why };
  for (const { name, status } of rollout)
    if (status.type === "Held") return { type: "Held", name, why: status.why };
  return undefined;
}

function judgePods(document: DocumentPods): DocumentJudgement {
  const { pods, shadowed, leftovers, now } = document;
  const own = pods.filter(({ uid }) => !shadowed.has(uid));
  const proofs = own.map((pod) => proofOf(pod, document));
  const isProven = proofs.every((at) => at !== undefined && at <= now);
  if (leftovers === 0 && isProven) return { health: { type: "Converged" }, reviewAt: undefined };
  const ahead = proofs.filter((at) => at !== undefined && at > now);
  return { health: unconverged(own, document), reviewAt: earliest(ahead) };
}

/** What converged in an earlier life of the agent need not prove itself again. */
function proofOf(desired: DesiredPod, document: DocumentPods): Monotonic | undefined {
  const { health, policy, hasConverged, before } = document;
  const isProven = hasConverged && before !== "Degraded";
  const minReadySeconds =
    policy === undefined ? FILE_MIN_READY_SECONDS : policyOf(desired.pod, policy).minReadySeconds;
  return provenAt(health.get(desired.uid), {
    isMeantToFinish: isMeantToFinish(desired.pod.spec),
    minReadySeconds: isProven ? 0 : minReadySeconds,
    since: Number.NEGATIVE_INFINITY,
  });
}

function unconverged(pods: readonly DesiredPod[], document: DocumentPods): DocumentHealth {
  const { health, before, leftovers } = document;
  const notWell = pods.find((pod) => !isWell(pod, health.get(pod.uid)));
  const late = (pod: DesiredPod): LatePod => ({
    name: podName(pod.pod),
    health: health.get(pod.uid),
  });
  const failed = pods.find(({ uid }) => hasFailed(health.get(uid)));
  // Degraded ends when everything has been Ready long enough, not with the next restart of what crashes.
  const broken = failed ?? (before === undefined ? undefined : notWell);
  if (broken !== undefined) return { type: "Degraded", pod: late(broken) };
  if (before === "Degraded") return { type: "Degraded", pod: undefined };
  const downloading = pods.find(({ uid }) => health.get(uid)?.stage === "Downloading");
  if (downloading !== undefined) return { type: "Downloading", pod: late(downloading) };
  if (pods.length > 0 && pods.every(({ uid }) => !health.has(uid))) return { type: "Received" };
  const waiting = pods.find(({ uid }) => isBeforeStart(health.get(uid)));
  if (waiting !== undefined) return { type: "Applying", pod: late(waiting) };
  if (notWell !== undefined) return { type: "Progressing", pod: late(notWell) };
  if (leftovers > 0) return { type: "Stopping", leftovers };
  return { type: "Progressing", pod: undefined };
}

function isBeforeStart(health: PodHealth | undefined): boolean {
  return health === undefined || health.stage === "Pending" || health.stage === "Terminating";
}
