// The kinds that `agent explain` and `agent schema` know, and the names that people use for them.

import { UNKNOWN_FIELDS } from "../pod/pod-annotations.ts";
import { CLAIM } from "../v1/object/claim.ts";
import { CONFIG_MAP } from "../v1/object/config-map.ts";
import { SECRET } from "../v1/object/secret.ts";
import { LIST, LIST_KINDS, OWN_OBJECTS, type ManifestKind } from "../decode/manifest-kinds.ts";
import { POD } from "../v1/pod.ts";
import { CRON_JOB, JOB } from "../workload/job.ts";
import { DAEMON_SET, DEPLOYMENT, STATEFUL_SET } from "../workload/replicated.ts";
import { versionOf, type RunKind, type WorkloadKind } from "../workload/workload-kinds.ts";
import { conditional, having, objectSchema, presentSchema } from "./json-schema.ts";
import { OTHER_KINDS } from "../decode/other-kinds.ts";
import type { JsonSchema, Level, Type } from "./type.ts";

export interface SchemaKind<K extends string = Exclude<ManifestKind, RunKind>> {
  readonly kind: K;
  /** In lower case; the first is the one that paths begin with. */
  readonly words: readonly [string, ...string[]];
  readonly about: string;
  readonly level: Level;
  readonly type: Pick<Type<unknown>, "schema">;
}

export const SCHEMA_KINDS: readonly SchemaKind[] = [
  {
    kind: "Pod",
    words: ["pod", "pods", "po"],
    about: "Containers that run together on this node and share its network and volumes.",
    level: POD.level,
    type: POD,
  },
  {
    kind: "ConfigMap",
    words: ["configmap", "configmaps", "cm"],
    about: "Configuration that pods read as variables or files. A local object of this node.",
    level: CONFIG_MAP.level,
    type: CONFIG_MAP,
  },
  {
    kind: "Secret",
    words: ["secret", "secrets"],
    about: "Passwords and keys that pods read as variables or files. A local object of this node.",
    level: SECRET.level,
    type: SECRET,
  },
  {
    kind: "PersistentVolumeClaim",
    words: ["pvc", "persistentvolumeclaim", "persistentvolumeclaims"],
    about: "A directory of this node that outlives the pods that mount it.",
    level: CLAIM.level,
    type: CLAIM,
  },
];

/** The kinds of which this node makes pods. */
export const WORKLOAD_SCHEMAS: readonly SchemaKind<WorkloadKind | RunKind>[] = [
  {
    kind: "Deployment",
    words: ["deployment", "deployments", "deploy"],
    about: "One pod of this node, NAME-0, for as long as the Deployment is declared.",
    level: DEPLOYMENT.level,
    type: DEPLOYMENT,
  },
  {
    kind: "DaemonSet",
    words: ["daemonset", "daemonsets", "ds"],
    about: "One pod of this node, NAME-0, for as long as the DaemonSet is declared.",
    level: DAEMON_SET.level,
    type: DAEMON_SET,
  },
  {
    kind: "StatefulSet",
    words: ["statefulset", "statefulsets", "sts"],
    about: "One pod of this node, NAME-0, with its own claims.",
    level: STATEFUL_SET.level,
    type: STATEFUL_SET,
  },
  {
    kind: "Job",
    words: ["job", "jobs"],
    about: "Pods that run until enough of them have succeeded, once.",
    level: JOB.level,
    type: JOB,
  },
  {
    kind: "CronJob",
    words: ["cronjob", "cronjobs", "cj"],
    about: "Jobs that start by a schedule, while the wall clock is synchronised.",
    level: CRON_JOB.level,
    type: CRON_JOB,
  },
];

export type AnySchemaKind = SchemaKind<ManifestKind | WorkloadKind>;
export const ALL_SCHEMA_KINDS: readonly AnySchemaKind[] = [...SCHEMA_KINDS, ...WORKLOAD_SCHEMAS];

/** By any of its names, in any case. */
export function findSchemaKind(word: string): AnySchemaKind | undefined {
  const name = word.toLowerCase();
  return ALL_SCHEMA_KINDS.find(({ words }) => words.includes(name));
}

/** The annotation by which an object lets unknown fields pass. */
const WARNS_ONLY = having({
  metadata: having({ annotations: having({ [UNKNOWN_FIELDS]: { const: "warn" } }) }),
});

/** The JSON Schema of an object; of one that lets unknown fields pass, no more than what names it. */
export function kindSchema({ kind, type }: AnySchemaKind): JsonSchema {
  const identity = having({
    apiVersion: { const: versionOf(kind) },
    kind: { const: kind },
    metadata: having({ name: { type: "string", minLength: 1 } }),
  });
  return { type: "object", ...conditional(WARNS_ONLY, identity, presentSchema(type.schema())) };
}

/** The JSON Schema of whatever a document of a manifest may contain: an object of any kind, or a list of them. */
export function manifestSchema(): JsonSchema {
  const objects = ALL_SCHEMA_KINDS.map((kind) =>
    conditional(having({ kind: { const: kind.kind } }), kindSchema(kind)),
  );
  return {
    // A document may be empty.
    type: ["object", "null"],
    required: ["kind"],
    properties: { kind: { type: "string" } },
    allOf: [
      // The kinds of other groups are left out with a warning, and anyone can define more of them.
      conditional(
        having({ apiVersion: { type: "string", pattern: "/" } }),
        {},
        {
          properties: { kind: { enum: [...OWN_OBJECTS, ...LIST_KINDS, ...OTHER_KINDS] } },
        },
      ),
      ...objects,
      conditional(having({ kind: { enum: LIST_KINDS } }), listSchema()),
    ],
  };
}

function listSchema(): JsonSchema {
  const { apiVersion, metadata, items } = LIST.level;
  return objectSchema(
    { apiVersion, kind: { ...LIST.level.kind, schema: () => ({}) }, metadata, items },
    {},
  );
}
