// Which pods fit on the node: those that it can run, one after the other, as far as resources, host ports and maxPods
// permit.

import type { DesiredPod, Rejection } from "../../api/pod/desired-pod.ts";
import { portConflict, type PortConflict } from "../../api/validation/host-ports.ts";
import { podName, type PodUID } from "../../api/v1/pod.ts";
import type { FieldError } from "../../lib/result.ts";
import { seenBy } from "./node-affinity.ts";
import { outranks, rankOf } from "../precedence.ts";
import { declaredBy, rejectionOf } from "../rejections.ts";
import { admit, EMPTY_ROOM, withPod, type NodeInfo, type Room } from "./admit-pod.ts";

export interface AdmissionOptions {
  readonly node: NodeInfo;
  /** The rank of a pod when there is no room for all: a running pod is not evicted for a new one. */
  readonly admissionRank: (pod: DesiredPod) => AdmissionRank;
  /** Pods that still exist, desired or not: their resources and host ports are taken until they are gone. */
  readonly occupants: readonly DesiredPod[];
  /** Whether the pod has ended for good and occupies no resources. */
  readonly isOver: (uid: PodUID) => boolean;
}

/** Lower ranks are admitted first. 0 = the pod runs, 1 = an older spec of its name runs, 2 = neither. */
export type AdmissionRank = 0 | 1 | 2;

interface Admitted {
  /** Pods that are not admitted, or lose a host port or their place to another pod, with the reason. */
  readonly refusals: Map<DesiredPod, Rejection>;
  /** Names whose running pod continues. */
  readonly held: Set<string>;
}

/** A source of higher precedence comes first; among equals, a new pod does not displace a running one. */
export function admitPods(candidates: readonly DesiredPod[], options: AdmissionOptions): Admitted {
  const { node, admissionRank, occupants } = options;
  const inOrder = candidates.toSorted(
    (a, b) => rankOf(a.source) - rankOf(b.source) || admissionRank(a) - admissionRank(b),
  );
  const admitted = oneByOne(inOrder, options);
  const { refusals, held } = admitted;
  for (const pod of inOrder.filter((one) => !refusals.has(one)).slice(node.maxPods))
    hold(pod, outOfPods(node), admitted);
  const staying = new Set([
    ...held,
    ...candidates.filter((pod) => !refusals.has(pod)).map(({ pod }) => podName(pod)),
  ]);
  // The replacement of a pod waits for the pod of its name anyway; a pod of another name has to be refused here.
  const leaving = occupants.filter(({ pod }) => !staying.has(podName(pod)));
  for (const pod of inOrder) {
    const taken = refusals.has(pod) ? undefined : portConflict(pod.pod, leaving);
    if (taken !== undefined) hold(pod, portTaken(taken), admitted);
  }
  return admitted;
}

/** Each pod is judged beside those before it. Running pods are not judged again, even if the node has changed since. */
function oneByOne(
  inOrder: readonly DesiredPod[],
  { node, admissionRank, occupants, isOver }: AdmissionOptions,
): Admitted {
  const runs = (pod: DesiredPod): boolean => admissionRank(pod) === 0;
  const occupied = (room: Room, { uid, pod }: DesiredPod): Room =>
    isOver(uid) ? room : withPod(room, pod);
  let taken = [...occupants, ...inOrder.filter(runs)].reduce(occupied, EMPTY_ROOM);
  const admitted: Admitted = { refusals: new Map(), held: new Set() };
  const owners: DesiredPod[] = [];
  for (const desired of inOrder) {
    const { pod, source } = desired;
    const unfit = runs(desired) ? undefined : admit(pod, seenBy(source, node), taken);
    const conflict = unfit === undefined ? portConflict(pod, owners) : undefined;
    if (unfit !== undefined) hold(desired, unfit, admitted);
    else if (conflict === undefined) {
      owners.push(desired);
      taken = occupied(taken, desired);
    } else if (outranks(conflict.owner.source, source))
      admitted.refusals.set(desired, rejectionOf(desired, pod, portTaken(conflict)));
    else hold(desired, portTaken(conflict), admitted);
  }
  return admitted;
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
