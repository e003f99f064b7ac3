// Which pods make room for one that comes first: those that have its host ports, and of those that take its resources or
// its place the ones of the lowest precedence, as few as needed. kubelet: CriticalPodAdmissionHandler

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import {
  add,
  larger,
  podRequests,
  subtract,
  type Amounts,
} from "../../api/resource/pod-requests-limits.ts";
import { portConflict } from "../../api/validation/host-ports.ts";
import { podName, type PodUID } from "../../api/v1/pod.ts";
import { isCounted, type NodeInfo } from "./admit-pod.ts";

/** A pod on the node that may be pushed out, and is not gone yet. */
export interface YieldingPod {
  readonly desired: DesiredPod;
  /** It is being removed: its place becomes free by itself. */
  readonly isLeaving: boolean;
}

export interface TakenPlaces {
  readonly node: Pick<NodeInfo, "allocatable" | "maxPods">;
  /** Pods that stay, which are admitted or not gone yet. */
  readonly staying: readonly DesiredPod[];
  /** Of each name one or more; the highest precedence first. */
  readonly yielding: readonly YieldingPod[];
  /** Whether the pod has ended for good and occupies no resources. */
  readonly isOver: (uid: PodUID) => boolean;
}

/** The resource that maxPods limits. */
const PODS = "pods";
const HOST_PORT = "hostPort";

/** All pods that may be pushed out under one name, of which one runs at a time. */
interface Place {
  readonly pods: readonly YieldingPod[];
  readonly needs: Amounts;
}

/** A pod that must be gone, and what it has that is short: a resource, or `hostPort`. */
export interface PodInTheWay {
  readonly uid: PodUID;
  readonly has: string;
}

/** The pods that must be gone before `own` starts; none while there is room beside them. */
export function podsInTheWay(own: DesiredPod, taken: TakenPlaces): readonly PodInTheWay[] {
  const { yielding } = taken;
  if (yielding.length === 0) return [];
  const others = yielding.filter(({ desired }) => podName(desired.pod) !== podName(own.pod));
  const ports = others.filter(({ desired }) => portConflict(own.pod, [desired]) !== undefined);
  const elsewhere = others.filter((other) => !ports.includes(other));
  const inTheWay = new Map([
    ...ports.map((other) => [other, HOST_PORT] as const),
    ...forRoom(own, elsewhere, taken),
  ]);
  return others.flatMap((other) => {
    const has = inTheWay.get(other);
    return has === undefined ? [] : { uid: other.desired.uid, has };
  });
}

function forRoom(
  own: DesiredPod,
  others: readonly YieldingPod[],
  { node, staying, isOver }: TakenPlaces,
): readonly (readonly [pod: YieldingPod, has: string])[] {
  const capacity = new Map([...node.allocatable, [PODS, BigInt(node.maxPods)]]);
  const needsOf = ({ uid, pod }: DesiredPod): Amounts =>
    new Map([
      ...[...podRequests(pod.spec)].filter(
        ([name, amount]) => isCounted(name) && amount > 0n && !isOver(uid),
      ),
      [PODS, 1n],
    ]);
  const asked = needsOf(own);
  // Of each name once: two specs of one name never run at once.
  const byName = new Map([...staying, own].map((one) => [podName(one.pod), needsOf(one)]));
  const ofStaying = [...byName.values()].reduce(add, new Map<string, bigint>());
  const isOverfull = (used: Amounts, resource: string): boolean =>
    (used.get(resource) ?? 0n) > (capacity.get(resource) ?? 0n);

  // A staying pod clears its own name; until then what has that name takes what it has more.
  const needsMore = (one: DesiredPod): Amounts =>
    subtract(needsOf(one), byName.get(podName(one.pod)) ?? new Map());
  const places = placesOf(others, needsMore);
  const all = places.map(({ needs }) => needs).reduce(add, ofStaying);
  const short = [...asked.keys()].filter((resource) => isOverfull(all, resource));
  if (short.length === 0) return [];

  let used = ofStaying;
  const inTheWay: (readonly [YieldingPod, string])[] = [];
  for (const { pods, needs } of places) {
    const beside = add(used, needs);
    const takes = short.filter((resource) => (needs.get(resource) ?? 0n) > 0n);
    const leaves = pods.every(({ isLeaving }) => isLeaving);
    if (takes.length === 0 || !(leaves || takes.some((resource) => isOverfull(beside, resource)))) {
      used = beside;
      continue;
    }
    // The old pod of a name may fit where its successor does not.
    const fits = ({ desired, isLeaving }: YieldingPod): boolean => {
      const own = add(used, needsMore(desired));
      return !isLeaving && !takes.some((resource) => isOverfull(own, resource));
    };
    const fitting = pods.filter(fits);
    used = add(used, fitting.map(({ desired }) => needsMore(desired)).reduce(larger, new Map()));
    const [has = ""] = takes;
    for (const one of pods) if (!fitting.includes(one)) inTheWay.push([one, has]);
  }
  return inTheWay;
}

/** In the order of precedence. */
function placesOf(
  pods: readonly YieldingPod[],
  needsOf: (pod: DesiredPod) => Amounts,
): readonly Place[] {
  const byName = Map.groupBy(pods, ({ desired }) => podName(desired.pod));
  return [...byName.values()].map((ofName) => ({
    pods: ofName,
    needs: ofName.map(({ desired }) => needsOf(desired)).reduce(larger),
  }));
}
