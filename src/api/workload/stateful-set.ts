// What a StatefulSet sets in its pod: a stable name for others to find, labels, and a claim for each claim template.
// kubernetes: newStatefulSetPod, updateIdentity, updateStorage

import type { Owner, PodPlan } from "./template-pod.ts";
import type { Replicated, StatefulIdentity } from "./replicated.ts";
import { replicaName } from "./workload-kinds.ts";
import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";

export function setPlan(name: string, owner: Owner, set: StatefulIdentity): PodPlan {
  const subdomain = set.serviceName === "" ? {} : { subdomain: set.serviceName };
  return {
    name,
    labels: {
      "statefulset.kubernetes.io/pod-name": name,
      "apps.kubernetes.io/pod-index": String(set.ordinal),
    },
    spec: (spec) => ({ ...subdomain, ...spec, hostname: name, ...volumes(spec, owner, set) }),
  };
}

function volumes(
  spec: JsonObject,
  owner: Owner,
  { claims, ordinal }: StatefulIdentity,
): JsonObject {
  const { volumes: written } = spec;
  const own = claims.map((claim) => {
    const name = templateName(claim);
    return { name, persistentVolumeClaim: { claimName: claimName(name, owner.name, ordinal) } };
  });
  if (own.length === 0) return {};
  // What is no list is reported when the pod is read.
  if (!Array.isArray(written ?? [])) return {};
  const others = ((written ?? []) as readonly unknown[]).filter(
    (volume) => !own.some(({ name }) => name === memberOf(volume, "name")),
  );
  return { volumes: [...others, ...own] };
}

/** The claim that `template` describes, as its author would have written it by hand. */
export function claimOf(template: JsonObject, { metadata, set }: Replicated): JsonObject {
  const own = isJsonObject(template["metadata"]) ? template["metadata"] : {};
  const name = templateName(template);
  const claim = name === "" ? "" : claimName(name, metadata.name, set?.ordinal ?? 0);
  return {
    ...template,
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { ...own, name: claim, namespace: metadata.namespace },
  };
}

function templateName(template: JsonObject): string {
  const name = memberOf(template["metadata"], "name");
  return typeof name === "string" ? name : "";
}

function claimName(template: string, set: string, ordinal: number): string {
  return `${template}-${replicaName(set, ordinal)}`;
}
