// How the accepted document runs, as one acknowledgement: phase, code, what has converged (MQTT.md §3, §4). Pure.

import type { DocumentState } from "../../protocol/desired-document.ts";
import type { DesiredPod, Rejection } from "../../api/pod/desired-pod.ts";
import { podName, type PodUID } from "../../api/v1/pod.ts";
import { isMeantToFinish } from "../../api/pod/restart-policy.ts";
import type { PodStanding } from "../../api/pod/rollout.ts";
import type { UpdatePolicy } from "../../api/pod/update-policy.ts";
import { rfc3339, type Monotonic } from "../../lib/clock.ts";
import type { PodHealth } from "../../rollout/pod-health.ts";
import type { Ack, LastRejected, Progress } from "../../protocol/reported-state.ts";
import { isOnTrial, rolloutSaid } from "../../rollout/rollout-ack.ts";
import { reportedSource, wireText } from "../../protocol/wire-text.ts";

/** What the node knows of the pods, and when. */
export interface RunningFacts {
  /** A pod that is not in it has not been started. */
  readonly health: ReadonlyMap<PodUID, PodHealth>;
  /** Pods of the document that a source of higher precedence shadows (`shadowedAmong`): they are not its to run. */
  readonly shadowed: ReadonlySet<PodUID>;
  /** Pods of this source that are still there and not in the document itself. Asking the merge instead would call a
   * document converged in the moment between its acceptance and the merge. */
  readonly leftovers: number;
  readonly now: Monotonic;
  /** Wall ms, for `since` only. */
  readonly wall: number;
  /** What was decided last for this source. */
  readonly previous: Ack | undefined;
}

export interface Acknowledgement {
  readonly ack: Ack;
  /** Of the document whose place this one took; the last time beside the word that this one has converged. */
  readonly superseded?: Ack;
  /** Every pod is where the document wants it; `observedGeneration` is to be written down. */
  readonly converged: boolean;
  /** When time alone may change the answer; undefined = only events can. */
  readonly reviewAt: Monotonic | undefined;
}

type ReadyPolicy = Pick<UpdatePolicy, "minReadySeconds">;

const UNPROVEN = "its pods are ready, and have yet to prove themselves";
/** Crashes in a row that count as failed for good. */
const CRASHES = 3;
const STATIC_POLICY: ReadyPolicy = { minReadySeconds: 10 };

/** The acknowledgement of one MQTT source; undefined = it has neither accepted nor refused anything. */
export function acknowledge(
  state: DocumentState,
  facts: RunningFacts,
): Acknowledgement | undefined {
  const { document, lastRejected } = state;
  const source = reportedSource(state.source);
  const rejected = lastRejected === undefined ? undefined : lastRejectedOf(lastRejected);
  if (document === undefined) {
    if (rejected === undefined) return undefined;
    const { code, message } = rejected;
    const version = { source, epoch: "", generation: 0, digest: "", signed: false };
    const said = { phase: "Rejected", code, message } as const;
    const ack = dated({ ...version, observedGeneration: 0, ...said }, facts);
    return {
      ack: { ...ack, lastRejected: rejected },
      converged: false,
      reviewAt: undefined,
    };
  }
  const { epoch, generation, digest, policy, pods } = document;
  const previous = sameVersion(facts.previous, { epoch, generation, digest });
  const hasConverged = state.observedGeneration === generation;
  const images = state.images === undefined ? {} : { images: state.images };
  const judged = judgeDocument(state.rollout ?? [], () =>
    judgePods(pods, policy, { ...facts, ...images, previous, hasConverged }),
  );
  const observedGeneration = judged.converged ? generation : state.observedGeneration;
  const signed = document.signed === true;
  const version = { source, epoch, generation, observedGeneration, digest, signed };
  const ack = dated({ ...version, ...judged.said }, { ...facts, previous });
  return {
    ack: { ...ack, ...(rejected === undefined ? {} : { lastRejected: rejected }) },
    ...(hasConverged ? {} : overtaken(state, source)),
    converged: judged.converged,
    reviewAt: judged.reviewAt,
  };
}

/** The last word about a document that had not come to an end when a newer one took its place. */
function overtaken(
  { superseded, document, acceptedAt }: DocumentState,
  source: string,
): Pick<Acknowledgement, "superseded"> {
  if (superseded === undefined) return {};
  const { epoch, generation, observedGeneration, digest, signed = false } = superseded;
  const version = { source, epoch, generation, observedGeneration, digest, signed };
  const message = `generation ${document?.generation} took its place before it had converged`;
  const said = { phase: "Superseded", code: 410, message, since: rfc3339(acceptedAt) } as const;
  return { superseded: { ...version, ...said } };
}

