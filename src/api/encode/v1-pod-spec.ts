// A pod's spec in Kubernetes' own JSON: what it shows can be applied again and means the same.

import type { PodDnsConfig } from "../v1/dns.ts";
import { CONTAINER, INIT_CONTAINER } from "../v1/container.ts";
import { POD_SPEC } from "../v1/pod-spec.ts";
import type { PodSpec } from "../v1/pod.ts";
import type { NodeSelectorTerm, Toleration } from "../v1/scheduling.ts";
import { POD_SECURITY_CONTEXT } from "../v1/security-context.ts";
import { flag, list, map, text, type V1Object } from "./v1-shape.ts";
import { VOLUME } from "../v1/volumes.ts";

export function v1PodSpec(spec: PodSpec): V1Object {
  const { initContainers, containers, volumes, ...network } = spec;
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers, ...names } = network;
  const { setHostnameAsFQDN, hostAliases, dnsConfig, imagePullSecrets, ...placing } = names;
  const { overhead, nodeSelector, affinity, tolerations, ...limits } = placing;
  const { resources, securityContext, ...rest } = limits;
  return {
    ...list(
      "initContainers",
      initContainers.map((container) => INIT_CONTAINER.write(container)),
    ),
    containers: containers.map((container) => CONTAINER.write(container)),
    ...list(
      "volumes",
      volumes.map((volume) => VOLUME.write(volume)),
    ),
    ...rest,
    ...flag("hostNetwork", hostNetwork),
    ...flag("hostPID", hostPID),
    ...flag("hostIPC", hostIPC),
    ...flag("shareProcessNamespace", shareProcessNamespace),
    ...(hostUsers ? {} : { hostUsers }),
    ...flag("setHostnameAsFQDN", setHostnameAsFQDN),
    ...list("hostAliases", hostAliases),
    ...(dnsConfig === undefined ? {} : { dnsConfig: v1DnsConfig(dnsConfig) }),
    ...list(
      "imagePullSecrets",
      imagePullSecrets.map((name) => ({ name })),
    ),
    overhead: POD_SPEC.level.overhead.write(overhead),
    ...map("nodeSelector", nodeSelector),
    ...(affinity === undefined ? {} : { affinity: v1Affinity(affinity) }),
    ...list("tolerations", tolerations.map(v1Toleration)),
    resources: POD_SPEC.level.resources.write(resources),
    securityContext: POD_SECURITY_CONTEXT.write(securityContext),
  };
}

function v1DnsConfig({ nameservers, searches, options }: PodDnsConfig): V1Object {
  return {
    ...list("nameservers", nameservers),
    ...list("searches", searches),
    ...list("options", options),
  };
}

function v1Affinity(terms: readonly NodeSelectorTerm[]): V1Object {
  const nodeSelectorTerms = terms.map(({ matchExpressions, matchFields }) => ({
    ...list("matchExpressions", matchExpressions.map(v1Requirement)),
    ...list("matchFields", matchFields.map(v1Requirement)),
  }));
  const required = { nodeSelectorTerms };
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
}

function v1Requirement({
  values,
  ...rest
}: NodeSelectorTerm["matchExpressions"][number]): V1Object {
  return { ...rest, ...list("values", values) };
}

function v1Toleration({ key, value, effect, ...rest }: Toleration): V1Object {
  return { ...text("key", key), ...text("value", value), ...text("effect", effect ?? ""), ...rest };
}
