// Decides which pods on the node have to go before one that comes first can start: those whose place it takes.

import type { DesiredPod, DesiredState } from "../api/pod/desired-pod.ts";
import { hostPortClaims } from "../api/validation/host-ports.ts";
import { podName } from "../api/v1/pod.ts";
import {
  podsInTheWay,
  type PodInTheWay,
  type TakenPlaces,
} from "../source/admission/pods-in-the-way.ts";
import type { NodeInfo } from "../source/admission/admit-pod.ts";
import {
  comparePrecedence,
  compareTiers,
  mayPreempt,
} from "../source/admission/preemption-order.ts";
import { isStatic } from "../api/pod/labels.ts";
import { rankOf } from "../source/precedence.ts";
import { nameOf, type WorkerFacts } from "./plan-workers.ts";

/**
 * A pod of a file waits no longer than this for a pod of a document, whatever grace period that one asks for: the default of
 * Kubernetes.
 */
export const GRACE_BEFORE_FILES_SECONDS = 30;

export interface RoomFacts extends Pick<TakenPlaces, "isOver"> {
  readonly node: TakenPlaces["node"] & Pick<NodeInfo, "priorityClasses">;
  readonly desired: Pick<DesiredState, "pods" | "rejected">;
  /** Pods on the node that are not gone, `own` excluded. */
  readonly workers: readonly WorkerFacts[];
}

/**
 * Pods of other names; for an ordinary pod of a document only those that linger: it is refused where there is no room beside
 * the others.
 */
export function mustMakeRoom(own: DesiredPod, facts: RoomFacts): readonly PodInTheWay[] {
  const { desired, workers, node, isOver } = facts;
  const known = workers.flatMap(({ desired: pod, removal }) =>
    pod === undefined ? [] : { desired: pod, isLeaving: removal !== undefined },
  );
  const unknown = unknownInTheWay(own, workers);
  const others = known.map((one) => one.desired);
  if (!mayPreempt(own, others)) return unknown;
  const declared = namesOfFiles(desired);
  // What no file declares any more, and runs until a document's pod of its name is ready, stays in no file's way.
  const isLeft = ({ source, pod }: DesiredPod): boolean =>
    isStatic(own.source) && isStatic(source) && !declared.has(podName(pod));
  const stays = (one: DesiredPod): boolean => compareTiers(one, own) <= 0 && !isLeft(one);
  const place = places(desired.pods);
  const precedence = comparePrecedence(node.priorityClasses);
  const inTheWay = podsInTheWay(own, {
    node,
    isOver,
    staying: [
      ...desired.pods.filter((one) => compareTiers(one, own) <= 0),
      ...others.filter(stays),
    ],
    yielding: known
      .filter((one) => !stays(one.desired))
      .toSorted((a, b) => precedence(a.desired, b.desired) || place(a.desired) - place(b.desired)),
  });
  return [...inTheWay, ...unknown];
}

/** Also of those that are refused: the older pod of such a name is a file's. */
function namesOfFiles({ pods, rejected }: RoomFacts["desired"]): ReadonlySet<string> {
  const refused = rejected.flatMap(({ source, namespace, name }) =>
    isStatic(source) && namespace !== undefined && name !== undefined
      ? nameOf({ namespace, name })
      : [],
  );
  const wanted = pods.filter(({ source }) => isStatic(source)).map(({ pod }) => podName(pod));
  return new Set([...wanted, ...refused]);
}

/** A smaller number comes first; `pods` are in order of precedence. What is not among them comes last of its rank. */
function places(pods: readonly DesiredPod[]): (pod: DesiredPod) => number {
  const indexes = new Map(pods.map(({ pod }, index) => [podName(pod), index]));
  return ({ pod, source }) => {
    const index = indexes.get(podName(pod)) ?? pods.length;
    return rankOf(source) * (pods.length + 1) + index;
  };
}

/** A restart of the agent forgets the specs of pods that are being removed: one of those may have what `own` needs. */
function unknownInTheWay(own: DesiredPod, workers: readonly WorkerFacts[]): readonly PodInTheWay[] {
  const needsPorts = hostPortClaims(own.pod).length > 0;
  return workers
    .filter(({ desired, removal }) => {
      const mayHavePort = needsPorts && removal !== undefined;
      return desired === undefined && (removal?.why === "Preempted" || mayHavePort);
    })
    .filter((one) => nameOf(one) !== podName(own.pod))
    .map(({ uid }) => ({ uid, has: "" }));
}