/** Its pods may do well although what runs is not what it asks for. */
function judgeDocument(standings: readonly PodStanding[], judge: () => Judged): Judged {
  const said = rolloutSaid(standings);
  if (said !== undefined) return { said, converged: false, reviewAt: undefined };
  const judged = judge();
  if (!isOnTrial(standings)) return judged;
  // Whether it has failed is the trial's to say.
  if (judged.said.phase === "Degraded")
    return { ...judged, said: { ...judged.said, phase: "Progressing", code: 202 } };
  if (!judged.converged) return judged;
  const unproven = { phase: "Progressing", code: 202, message: UNPROVEN } as const;
  return { said: unproven, converged: false, reviewAt: undefined };
}

/** The acknowledgement of the manifest files; `digest` is over their sorted (path, sha256). */
export function acknowledgeStatic(files: StaticFiles, facts: RunningFacts): Acknowledgement {
  const { digest, pods } = files;
  const previous = sameVersion(facts.previous, { epoch: "", generation: 0, digest });
  const judged = files.isKnown
    ? judgePods(pods, STATIC_POLICY, { ...facts, previous, hasConverged: false })
    : NOT_READ_YET;
  const none = { epoch: "", generation: 0, observedGeneration: 0, signed: false };
  const version = { source: "static", ...none, digest };
  const ack = dated({ ...version, ...judged.said }, { ...facts, previous });
  return { ack, converged: judged.converged, reviewAt: judged.reviewAt };
}

/** What the manifests of the directory ask for. */
export interface StaticFiles {
  readonly digest: string;
  readonly pods: readonly DesiredPod[];
  /** The directory was read: before that, no pods are no answer. */
  readonly isKnown: boolean;
}

const NOT_READ_YET: Judged = {
  said: { phase: "Received", code: 202, message: "the manifests have not been read yet" },
  converged: false,
  reviewAt: undefined,
};

/** Those of a document's pods that the merge has put behind another source's. A pod that is merely missing from the
 * merge is not shadowed: it may be a turn behind. */
export function shadowedAmong(
  pods: readonly DesiredPod[],
  rejected: readonly Rejection[],
): ReadonlySet<PodUID> {
  const shadowed = rejected.filter(({ code }) => code === "Shadowed");
  const isShadowed = ({ source, pod }: DesiredPod): boolean =>
    shadowed.some(
      (one) =>
        one.source === source &&
        one.namespace === pod.metadata.namespace &&
        one.name === pod.metadata.name,
    );
  return new Set(pods.filter(isShadowed).map(({ uid }) => uid));
}

type Said = Pick<Ack, "phase" | "code" | "message" | "lastGood" | "progress">;

interface Judged {
  readonly said: Said;
  readonly converged: boolean;
  readonly reviewAt: Monotonic | undefined;
}

type PodFacts = RunningFacts & {
  /** This version converged before, maybe in an earlier life of the agent. */
  readonly hasConverged: boolean;
  /** Told while they are pulled. */
  readonly images?: Progress;
};

function judgePods(pods: readonly DesiredPod[], policy: ReadyPolicy, facts: PodFacts): Judged {
  const own = pods.filter(({ uid }) => !facts.shadowed.has(uid));
  const need = readyTime(policy, facts);
  const waits = own.map((pod) => waitOf(pod, facts, need));
  if (facts.leftovers === 0 && waits.every((wait) => wait === "Done"))
    return { said: { phase: "Healthy", code: 200 }, converged: true, reviewAt: undefined };
  const reviews = waits.filter((wait) => typeof wait === "number");
  return {
    said: describe(own, facts),
    converged: false,
    reviewAt: reviews.length === 0 ? undefined : Math.min(...reviews),
  };
}

/** Ms that a pod must have been Ready. What converged in an earlier life of the agent need not prove itself again. */
function readyTime(policy: ReadyPolicy, { hasConverged, previous }: PodFacts): number {
  const isKnown = hasConverged && previous?.phase !== "Degraded";
  return isKnown ? 0 : policy.minReadySeconds * 1000;
}

/** `Done`, when it will be if nothing happens, or `Open`: only an event can bring it further. */
function waitOf(pod: DesiredPod, facts: PodFacts, need: number): "Done" | "Open" | Monotonic {
  const health = facts.health.get(pod.uid);
  if (health === undefined) return "Open";
  if (isMeantToFinish(pod.pod.spec)) return health.stage === "Succeeded" ? "Done" : "Open";
  if (health.stage !== "Running" || health.readySince === undefined) return "Open";
  const at = health.readySince + need;
  return facts.now >= at ? "Done" : at;
}

