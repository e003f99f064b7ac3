// How the accepted documents and the manifest files run, as acknowledgements: the words, codes and dates of what
// rollout/document-health.ts has judged.

import {
  isWarning,
  type DesiredPod,
  type DesiredState,
  type Rejection,
  type SourceName,
} from "../../api/pod/desired-pod.ts";
import { failureWords, takenBack } from "../../api/pod/update-condition.ts";
import { withoutUndefined } from "../../lib/json.ts";
import { earliest, rfc3339, type Monotonic } from "../../lib/clock.ts";
import type {
  DocumentState,
  ImageProgress,
  DocumentVersion,
} from "../../protocol/desired-document.ts";
import type { Ack, LastRejected, ReportedSettings } from "../../protocol/reported-state.ts";
import { reportedSource } from "../../protocol/wire-text.ts";
import {
  judgeHealth,
  type DocumentHealth,
  type DocumentPods,
  type LatePod,
} from "../../rollout/document-health.ts";
import { podName, type PodUID } from "../../api/v1/pod.ts";
import type { NodeStatus, PodStatus } from "../../api/v1/pod-status.ts";
import type { PodHealth } from "../../rollout/pod-health.ts";
import type { Phase } from "../../protocol/status-codes.ts";
import { isAbout, isShadowed } from "../../source/precedence.ts";

/** What the node knows of the pods, and when. */
export interface RunningFacts extends Pick<
  DocumentPods,
  "health" | "shadowed" | "leftovers" | "now"
> {
  /** Wall-clock milliseconds, for `since` only. */
  readonly wall: number;
  /** The last acknowledgement of this source. */
  readonly previous: Ack | undefined;
}

export interface Acknowledgement {
  readonly ack: Ack;
  /** Of the document that this one replaced; last sent with the acknowledgement that this one has converged. */
  readonly superseded?: Ack;
  /** Every pod is where the document wants it; `observedGeneration` is to be written down. */
  readonly converged: boolean;
  /** When time alone may change the answer; undefined = only events can. */
  readonly reviewAt: Monotonic | undefined;
}

/** The manifest files of the directory. */
interface StaticFiles {
  /** Over their sorted (path, sha256). */
  readonly digest: string;
  readonly pods: readonly DesiredPod[];
  /** The directory was read: before that, an empty list means nothing. */
  readonly isKnown: boolean;
}

/** Of images that are being pulled. */
interface Images {
  readonly images?: ImageProgress | undefined;
}

type Verdict = Pick<Ack, "phase" | "code" | "message" | "lastGood" | "progress">;
type Version = Omit<Ack, keyof Verdict | "since" | "lastRejected" | "opened">;

/** The acknowledgement of one MQTT source; undefined = it has neither accepted nor refused anything. */
export function acknowledge(
  state: DocumentState,
  facts: RunningFacts,
): Acknowledgement | undefined {
  const { document, lastRejected, images } = state;
  const source = reportedSource(state.source);
  const rejected = lastRejected && { ...lastRejected, at: rfc3339(lastRejected.at) };
  if (document === undefined)
    return rejected === undefined ? undefined : onlyRejected(source, rejected, facts);
  const { generation, policy, pods } = document;
  const { observedGeneration, rollout = [] } = state;
  const hasConverged = observedGeneration === generation;
  const version = versionOf({ ...document, observedGeneration }, source);
  const judged = { pods, policy, rollout, hasConverged, images };
  const { ack, ...answer } = acknowledgePods(version, judged, facts);
  return {
    ...answer,
    ack: {
      ...ack,
      ...withoutUndefined({ lastRejected: rejected, opened: openedOf(state) }),
    },
    ...(hasConverged ? {} : overtaken(state, source)),
  };
}

/** The signed report of what was sealed. */
function openedOf({ document, openedSignature: sig }: DocumentState): Ack["opened"] {
  const secrets = document?.opened;
  return secrets === undefined || sig === undefined ? undefined : { secrets, sig: sig.toBase64() };
}

function versionOf(document: DocumentVersion, source: string): Version {
  const { epoch, generation, observedGeneration, digest, signed = false } = document;
  return { source, epoch, generation, observedGeneration, digest, signed };
}

/** The source of the manifest files. */
const STATIC = "static";
const NO_VERSION = { epoch: "", generation: 0, observedGeneration: 0, digest: "", signed: false };

/** The acknowledgement of the manifest files. */
export function acknowledgeStatic(files: StaticFiles, facts: RunningFacts): Acknowledgement {
  const { digest, pods, isKnown } = files;
  const version = { ...NO_VERSION, source: STATIC, digest };
  if (isKnown) return acknowledgePods(version, { pods, rollout: [], hasConverged: false }, facts);
  const message = "the manifests have not been read yet";
  const ack = dated({ ...version, phase: "Received", code: 202, message }, facts);
  return { ack, converged: false, reviewAt: undefined };
}

