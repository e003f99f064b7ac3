// Explains why a pod does not run as it should: its source, its causes, what it waits for, its containers, and what to do.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import { manifestPath } from "../../api/pod/desired-pod.ts";
import { allStatuses } from "../../api/v1/pod-status.ts";
import { rfc3339 } from "../../lib/clock.ts";
import { withoutUndefined } from "../../lib/json.ts";
import type { Ack } from "../../protocol/reported-state.ts";
import type { EventEntry } from "../events-list.ts";
import type { NodeView } from "../node-view.ts";
import type { ObjectEntry } from "../object-list.ts";
import type { PodEntry } from "../pod-list.ts";
import { adviceFor, NO_CAUSE_ADVICE, WELL_ADVICE } from "./advice.ts";
import { causesOf, isWell, refusalCauses, type Cause } from "./causes.ts";
import { explainContainers, type ExplainedContainer } from "./explain-containers.ts";
import {
  awaitedPods,
  explainImages,
  explainVolumes,
  type AwaitedPod,
  type ExplainedImage,
  type ExplainedVolume,
} from "./explain-parts.ts";
import { NO_NOTES, type PodNotes } from "./pod-notes.ts";

export type { Cause };

export interface PodQuestion {
  readonly namespace: string;
  readonly name: string;
  readonly entry: PodEntry | undefined;
  /** Of all sources. */
  readonly rejected: readonly Rejection[];
  /** Of all objects, oldest first. */
  readonly events: readonly EventEntry[];
  /** All pods of the node; absent = unknown. */
  readonly pods?: readonly PodEntry[];
  /** The objects of its namespace; absent = unknown. */
  readonly objects?: readonly ObjectEntry[];
  /** How far each source is; absent = unknown. */
  readonly acks?: readonly Ack[];
  /** What is wrong with the node itself; absent = nothing. */
  readonly problems?: readonly string[];
  /** Absent = none. */
  readonly notes?: PodNotes;
}

/** What the node knows of all its pods. */
export function explainFacts(
  facts: Pick<NodeView, "rejected" | "events" | "pods" | "objects" | "desired" | "healthProblems">,
  namespace: string,
): Omit<PodQuestion, "namespace" | "name" | "entry" | "notes"> {
  return {
    rejected: facts.rejected(),
    events: facts.events(),
    pods: facts.pods(),
    objects: facts.objects(namespace),
    acks: facts.desired(),
    problems: facts.healthProblems(),
  };
}

export interface Explanation {
  readonly namespace: string;
  readonly pod: string;
  readonly phase?: string;
  /** It runs as it should: there are no causes. */
  readonly well: boolean;
  /** One sentence: what to do. */
  readonly advice: string;
  readonly causes: readonly Cause[];
  /** Where it is declared; absent = nothing of it was accepted. */
  readonly source?: ExplainedSource;
  readonly admitted: boolean;
  /** Of its annotation agent/depends-on. */
  readonly dependencies: readonly AwaitedPod[];
  /** An update, or a rollback, that is under way or has ended otherwise than it should. */
  readonly updates: readonly { readonly reason: string; readonly message: string }[];
  readonly images: readonly ExplainedImage[];
  readonly volumes: readonly ExplainedVolume[];
  readonly containers: readonly ExplainedContainer[];
  /** The newest warnings, newest first. */
  readonly warnings: readonly {
    readonly time: string;
    readonly reason: string;
    readonly message: string;
    readonly count: number;
  }[];
}

interface ExplainedSource {
  /** `file`, `http`, `mqtt:node`, … */
  readonly source: string;
  /** The manifest file, or the generation of the document. */
  readonly ref: string;
  /** Of the pod in its file. */
  readonly line?: number;
  readonly specHash: string;
}

const WARNINGS = 5;

/** undefined = the pod is unknown here. */
export function explainPod(question: PodQuestion): Explanation | undefined {
  const { namespace, name, entry } = question;
  const refused = question.rejected.filter(
    (one) => one.kind === "Pod" && one.namespace === namespace && one.name === name,
  );
  if (entry === undefined && refused.length === 0) return undefined;
  const causes = allCauses(question, refused);
  const well = causes.length === 0 && entry !== undefined && isWell(entry);
  const notAdmitted = refused.some(({ code }) => code === entry?.status.reason);
  const own = entry === undefined ? NOTHING_OF_IT : partsOf(entry, question);
  return {
    namespace,
    pod: name,
    ...own,
    well,
    advice: adviceOf(question, causes, well),
    causes,
    admitted: entry !== undefined && !notAdmitted,
    warnings: warningsOf(question),
  };
}

