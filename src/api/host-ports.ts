// Which host ports a pod claims, and when two claims cannot both be had.

import type { ContainerPort, Pod, PortProtocol } from "./pod.ts";

export interface HostPortClaim {
  readonly hostPort: number;
  readonly protocol: PortProtocol;
  /** "" = every address. */
  readonly hostIP: string;
}

export function hostPortClaim(port: ContainerPort): HostPortClaim | undefined {
  if (port.hostPort === undefined || port.hostPort === 0) return undefined;
  const any = port.hostIP === undefined || port.hostIP === "0.0.0.0" || port.hostIP === "::";
  return { hostPort: port.hostPort, protocol: port.protocol, hostIP: any ? "" : port.hostIP };
}

export function hostPortClaims(pod: Pod): readonly HostPortClaim[] {
  return pod.spec.containers
    .flatMap((container) => container.ports)
    .map(hostPortClaim)
    .filter((claim) => claim !== undefined);
}

/** kubelet: PodFitsHostPorts */
export function claimsConflict(a: HostPortClaim, b: HostPortClaim): boolean {
  if (a.hostPort !== b.hostPort || a.protocol !== b.protocol) return false;
  return a.hostIP === "" || b.hostIP === "" || a.hostIP === b.hostIP;
}