function acknowledgePods(
  version: Version,
  document: Pick<DocumentPods, "pods" | "policy" | "rollout" | "hasConverged"> & Images,
  facts: RunningFacts,
): Acknowledgement {
  const { images, ...judged } = document;
  const previous = sameVersion(facts.previous, version);
  const { phase } = previous ?? {};
  const before = phase === "Healthy" || phase === "Degraded" ? phase : undefined;
  const { health, reviewAt } = judgeHealth({ ...facts, ...judged, before });
  const converged = health.type === "Converged";
  const observedGeneration = converged ? version.generation : version.observedGeneration;
  const verdict = verdictOf(health, { previous, images });
  return { ack: dated({ ...version, observedGeneration, ...verdict }, facts), converged, reviewAt };
}

function onlyRejected(
  source: string,
  rejected: LastRejected,
  facts: RunningFacts,
): Acknowledgement {
  const { code, message } = rejected;
  const ack = dated({ ...NO_VERSION, source, phase: "Rejected", code, message }, facts);
  return { ack: { ...ack, lastRejected: rejected }, converged: false, reviewAt: undefined };
}

/** Last report of a document that had not come to an end when a newer one replaced it. */
function overtaken(
  { superseded, document, acceptedAt }: DocumentState,
  source: string,
): Pick<Acknowledgement, "superseded"> {
  if (superseded === undefined) return {};
  const message = `generation ${document?.generation} took its place before it had converged`;
  const verdict = { phase: "Superseded", code: 410, message, since: rfc3339(acceptedAt) } as const;
  return { superseded: { ...versionOf(superseded, source), ...verdict } };
}

function verdictOf(
  health: DocumentHealth,
  { previous, images }: Images & { readonly previous: Ack | undefined },
): Verdict {
  switch (health.type) {
    case "Converged":
      return verdict("Healthy", 200);
    case "RolledBack": {
      const why = takenBack(health, failureWords(health.why));
      const generation = health.lastGood;
      return {
        ...verdict("RolledBack", 424, `pod ${health.name} was taken back: ${why}`),
        ...(generation === undefined ? {} : { lastGood: { generation } }),
      };
    }
    case "Failed":
      return verdict("Degraded", 424, `pod ${health.name}: ${failureWords(health.why)}`);
    case "Held":
      return verdict("Held", 423, `pod ${health.name}: ${health.why}`);
    case "Degraded":
      return verdict("Degraded", 424, lateMessage(health.pod, previous));
    case "Received":
      return verdict("Received", 202);
    case "Downloading":
      return {
        ...verdict("Downloading", 202, lateMessage(health.pod)),
        ...(images === undefined ? {} : { progress: images }),
      };
    case "Applying":
      return verdict("Applying", 202, lateMessage(health.pod));
    case "Stopping": {
      const { leftovers } = health;
      const pods = leftovers === 1 ? "1 pod of before is" : `${leftovers} pods of before are`;
      return verdict("Applying", 202, `${pods} still stopping`);
    }
    case "Progressing":
      return verdict("Progressing", 202, lateMessage(health.pod));
    case "Unproven":
      return verdict("Progressing", 202, "its pods are ready, and have yet to prove themselves");
  }
}

function verdict(phase: Phase, code: number, message?: string): Verdict {
  return message === undefined ? { phase, code } : { phase, code, message };
}

/** A sentence on the pod that everything waits for; while a failed pod is well again, the message of its failure. */
function lateMessage(pod: LatePod | undefined, failure?: Ack): string | undefined {
  if (pod === undefined) return failure?.message;
  const { name, health } = pod;
  const why = [health?.reason, health?.message].filter((part) => part !== undefined);
  return [`pod ${name} is ${health?.stage ?? "not started yet"}`, ...why].join(": ");
}

function sameVersion(
  ack: Ack | undefined,
  version: Pick<Ack, "epoch" | "generation" | "digest">,
): Ack | undefined {
  const { epoch, generation, digest } = version;
  const isSame = ack?.epoch === epoch && ack.generation === generation && ack.digest === digest;
  return isSame ? ack : undefined;
}

/** `since` stays while version, phase and code stay. */
function dated(verdict: Omit<Ack, "since">, facts: Pick<RunningFacts, "wall" | "previous">): Ack {
  const before = sameVersion(facts.previous, verdict);
  const isSame = before?.phase === verdict.phase && before.code === verdict.code;
  return { ...verdict, since: isSame ? before.since : rfc3339(facts.wall) };
}

/** A pod as the node shows it. */
export interface ReportedPod {
  readonly desired: DesiredPod;
  readonly status: PodStatus | undefined;
}

