// The host name of a pod. kubelet: GeneratePodHostNameAndDomain, GetNodenameForKernel

import type { Pod } from "../../api/v1/pod.ts";
import { AgentError } from "../../lib/errors.ts";

export interface PodHostname {
  readonly hostname: string;
  /** `<subdomain>.<namespace>.svc.<clusterDomain>`; "" = none. */
  readonly domain: string;
}

/** Characters that the kernel accepts: 64 bytes with the terminating NUL. */
const MAX_HOSTNAME = 63;
const MAX_FQDN = 64;

/** A subdomain counts only if the node has a cluster domain. */
export function podHostname({ metadata, spec }: Pod, clusterDomain: string): PodHostname {
  const { hostname = metadata.name, subdomain = "" } = spec;
  const hasDomain = subdomain !== "" && clusterDomain !== "";
  return {
    hostname: truncated(hostname),
    domain: hasDomain ? `${subdomain}.${metadata.namespace}.svc.${clusterDomain}` : "",
  };
}

/**
 * For the sandbox; "" = the node's: runc refuses a host name together with the host's network.
 * Throws AgentError `CreatePodSandboxError` when a full name would be too long.
 */
export function kernelHostname(pod: Pod, clusterDomain: string): string {
  if (pod.spec.hostNetwork) return "";
  const { hostname, domain } = podHostname(pod, clusterDomain);
  if (!pod.spec.setHostnameAsFQDN || domain === "") return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length <= MAX_FQDN) return fqdn;
  const message = `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (${MAX_FQDN} characters is the max, ${fqdn.length} characters requested)`;
  throw new AgentError({ reason: "CreatePodSandboxError", message });
}

function truncated(hostname: string): string {
  if (hostname.length <= MAX_HOSTNAME) return hostname;
  return hostname.slice(0, MAX_HOSTNAME).replace(/[-.]+$/, "");
}
