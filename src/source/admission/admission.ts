// Which pods fit on the node: those that it can run, one after the other, as far as resources, host ports and maxPods
// permit. Pods of files are judged beside pods of files only, so that no document changes what becomes of them, and critical
// pods beside critical ones.

import type { DesiredPod, Rejection } from "../../api/pod/desired-pod.ts";
import { portConflict, type PortConflict } from "../../api/validation/host-ports.ts";
import { podRequests } from "../../api/resource/pod-requests-limits.ts";
import { podName, type PodUID } from "../../api/v1/pod.ts";
import type { FieldError } from "../../lib/result.ts";
import { isStatic } from "../../api/pod/labels.ts";
import { seenBy } from "./node-affinity.ts";
import { isSystemCritical, priorityOf } from "../../api/resource/priority.ts";
import { byTier, compareTiers } from "./preemption-order.ts";
import { outranks, rankOf } from "../precedence.ts";
import { declaredBy, rejectionOf } from "../rejections.ts";
import { admit, type NodeInfo } from "./admit-pod.ts";
import { type Requests, Room } from "./room.ts";

export interface AdmissionOptions {
  readonly node: NodeInfo;
  /** The rank of a pod when there is no room for all: a running pod is not evicted for a new one of its kind of source. */
  readonly admissionRank: (pod: DesiredPod) => AdmissionRank;
  /** Pods that still exist, desired or not: their resources and host ports are taken until they are gone. */
  readonly occupants: readonly DesiredPod[];
  /** Whether the pod has ended for good and occupies no resources. */
  readonly isOver: (uid: PodUID) => boolean;
  /** Kept from judgement to judgement; absent = everything is added up anew. */
  readonly requests?: Requests;
  /** Why a pod that was evicted may not start yet; absent, or undefined of one pod = it may. */
  readonly evicted?: (uid: PodUID) => string | undefined;
  /** While the node shuts down; absent = it does not. */
  readonly shutdown?: ShutdownRefusals;
}

export interface ShutdownRefusals {
  /** Why a pod that the shutdown has stopped may not run; undefined = it has not. */
  stopped(uid: PodUID): FieldError | undefined;
  /** Why the pod may not start; undefined = the node does not shut down. */
  refusal(uid: PodUID): FieldError | undefined;
}

/**
 * Lower ranks are admitted first. 0 = the pod runs; 1 = an older spec of its name runs, or it was admitted and is about to
 * start; 2 = neither.
 */
export type AdmissionRank = 0 | 1 | 2;

interface Admitted {
  /** Pods that are not admitted, or lose a host port or their place to another pod, with the reason. */
  readonly refusals: Map<DesiredPod, Rejection>;
  /** Names whose running pod continues. */
  readonly held: Set<string>;
}

/**
 * Tier by tier (preemption-order.ts): a pod is judged beside those of its tier and of the ones before, and is admitted
 * although pods of later tiers take its place: they are stopped when it is ready to start (pods-in-the-way.ts). Within a
 * tier a source of higher precedence comes first, then what runs, then the higher priority.
 */
export function admitPods(candidates: readonly DesiredPod[], options: AdmissionOptions): Admitted {
  const { admissionRank, node } = options;
  const lingering = new Map(
    candidates.flatMap((one) => (one.lingers === true ? [[one.uid, one]] : [])),
  );
  const occupants = options.occupants.map((one) => lingering.get(one.uid) ?? one);
  const inOrder = candidates.toSorted(
    (a, b) =>
      rankOf(a.source) - rankOf(b.source) ||
      admissionRank(a) - admissionRank(b) ||
      priorityOf(b.pod, node) - priorityOf(a.pod, node),
  );
  const admitted: Admitted = { refusals: new Map(), held: new Set() };
  // What no file declares any more, and runs only until a document's pod of its name is ready, is in no file's way.
  const inherited = new Set(inOrder.filter((pod) => !isOfFile(pod)).map(({ pod }) => podName(pod)));
  const isInherited = (one: DesiredPod): boolean =>
    isOfFile(one) && inherited.has(podName(one.pod));
  let first: readonly DesiredPod[] = [];
  for (const tier of byTier(inOrder)) {
    const [mate] = tier;
    if (mate === undefined) continue;
    // One stands for all of its tier, which are of one kind: a node has as many occupants as pods.
    const stays = (one: DesiredPod): boolean =>
      compareTiers(one, mate) <= 0 && !(isOfFile(mate) && isInherited(one));
    const own = { ...options, occupants: occupants.filter(stays) };
    admitInOrder(tier, first, { options: own, admitted });
    first = [...first, ...tier.filter((pod) => !admitted.refusals.has(pod))];
  }
  return admitted;
}

function isOfFile({ source }: DesiredPod): boolean {
  return isStatic(source);
}

/** `first`: pods that are admitted already. */
function admitInOrder(
  inOrder: readonly DesiredPod[],
  first: readonly DesiredPod[],
  { options, admitted }: { readonly options: AdmissionOptions; readonly admitted: Admitted },
): void {
  oneByOne(inOrder, first, { options, admitted });
  const { refusals } = admitted;
  const { occupants, isOver, admissionRank } = options;
  const all = [...first, ...inOrder];
  const stays = new Set(all.filter((pod) => !refusals.has(pod)).map(({ uid }) => uid));
  // Two pods that exchange their ports would wait for each other.
  const waiting = new Set<string>();
  for (const pod of inOrder) {
    if (refusals.has(pod) || admissionRank(pod) === 0) continue;
    // The replacement of a pod waits for the pod of its name anyway; a pod of another name has to be refused here.
    const others = occupants.filter(
      (one) =>
        podName(one.pod) !== podName(pod.pod) &&
        !stays.has(one.uid) &&
        !isOver(one.uid) &&
        !waiting.has(podName(one.pod)),
    );
    const taken = portConflict(pod.pod, others);
    if (taken === undefined) continue;
    hold(pod, portTaken(taken), admitted);
    stays.delete(pod.uid);
    waiting.add(podName(pod.pod));
  }
}

