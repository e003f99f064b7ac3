// Deployment, DaemonSet and StatefulSet: one pod on this node, for as long as they are declared.

import { invalidAt, type Node } from "../decode/field-reader.ts";
import { harmless, ignored } from "../decode/field-rules.ts";
import {
  fieldOf,
  integer,
  list,
  objectType,
  string,
  unread,
  unreadFields,
  type ObjectOf,
} from "../schema/codec.ts";
import type { Level, Type } from "../schema/type.ts";
import { objectHead } from "../v1/metadata.ts";
import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";
import { checkSelector, selectorField } from "./label-selector.ts";
import { podTemplate } from "./pod-template.ts";
import type { Owner } from "./template-pod.ts";
import type { WorkloadKind } from "./workload-kinds.ts";

const RECREATE =
  "the new pod starts when the old one is gone, as with Recreate; there is one replica";

const replicas = integer({
  about: "0 or 1 pod. A larger number is 1 with a warning: further replicas need further nodes.",
  default: 1,
  keep: true,
  schema: { minimum: 0 },
  check: (count) => (count < 0 ? "must be greater than or equal to 0" : undefined),
});

const COMMON = {
  ...unreadFields(harmless, {
    revisionHistoryLimit: [
      "integer",
      "Revisions kept in a cluster. This node keeps the last good one.",
    ],
    minReadySeconds: ["integer", "Seconds until a ready pod counts as available in a cluster."],
  }),
  selector: selectorField(true),
  template: podTemplate,
};

const DEPLOYMENT_SPEC = {
  ...COMMON,
  replicas,
  strategy: unread(
    "DeploymentStrategy",
    "Always Recreate on this node.",
    ignored(RECREATE, { type: "Recreate" }, {}),
  ),
  paused: unread(
    "boolean",
    "A change of the template takes effect at once.",
    ignored("a changed template takes effect at once; agent hold holds an update", false),
  ),
  progressDeadlineSeconds: unread("integer", "Reported in a cluster only.", harmless),
};

const DAEMON_SET_SPEC = {
  ...COMMON,
  updateStrategy: unread(
    "DaemonSetUpdateStrategy",
    "Always RollingUpdate on this node: the old pod stops, then the new one starts.",
    harmless,
  ),
};

/** A claim as written: it is read when it has its name. */
const CLAIM_TEMPLATE: Type<JsonObject> = {
  name: "PersistentVolumeClaim",
  read: (at) => (isJsonObject(at.value) ? at.value : invalidAt(at, "must be an object")),
  write: (claim) => claim,
  schema: () => ({ type: "object" }),
};

const ORDINALS = objectType("StatefulSetOrdinals", {
  start: integer({
    about: "Ordinal of the pod.",
    default: 0,
    schema: { minimum: 0 },
    check: (start) => (start < 0 ? "must be greater than or equal to 0" : undefined),
  }),
});

const STATEFUL_SET_SPEC = {
  ...COMMON,
  replicas,
  serviceName: string({ about: "Subdomain of the pod, unless its template has one.", default: "" }),
  volumeClaimTemplates: list(CLAIM_TEMPLATE, {
    about: "Claims of the pod, each named TEMPLATE-SET-ORDINAL. They outlive the pod.",
  }),
  ordinals: fieldOf(ORDINALS)({ about: "How the pod is numbered." }),
  ...unreadFields(harmless, {
    podManagementPolicy: ["string", "Order of several pods. There is one."],
    updateStrategy: ["StatefulSetUpdateStrategy", "The old pod stops, then the new one starts."],
    persistentVolumeClaimRetentionPolicy: [
      "StatefulSetPersistentVolumeClaimRetentionPolicy",
      "A claim goes when it is no longer declared, as every claim of this node.",
    ],
  }),
};

function replicatedType<const F extends Level & typeof COMMON>(kind: string, spec: F) {
  return objectType(kind, {
    ...objectHead(kind, "apps/v1"),
    spec: fieldOf(objectType(`${kind}Spec`, spec, { check: checkSpec }))({
      about: "The pod, and how it is replaced.",
      required: true,
    }),
    status: unread(`${kind}Status`, "Last known state in an API server; never read.", harmless),
  });
}

function checkSpec(spec: ObjectOf<typeof COMMON>, node: Node): void {
  checkSelector(spec, node);
  const { template } = spec;
  if (template === undefined) return;
  const policy = memberOf(template["spec"], "restartPolicy") ?? "Always";
  const path = [...node.path, "template", "spec"];
  if (policy !== "Always" && policy !== "")
    node.findings.unsupported([...path, "restartPolicy"], policy, ["Always"]);
  if ((memberOf(template["spec"], "activeDeadlineSeconds") ?? null) !== null)
    node.findings.forbidden(
      [...path, "activeDeadlineSeconds"],
      "activeDeadlineSeconds in the template of a workload that runs for ever; use a Job",
    );
}

export const DEPLOYMENT = replicatedType("Deployment", DEPLOYMENT_SPEC);
export const DAEMON_SET = replicatedType("DaemonSet", DAEMON_SET_SPEC);
export const STATEFUL_SET = replicatedType("StatefulSet", STATEFUL_SET_SPEC);

/** How the only pod of a StatefulSet is numbered and found, and its claims as written. */
export interface StatefulIdentity {
  readonly ordinal: number;
  readonly serviceName: string;
  readonly claims: readonly JsonObject[];
}

/** What all three have in common. */
export interface Replicated {
  readonly metadata: Pick<Owner, "namespace" | "name" | "annotations">;
  readonly template: JsonObject;
  readonly replicas: number;
  /** Of a StatefulSet. */
  readonly set?: StatefulIdentity;
}

/** undefined = unusable, and reported. */
export function replicatedOf(kind: WorkloadKind, at: Node): Replicated | undefined {
  switch (kind) {
    case "Deployment": {
      const { metadata, spec } = DEPLOYMENT.read(at) ?? {};
      return replicatedFrom(metadata, spec, spec?.replicas);
    }
    case "DaemonSet": {
      const { metadata, spec } = DAEMON_SET.read(at) ?? {};
      return replicatedFrom(metadata, spec, 1);
    }
    case "StatefulSet": {
      const { metadata, spec } = STATEFUL_SET.read(at) ?? {};
      const replicated = replicatedFrom(metadata, spec, spec?.replicas);
      if (replicated === undefined || spec === undefined) return undefined;
      const { serviceName, volumeClaimTemplates: claims, ordinals } = spec;
      return { ...replicated, set: { ordinal: ordinals?.start ?? 0, serviceName, claims } };
    }
  }
}

function replicatedFrom(
  metadata: Replicated["metadata"] | undefined,
  spec: { readonly template?: JsonObject } | undefined,
  count = 1,
): Replicated | undefined {
  const template = spec?.template;
  if (metadata === undefined || template === undefined) return undefined;
  return { metadata, template, replicas: count };
}