/** Not converged: how far it is. */
function describe(pods: readonly DesiredPod[], facts: PodFacts): Said {
  const { previous } = facts;
  const failed = pods.find((pod) => hasFailed(facts.health.get(pod.uid)));
  // Degraded ends when everything has been Ready long enough, not with the next restart of what crashes.
  const wasWell = previous?.phase === "Healthy" || previous?.phase === "Degraded";
  const broken = failed ?? (wasWell ? pods.find((pod) => !isWell(pod, facts)) : undefined);
  if (broken !== undefined || previous?.phase === "Degraded")
    return { phase: "Degraded", code: 424, ...messageOf(broken ?? pods[0], facts, previous) };
  return describeWay(pods, facts);
}

/** On its way, nothing wrong so far. */
function describeWay(pods: readonly DesiredPod[], facts: PodFacts): Said {
  const { health, images, leftovers } = facts;
  const downloading = pods.find(({ uid }) => health.get(uid)?.stage === "Downloading");
  if (downloading !== undefined) {
    const progress = images === undefined ? {} : { progress: images };
    return { phase: "Downloading", code: 202, ...messageOf(downloading, facts), ...progress };
  }
  if (pods.length > 0 && pods.every(({ uid }) => !health.has(uid)))
    return { phase: "Received", code: 202 };
  const waiting = pods.find(({ uid }) => isBeforeStart(health.get(uid)));
  if (waiting !== undefined) return { phase: "Applying", code: 202, ...messageOf(waiting, facts) };
  const late = pods.find((pod) => !isWell(pod, facts));
  if (late !== undefined) return { phase: "Progressing", code: 202, ...messageOf(late, facts) };
  if (leftovers === 0) return { phase: "Progressing", code: 202 };
  const [what, are] = leftovers === 1 ? ["pod", "is"] : ["pods", "are"];
  const message = `${leftovers} ${what} of before ${are} still stopping`;
  return { phase: "Applying", code: 202, message };
}

function hasFailed(health: PodHealth | undefined): boolean {
  if (health === undefined) return false;
  return health.stage === "Failed" || health.crashes >= CRASHES;
}

function isBeforeStart(health: PodHealth | undefined): boolean {
  return health === undefined || health.stage === "Pending" || health.stage === "Terminating";
}

/** Does what it should at this moment, however short. */
function isWell(pod: DesiredPod, { health }: PodFacts): boolean {
  const own = health.get(pod.uid);
  if (own === undefined) return false;
  if (own.stage === "Succeeded") return isMeantToFinish(pod.pod.spec);
  return own.stage === "Running" && own.readySince !== undefined;
}

/** A sentence on the pod that holds everything up; while it is well again, what was said of it before. */
function messageOf(
  pod: DesiredPod | undefined,
  facts: PodFacts,
  previous?: Ack,
): { readonly message?: string } {
  if (pod === undefined || (previous?.phase === "Degraded" && isWell(pod, facts)))
    return previous?.message === undefined ? {} : { message: previous.message };
  const health = facts.health.get(pod.uid);
  const stage = health?.stage ?? "not started yet";
  const why = [health?.reason, health?.message].filter((part) => part !== undefined);
  const sentence = `pod ${podName(pod.pod)} is ${stage}`;
  return { message: wireText([sentence, ...why].join(": ")) };
}

function sameVersion(
  ack: Ack | undefined,
  version: Pick<Ack, "epoch" | "generation" | "digest">,
): Ack | undefined {
  if (ack === undefined) return undefined;
  const { epoch, generation, digest } = version;
  const isSame = ack.epoch === epoch && ack.generation === generation && ack.digest === digest;
  return isSame ? ack : undefined;
}

/** `since` stays while version, phase and code stay. */
function dated(said: Omit<Ack, "since">, facts: Pick<RunningFacts, "wall" | "previous">): Ack {
  const before = sameVersion(facts.previous, said);
  const isSame = before !== undefined && before.phase === said.phase && before.code === said.code;
  return { ...said, since: isSame ? before.since : rfc3339(facts.wall) };
}

function lastRejectedOf(refused: Exclude<DocumentState["lastRejected"], undefined>): LastRejected {
  return { ...refused, message: wireText(refused.message), at: rfc3339(refused.at) };
}