/** Each pod is judged beside those before it. Running pods are not judged again, even if the node has changed since. */
function oneByOne(
  inOrder: readonly DesiredPod[],
  first: readonly DesiredPod[],
  { options, admitted }: { readonly options: AdmissionOptions; readonly admitted: Admitted },
): void {
  const { node, admissionRank } = options;
  const runs = (pod: DesiredPod): boolean => admissionRank(pod) === 0;
  const { taken, occupy } = roomBeside(options);
  for (const pod of [...first, ...inOrder.filter(runs)]) occupy(pod);
  const owners = [...first];
  const places = new Set(
    [...first, ...inOrder.filter((pod) => admissionRank(pod) < 2)].map(({ pod }) => podName(pod)),
  );
  for (const desired of inOrder) {
    const { pod, source } = desired;
    const isFull = places.size >= node.maxPods && !places.has(podName(pod));
    const message = options.evicted?.(desired.uid);
    if (message !== undefined) {
      hold(desired, { code: "Evicted", path: "", message }, admitted);
      continue;
    }
    const refusal = shutdownError(desired, options);
    if (refusal !== undefined) {
      hold(desired, refusal, admitted);
      continue;
    }
    const unfit = runs(desired)
      ? undefined
      : (admit(pod, seenBy(source, node), taken) ?? (isFull ? outOfPods(node) : undefined));
    const conflict = unfit === undefined ? portConflict(pod, owners) : undefined;
    if (unfit !== undefined) hold(desired, withFirst(unfit, first), admitted);
    else if (conflict === undefined || isOnlyAwaited(conflict.owner, desired, admissionRank)) {
      owners.push(desired);
      places.add(podName(pod));
      occupy(desired);
    } else if (outranks(conflict.owner.source, source))
      admitted.refusals.set(desired, rejectionOf(desired, pod, portTaken(conflict)));
    else hold(desired, portTaken(conflict), admitted);
  }
}

/** The room that pods take which still exist, and how another one takes room. */
function roomBeside({ occupants, isOver, admissionRank, requests }: AdmissionOptions): {
  readonly taken: Room;
  readonly occupy: (one: DesiredPod) => void;
} {
  const taken = new Room(requests);
  const stay = (one: DesiredPod): void => {
    if (!isOver(one.uid)) taken.add(one.pod);
  };
  for (const pod of occupants) stay(pod);
  // Of one that leaves and is wanted again it is the old life that has ended: its next one takes room.
  const occupy = (one: DesiredPod): void =>
    admissionRank(one) === 2 ? taken.add(one.pod) : stay(one);
  return { taken, occupy };
}

/** What has ended for good stays as it is shown, unless it was added again: then it is its new life that may not begin. */
function shutdownError(
  desired: DesiredPod,
  { shutdown, admissionRank, isOver }: AdmissionOptions,
): FieldError | undefined {
  const { uid } = desired;
  const stopped = shutdown?.stopped(uid);
  const rank = admissionRank(desired);
  if (stopped !== undefined || rank === 0 || (rank === 1 && isOver(uid))) return stopped;
  return shutdown?.refusal(uid);
}

/** Whether the port's owner comes first and has not begun: the running pod keeps the port until that one is ready. */
function isOnlyAwaited(
  owner: DesiredPod,
  running: DesiredPod,
  admissionRank: AdmissionOptions["admissionRank"],
): boolean {
  return (
    compareTiers(owner, running) < 0 && admissionRank(running) === 0 && admissionRank(owner) !== 0
  );
}

/** Refuses the pod; the running pod of its name continues. */
function hold(desired: DesiredPod, why: FieldError, { refusals, held }: Admitted): void {
  refusals.set(desired, rejectionOf(desired, desired.pod, why));
  held.add(podName(desired.pod));
}

function portTaken({ claim, owner }: PortConflict<DesiredPod>): FieldError {
  return {
    code: "HostPortConflict",
    path: claim.path,
    message: `host port ${claim.hostPort}/${claim.protocol} is taken by ${podName(owner.pod)} of ${declaredBy(owner)}`,
  };
}

function outOfPods({ maxPods }: NodeInfo): FieldError {
  return {
    code: "OutOfpods",
    path: "",
    message: `this node runs at most ${maxPods} pods (maxPods); remove others first`,
  };
}

/** Names shown of the pods that take the room. */
const NAMED = 3;

/** Also names the pods that come first and have what the refused pod asks for. */
function withFirst(why: FieldError, first: readonly DesiredPod[]): FieldError {
  const resource = /^OutOf(.+)$/.exec(why.code)?.[1];
  if (resource === undefined) return why;
  const users = first.filter(
    ({ pod }) => resource === "pods" || (podRequests(pod.spec).get(resource) ?? 0n) > 0n,
  );
  if (users.length === 0) return why;
  const named = users.slice(0, NAMED).map((user) => `${podName(user.pod)} of ${declaredBy(user)}`);
  const more = users.length > NAMED ? [`${users.length - NAMED} more`] : [];
  return {
    ...why,
    message: `${why.message}; ${kindsOf(users)} come first: ${[...named, ...more].join(", ")}`,
  };
}

function kindsOf(users: readonly DesiredPod[]): string {
  const isCritical = ({ pod }: DesiredPod): boolean => isSystemCritical(pod.spec);
  if (users.every(isCritical)) return "critical pods";
  return users.every(isOfFile) ? "pods of files" : "pods of files and critical pods";
}
