// Which port a probe or hook means by a number or a name. kubelet: ResolveContainerPort

import type { PortReference } from "./probe.ts";
import type { ContainerPort } from "./pod.ts";

/** undefined = no port of that name, or a number that is no port. Digits in quotes are a number unless a port is called so. */
export function resolvePort(
  reference: PortReference,
  ports: readonly ContainerPort[],
): number | undefined {
  if (typeof reference === "number") return isPort(reference) ? reference : undefined;
  const named = ports.find(({ name }) => name === reference);
  if (named !== undefined) return named.containerPort;
  const port = /^[0-9]{1,5}$/.test(reference) ? Number(reference) : 0;
  return isPort(port) ? port : undefined;
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port > 0 && port < 65_536;
}
