// Which pods of a simulated world fit beside each other on its node, independently of the agent.

import type { SimSpec } from "./sim-specs.ts";

export const NODE_CPUS = 4;

/** A pod of a file stops one of a document within so many seconds. */
export const FILES_WAIT_SECONDS = 30;

export function fitTogether(one: SimSpec, other: SimSpec): boolean {
  if (one.name === other.name) return true;
  const samePort = one.hostPort !== undefined && one.hostPort === other.hostPort;
  return !samePort && (one.cpu ?? 0) + (other.cpu ?? 0) <= NODE_CPUS;
}
