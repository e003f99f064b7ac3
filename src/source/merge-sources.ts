// What the node should run: the snapshots of all sources, merged by precedence. kubelet: PodConfig

import type {
  DesiredPod,
  DesiredState,
  Rejection,
  SourceName,
  SourceSnapshot,
} from "../api/pod/desired-pod.ts";
import { claimsConflict, hostPortClaims, type PlacedClaim } from "../api/validation/host-ports.ts";
import { podName } from "../api/v1/pod.ts";
import { compareText } from "../lib/compare.ts";
import { mergeObjects, rejectionOf, place, type AdmissionRefusal } from "./merge-objects.ts";

export interface MergeOptions {
  /** Group name → priority; the higher wins, unknown groups count as 0. */
  readonly groupPriorities: ReadonlyMap<string, number>;
  /** Most pods that may run; absent = no limit. */
  readonly maxPods?: number;
  /** The rank of a pod when there is no room for all: a running pod is not evicted for a new one. */
  readonly admissionRank?: (pod: DesiredPod) => AdmissionRank;
  /** Pods that still exist, desired or not: their host ports are taken until they are gone. */
  readonly occupants?: readonly DesiredPod[];
  /** Admission of an empty node; absent = every pod is admitted. */
  readonly admission?: Admission;
}

/** Immutable: pods are admitted one after the other. */
export interface Admission {
  /** Why the pod does not fit beside the admitted ones; undefined = it fits. */
  refusal(pod: DesiredPod): AdmissionRefusal | undefined;
  /** Admission after this pod. */
  with(pod: DesiredPod): Admission;
}

/** Lower ranks are admitted first. 0 = the pod runs, 1 = an older spec of its name runs, 2 = neither. */
export type AdmissionRank = 0 | 1 | 2;

/**
 * Precedence: files, URL, the node's document, group documents by priority. At most one snapshot of each source may be
 * given. Within a source, the given order decides.
 */
export function mergeSnapshots(
  snapshots: readonly SourceSnapshot[],
  options: MergeOptions,
): DesiredState {
  const ordered = snapshots.toSorted((a, b) => compareSources(a.source, b.source, options));
  // A refused pod keeps its name: no pod of a lower source takes its place.
  const byName = new Map<string, DesiredPod>();
  const rejected: Rejection[] = ordered.flatMap((snapshot) => snapshot.rejected);
  const candidates: DesiredPod[] = [];
  for (const pod of ordered.flatMap((snapshot) => snapshot.pods)) {
    const winner = byName.get(podName(pod.pod));
    if (winner === undefined) {
      byName.set(podName(pod.pod), pod);
      candidates.push(pod);
    } else rejected.push(shadowed(pod, winner));
  }
  const { refusals, held } = withoutRoom(candidates, options);
  const merged = mergeObjects(ordered.flatMap((snapshot) => snapshot.objects));
  const ready = ordered.filter((snapshot) => snapshot.ready).map((snapshot) => snapshot.source);
  return {
    pods: candidates.filter((pod) => !refusals.has(pod)),
    objects: merged.objects,
    held: new Set([...held, ...ordered.flatMap((snapshot) => snapshot.held ?? [])]),
    ready: new Set(ready),
    rejected: [...rejected, ...refusals.values(), ...merged.rejected],
  };
}

interface Room {
  /** Pods that are not admitted, or lose a host port or their place to another pod, with the reason. */
  readonly refusals: Map<DesiredPod, Rejection>;
  /** Names whose running pod continues. */
  readonly held: Set<string>;
}

const ADMIT_ALL: Admission = { refusal: () => undefined, with: () => ADMIT_ALL };

/** A source of higher precedence comes first; among equals, a new pod does not displace a running one. */
function withoutRoom(
  candidates: readonly DesiredPod[],
  {
    maxPods = Infinity,
    admissionRank = () => 2,
    occupants = [],
    admission = ADMIT_ALL,
  }: MergeOptions,
): Room {
  const inOrder = candidates.toSorted(
    (a, b) => rankOf(a.source) - rankOf(b.source) || admissionRank(a) - admissionRank(b),
  );
  const runs = (pod: DesiredPod): boolean => admissionRank(pod) === 0;
  const inside = [...occupants, ...inOrder.filter(runs)];
  const open = inside.reduce((before, pod) => before.with(pod), admission);
  const room = oneByOne(inOrder, { runs, admission: open });
  for (const pod of inOrder.filter((one) => !room.refusals.has(one)).slice(maxPods))
    hold(pod, outOfPods(pod, maxPods), room);
  const staying = new Set([
    ...room.held,
    ...candidates.filter((pod) => !room.refusals.has(pod)).map(({ pod }) => podName(pod)),
  ]);
  // The replacement of a pod waits for the pod of its name anyway; a pod of another name has to be refused here.
  const leaving = occupants.filter(({ pod }) => !staying.has(podName(pod))).flatMap(claimsOf);
  for (const pod of inOrder) {
    const taken = room.refusals.has(pod) ? undefined : conflictOf(pod, leaving);
    if (taken !== undefined) hold(pod, portConflict(pod, taken), room);
  }
  return room;
}

