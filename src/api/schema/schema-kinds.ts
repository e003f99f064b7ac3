// The kinds that `agent explain` and `agent schema` know, and the names that people use for them.

import { UNKNOWN_FIELDS } from "../pod/pod-annotations.ts";
import { CLAIM } from "../v1/object/claim.ts";
import { CONFIG_MAP } from "../v1/object/config-map.ts";
import { SECRET } from "../v1/object/secret.ts";
import { LIST, LIST_KINDS } from "../decode/manifest-kinds.ts";
import { MANIFEST_KINDS, type ManifestKind } from "../decode/manifest-kinds.ts";
import { POD } from "../v1/pod.ts";
import { conditional, having, objectSchema, presentSchema } from "./json-schema.ts";
import { OTHER_KINDS } from "../decode/other-kinds.ts";
import type { JsonSchema, Level, Type } from "./type.ts";

export interface SchemaKind {
  readonly kind: ManifestKind;
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

/** By any of its names, in any case. */
export function findSchemaKind(word: string): SchemaKind | undefined {
  const name = word.toLowerCase();
  return SCHEMA_KINDS.find(({ words }) => words.includes(name));
}

/** The annotation by which an object lets unknown fields pass. */
const WARNS_ONLY = having({
  metadata: having({ annotations: having({ [UNKNOWN_FIELDS]: { const: "warn" } }) }),
});

/** The JSON Schema of an object; of one that lets unknown fields pass, no more than what names it. */
export function kindSchema({ kind, type }: SchemaKind): JsonSchema {
  const identity = having({
    apiVersion: { const: "v1" },
    kind: { const: kind },
    metadata: having({ name: { type: "string", minLength: 1 } }),
  });
  return { type: "object", ...conditional(WARNS_ONLY, identity, presentSchema(type.schema())) };
}

/** The JSON Schema of whatever a document of a manifest may contain: an object of any kind, or a list of them. */
export function manifestSchema(): JsonSchema {
  const objects = SCHEMA_KINDS.map((kind) =>
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
          properties: { kind: { enum: [...MANIFEST_KINDS, ...LIST_KINDS, ...OTHER_KINDS] } },
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
