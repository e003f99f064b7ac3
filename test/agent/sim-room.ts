// Which pods of a simulated world fit beside each other on its node, independently of the agent.

import type { SimName, SimSpec } from "./sim-specs.ts";

export const NODE_CPUS = 4;

/** A pod of a file stops one of a document within so many seconds. */
export const FILES_WAIT_SECONDS = 30;

export function fitTogether(one: SimSpec, other: SimSpec): boolean {
  if (one.name === other.name) return true;
  return !sharePort(one, other) && (one.cpu ?? 0) + (other.cpu ?? 0) <= NODE_CPUS;
}

/** A pod that asks for a place on the node. */
export interface Asking {
  readonly spec: SimSpec;
  readonly isOfFile: boolean;
  /** Its document does not list it any more; absent = no. */
  readonly lingers?: boolean;
}

/** Whether the pod comes before the other, beside which it does not fit: files first, of them what is critical. */
export function comesFirst(one: Asking, other: Asking): boolean {
  if (one.isOfFile !== other.isOfFile) return one.isOfFile;
  if (one.lingers !== other.lingers) return other.lingers === true;
  return one.spec.critical === true && other.spec.critical !== true;
}

/** What a document may ask for: nothing with the node's network, nothing critical, and no port twice. */
export function acceptable<Want extends { readonly spec: SimSpec }>(
  wants: readonly (readonly [SimName, Want])[],
): readonly (readonly [SimName, Want])[] {
  const allowed = wants.filter(([, { spec }]) => !spec.hostNetwork && spec.critical !== true);
  return allowed.filter(
    ([, { spec }], index) => !allowed.slice(0, index).some(([, one]) => sharePort(one.spec, spec)),
  );
}

function sharePort(one: SimSpec, other: SimSpec): boolean {
  return one.hostPort !== undefined && one.hostPort === other.hostPort;
}