/** Each pod is judged beside those before it. Running pods are not judged again, even if the node has changed since. */
function oneByOne(
  inOrder: readonly DesiredPod[],
  { runs, admission }: { runs: (pod: DesiredPod) => boolean; admission: Admission },
): Room {
  const room: Room = { refusals: new Map(), held: new Set() };
  const claims: Claim[] = [];
  let node = admission;
  for (const pod of inOrder) {
    const unfit = runs(pod) ? undefined : node.refusal(pod);
    const taken = unfit === undefined ? conflictOf(pod, claims) : undefined;
    if (unfit !== undefined) hold(pod, rejection(pod, unfit), room);
    else if (taken === undefined) {
      claims.push(...claimsOf(pod));
      node = node.with(pod);
    } else if (outranks(taken.owner.source, pod.source))
      room.refusals.set(pod, portConflict(pod, taken));
    else hold(pod, portConflict(pod, taken), room);
  }
  return room;
}

/** Refuses the pod; the running pod of its name continues. */
function hold(pod: DesiredPod, why: Rejection, { refusals, held }: Room): void {
  refusals.set(pod, why);
  held.add(podName(pod.pod));
}

interface Claim {
  readonly claim: PlacedClaim;
  readonly owner: DesiredPod;
}

/** A claim of another pod, and the field where the refused pod asks for the same. */
interface Taken extends Claim {
  readonly path: string;
}

function claimsOf(owner: DesiredPod): readonly Claim[] {
  return hostPortClaims(owner.pod).map((claim) => ({ claim, owner }));
}

function conflictOf({ pod }: DesiredPod, claims: readonly Claim[]): Taken | undefined {
  const wanted = hostPortClaims(pod);
  const [taken] = claims.flatMap((one) => {
    const own = wanted.find((claim) => claimsConflict(claim, one.claim));
    return own === undefined ? [] : [{ ...one, path: own.path }];
  });
  return taken;
}

function compareSources(a: SourceName, b: SourceName, options: MergeOptions): number {
  const [rankA, rankB] = [rankOf(a), rankOf(b)];
  if (rankA !== rankB) return rankA - rankB;
  const priority = priorityOf(b, options) - priorityOf(a, options);
  if (priority !== 0) return priority;
  return compareText(a, b);
}

/** Whether `one` certainly has precedence over `other`; between two groups it depends on their priorities. */
export function outranks(one: SourceName, other: SourceName): boolean {
  return rankOf(one) < rankOf(other);
}

function rankOf(source: SourceName): number {
  switch (source) {
    case "file":
      return 0;
    case "http":
      return 1;
    case "mqtt:node":
      return 2;
  }
  // Only groups are left.
  return 3;
}

function priorityOf(source: SourceName, options: MergeOptions): number {
  return options.groupPriorities.get(source.replace("mqtt:group/", "")) ?? 0;
}

/** Whether a merge has put a pod of another source before this pod. A pod that is only missing from the merge is not
 * shadowed: the merge may be older. */
export function isShadowed({ pod, source }: DesiredPod, rejected: readonly Rejection[]): boolean {
  const { namespace, name } = pod.metadata;
  return rejected.some(
    (one) =>
      one.code === "Shadowed" &&
      one.source === source &&
      one.kind === "Pod" &&
      one.namespace === namespace &&
      one.name === name,
  );
}

function shadowed(pod: DesiredPod, winner: DesiredPod): Rejection {
  const name = podName(pod.pod);
  return rejection(pod, {
    code: pod.source === winner.source ? "DuplicatePod" : "Shadowed",
    path: "metadata.name",
    message: `${name} of ${place(winner)} runs instead: it comes first`,
  });
}

function portConflict(pod: DesiredPod, taken: Taken): Rejection {
  const { claim, owner, path } = taken;
  return rejection(pod, {
    code: "HostPortConflict",
    path,
    message: `host port ${claim.hostPort}/${claim.protocol} is taken by ${podName(owner.pod)} of ${place(owner)}`,
  });
}

function outOfPods(pod: DesiredPod, maxPods: number): Rejection {
  return rejection(pod, {
    code: "OutOfpods",
    path: "",
    message: `this node runs at most ${maxPods} pods (maxPods); remove others first`,
  });
}

function rejection({ pod, ...origin }: DesiredPod, why: AdmissionRefusal): Rejection {
  return rejectionOf({ ...origin, object: pod }, why);
}