/** What is true on the node at the moment of a report. */
export interface NodeTruth {
  /** Everything that has a worker and a spec, predecessors too. */
  readonly pods: readonly ReportedPod[];
  /** Of the pods in `pods`. */
  readonly health: ReadonlyMap<PodUID, PodHealth>;
  /** One per namespace/name: what `get pods` shows. */
  readonly shown: readonly ReportedPod[];
  readonly files: StaticFiles;
  readonly documents: readonly DocumentState[];
  readonly rejected: readonly Rejection[];
  /** `namespace/name` that a wanted pod keeps without being able to start: what runs under the name goes on. */
  readonly held: DesiredState["held"];
  readonly status: NodeStatus;
  /** Those that configuration and fleet have given it. */
  readonly labels: Readonly<Record<string, string>>;
  /** How settings of documents stand; absent = there are none. */
  readonly settings?: ReportedSettings;
  /** False at the start: a missing pod proves nothing yet. */
  readonly arePodsKnown: boolean;
}

interface SourceAcks {
  /** Superseded documents come last: the first entry of a source is the accepted document's. */
  readonly acks: readonly Ack[];
  readonly converged: readonly { readonly source: SourceName; readonly generation: number }[];
  /** When time alone may change an acknowledgement; undefined = only events can. */
  readonly reviewAt: Monotonic | undefined;
}

type Truth = Pick<NodeTruth, "pods" | "health" | "files" | "documents" | "rejected" | "held">;

/** The acknowledgements of all sources in one report; each depends on the one before. */
export class Acknowledgements {
  #previous: ReadonlyMap<string, Ack> = new Map();

  next(truth: Truth, time: Pick<RunningFacts, "now" | "wall">): SourceAcks {
    const { answers, ...acks } = this.#judge(truth, time);
    this.#previous = new Map(answers.map((ack) => [ack.source, ack]));
    return acks;
  }

  /** Whether a document was accepted or has another code since the last report, and when time alone may bring that. */
  look(
    truth: Truth,
    time: Pick<RunningFacts, "now" | "wall">,
  ): Pick<SourceAcks, "reviewAt"> & { readonly hasAnswer: boolean } {
    const { answers, reviewAt } = this.#judge(truth, time);
    const hasAnswer = answers.some((ack) => {
      const previous = sameVersion(this.#previous.get(ack.source), ack);
      return ack.source !== STATIC && ack.generation > 0 && previous?.code !== ack.code;
    });
    return { hasAnswer, reviewAt };
  }

  #judge(
    truth: Truth,
    time: Pick<RunningFacts, "now" | "wall">,
  ): SourceAcks & { readonly answers: readonly Ack[] } {
    const facts = (source: SourceName, own: readonly DesiredPod[]): RunningFacts => {
      const previous = this.#previous.get(reportedSource(source));
      return { ...time, ...podFacts(truth, source, own), previous };
    };
    const files = acknowledgeStatic(truth.files, facts("file", truth.files.pods));
    const documents = truth.documents.flatMap((state) => {
      const { source, document } = state;
      const answer = acknowledge(state, facts(source, document?.pods ?? []));
      return answer === undefined ? [] : [{ ...answer, source, document }];
    });
    const answers = [files, ...documents];
    return {
      answers: answers.map(({ ack }) => ack),
      acks: [
        ...answers.map(({ ack }) => ack),
        ...documents.flatMap(({ superseded }) => superseded ?? []),
      ],
      converged: documents.flatMap(({ converged, source, document }) =>
        converged && document !== undefined ? [{ source, generation: document.generation }] : [],
      ),
      reviewAt: earliest(answers.map(({ reviewAt }) => reviewAt)),
    };
  }
}

function podFacts(truth: Truth, source: SourceName, own: readonly DesiredPod[]) {
  const uids = new Set(own.map(({ uid }) => uid));
  const shadowed = own.filter((desired) => isShadowed(desired, truth.rejected));
  // What goes on under a held name does not end for this document.
  const leftovers = truth.pods.filter(
    ({ desired: { source: its, uid, pod } }) =>
      its === source && !uids.has(uid) && !truth.held.has(podName(pod)),
  );
  return {
    health: withRefused(truth, own),
    shadowed: new Set(shadowed.map(({ uid }) => uid)),
    leftovers: leftovers.length,
  };
}

/** A pod that the node does not admit has no health of its own: what it lacks stands in its place. */
function withRefused(
  { health, rejected }: Pick<Truth, "health" | "rejected">,
  own: readonly DesiredPod[],
): Truth["health"] {
  const errors = rejected.filter((one) => !isWarning(one));
  const refused = own.flatMap((desired): readonly PodHealth[] => {
    const { uid } = desired;
    const why = health.has(uid) ? undefined : errors.find((one) => isAbout(one, desired));
    if (why === undefined) return [];
    const { code: reason, message } = why;
    const untried = { readySince: undefined, hasBegun: false, crashes: 0, totalCrashes: 0 };
    return [{ uid, stage: "Pending", ...untried, reason, message }];
  });
  if (refused.length === 0) return health;
  return new Map([...health, ...refused.map((one) => [one.uid, one] as const)]);
}
