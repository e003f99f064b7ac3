// The kinds whose fields this node knows, and what people call them.

import type { Level } from "./type.ts";
import { CLAIM } from "../v1/object/claim.ts";
import { CONFIG_MAP } from "../v1/object/config-map.ts";
import { SECRET } from "../v1/object/secret.ts";
import { POD } from "../v1/objects.ts";

export interface SchemaKind {
  readonly kind: "Pod" | "ConfigMap" | "Secret" | "PersistentVolumeClaim";
  /** In lower case; the first is the one that paths begin with. */
  readonly words: readonly [string, ...string[]];
  readonly about: string;
  readonly level: Level;
}

export const SCHEMA_KINDS: readonly SchemaKind[] = [
  {
    kind: "Pod",
    words: ["pod", "pods", "po"],
    about: "Containers that run together on this node and share its network and volumes.",
    level: POD.level,
  },
  {
    kind: "ConfigMap",
    words: ["configmap", "configmaps", "cm"],
    about: "Configuration that pods read as variables or files. A local object of this node.",
    level: CONFIG_MAP.level,
  },
  {
    kind: "Secret",
    words: ["secret", "secrets"],
    about: "Passwords and keys that pods read as variables or files. A local object of this node.",
    level: SECRET.level,
  },
  {
    kind: "PersistentVolumeClaim",
    words: ["pvc", "persistentvolumeclaim", "persistentvolumeclaims"],
    about: "A directory of this node that outlives the pods that mount it.",
    level: CLAIM.level,
  },
];

/** By any of its names, in any case. */
export function findSchemaKind(word: string): SchemaKind | undefined {
  const name = word.toLowerCase();
  return SCHEMA_KINDS.find(({ words }) => words.includes(name));
}