type Parts = Omit<
  Explanation,
  "namespace" | "pod" | "well" | "advice" | "causes" | "admitted" | "warnings"
>;

const NOTHING_OF_IT: Parts = {
  dependencies: [],
  updates: [],
  images: [],
  volumes: [],
  containers: [],
};

function partsOf(entry: PodEntry, question: PodQuestion): Parts {
  const { notes = NO_NOTES, pods = [], acks = [] } = question;
  return {
    phase: entry.status.phase,
    source: sourceOf(entry, notes),
    dependencies: awaitedPods(entry, pods),
    updates: updatesOf(entry, acks),
    images: explainImages(entry),
    volumes: explainVolumes(entry, question),
    containers: explainContainers(entry, notes),
  };
}

function allCauses(
  { entry, events, problems = [] }: PodQuestion,
  refused: readonly Rejection[],
): readonly Cause[] {
  // Such a pod is shown as Failed for it, which is one cause and not two.
  const notAdmitted = refused.find(({ code }) => code === entry?.status.reason)?.code;
  const own = entry === undefined ? [] : causesOf(entry, events);
  const causes = [
    ...refusalCauses(refused, notAdmitted),
    ...own.filter(({ reason }) => reason !== notAdmitted),
  ];
  if (causes.length > 0 || entry === undefined || isWell(entry)) return causes;
  return problems.map((message) => ({ category: "node", reason: "NodeNotReady", message }));
}

/** About the cause that is nearest to the root. */
function adviceOf(question: PodQuestion, causes: readonly Cause[], well: boolean): string {
  const { namespace, name: pod, entry } = question;
  const [cause] = causes;
  if (cause === undefined) return well ? WELL_ADVICE : NO_CAUSE_ADVICE;
  const status = allStatuses(entry?.status).find(({ name }) => name === cause.element);
  const ended = status?.state.terminated ?? status?.lastState.terminated;
  const reason = cause.reason === "CrashLoopBackOff" ? endOf(ended?.reason) : cause.reason;
  return adviceFor(
    { reason, exitCode: ended?.exitCode },
    { namespace, pod, container: status?.name, ref: placeOf(question) },
  );
}

/** What ends a container says more than that it ends. */
function endOf(reason: string | undefined): string {
  return reason === undefined || reason === "Error" || reason === "Completed"
    ? "CrashLoopBackOff"
    : reason;
}

/** Of the refusal, if there is one: the pod itself may be an older version. */
function placeOf({ namespace, name, entry, rejected, notes }: PodQuestion): string {
  const refusal = rejected.find((one) => one.namespace === namespace && one.name === name);
  if (refusal !== undefined) return placeText(refusal.ref, refusal.line);
  if (entry === undefined) return "its file";
  const { source, ref, line } = sourceOf(entry, notes);
  return source === "file" ? placeText(ref, line) : `the document of ${source}`;
}

function placeText(ref: string, line: number | undefined): string {
  return line === undefined ? ref : `${ref}:${line}`;
}

function sourceOf(
  { source, sourceRef, specHash }: PodEntry,
  notes: PodNotes = NO_NOTES,
): ExplainedSource {
  const { line } = notes;
  return { source, ref: manifestPath(sourceRef), ...withoutUndefined({ line }), specHash };
}

function updatesOf(
  { pendingUpdate, updateCondition, source }: PodEntry,
  acks: readonly Ack[],
): Explanation["updates"] {
  const own = [pendingUpdate, updateCondition].flatMap((one) =>
    one === undefined ? [] : [{ reason: one.reason ?? "", message: one.message ?? "" }],
  );
  // Of files the causes have everything.
  const ack = acks.find((one) => source === `mqtt:${one.source}`);
  if (ack === undefined || ack.phase === "Healthy") return own;
  const message = `generation ${ack.generation}: ${ack.message ?? ack.phase} (${ack.code})`;
  return [...own, { reason: ack.phase, message }];
}

function warningsOf({ namespace, name, events }: PodQuestion): Explanation["warnings"] {
  return events
    .filter(
      ({ type, object }) =>
        type === "Warning" &&
        object.kind === "Pod" &&
        object.namespace === namespace &&
        object.name === name,
    )
    .toSorted((a, b) => b.last - a.last)
    .slice(0, WARNINGS)
    .map(({ last, reason, message, count }) => ({ time: rfc3339(last), reason, message, count }));
}
