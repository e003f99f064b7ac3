// Which host ports a pod claims, and when two claims cannot both be had.

import type { PodSpec } from "../v1/pod-spec.ts";
import { isSidecar, type Pod } from "../v1/pod.ts";
import type { ContainerPort, PortProtocol } from "../v1/container-ports.ts";
import type { Container } from "../v1/container.ts";

interface HostPortClaim {
  readonly hostPort: number;
  readonly protocol: PortProtocol;
  /** "" = every address. */
  readonly hostIP: string;
}

function hostPortClaim(port: ContainerPort): HostPortClaim | undefined {
  if (port.hostPort === undefined || port.hostPort === 0) return undefined;
  const any = port.hostIP === undefined || port.hostIP === "0.0.0.0" || port.hostIP === "::";
  return { hostPort: port.hostPort, protocol: port.protocol, hostIP: any ? "" : port.hostIP };
}

/** Who holds ports as long as the pod lives: a plain init container is gone when the others start. k8s: GetHostPorts */
export function portHolders(spec: PodSpec): readonly Container[] {
  return [
    ...spec.initContainers.filter((container) => isSidecar(spec, container)),
    ...spec.containers,
  ];
}

/** A claim and the list of the spec in which its container stands. */
interface PlacedClaim extends HostPortClaim {
  readonly path: "spec.initContainers" | "spec.containers";
}

export function hostPortClaims({ spec }: Pod): readonly PlacedClaim[] {
  const sidecars = new Set(spec.initContainers);
  return portHolders(spec).flatMap((container) => {
    const path = sidecars.has(container) ? "spec.initContainers" : "spec.containers";
    return container.ports.flatMap((port): readonly PlacedClaim[] => {
      const claim = hostPortClaim(port);
      return claim === undefined ? [] : [{ ...claim, path }];
    });
  });
}

/** The claim of `pod` that cannot be had beside `owner`. */
export interface PortConflict<Owner> {
  readonly claim: PlacedClaim;
  readonly owner: Owner;
}

/** The first of `others` that claims a host port which `pod` claims too. */
export function portConflict<Owner extends { readonly pod: Pod }>(
  pod: Pod,
  others: readonly Owner[],
): PortConflict<Owner> | undefined {
  const own = hostPortClaims(pod);
  if (own.length === 0) return undefined;
  for (const owner of others) {
    const theirs = hostPortClaims(owner.pod);
    const claim = own.find((mine) => theirs.some((other) => claimsConflict(mine, other)));
    if (claim !== undefined) return { claim, owner };
  }
  return undefined;
}

/** kubelet: PodFitsHostPorts */
function claimsConflict(a: HostPortClaim, b: HostPortClaim): boolean {
  if (a.hostPort !== b.hostPort || a.protocol !== b.protocol) return false;
  return a.hostIP === "" || b.hostIP === "" || a.hostIP === b.hostIP;
}
