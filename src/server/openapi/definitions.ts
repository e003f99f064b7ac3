// The schemas of all kinds, made of the one description that each field has. OpenAPI v2: the Definitions Object

import { SCHEMA_KINDS } from "../../api/schema/schema-kinds.ts";
import type { Field, JsonSchema, Level } from "../../api/schema/type.ts";
import { apiVersionOf, type KubeResource } from "../kube/kube-resource.ts";

export type Definitions = Readonly<Record<string, JsonSchema>>;

const CORE = "io.k8s.api.core.v1.";
const META = "io.k8s.apimachinery.pkg.apis.meta.v1.";
export const REF = "#/definitions/";

/** Types that Kubernetes keeps elsewhere than its core group. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  DeleteOptions: META,
  LabelSelector: META,
  ListMeta: META,
  ManagedFieldsEntry: META,
  ObjectMeta: META,
  OwnerReference: META,
  Status: META,
  Time: META,
  Quantity: "io.k8s.apimachinery.pkg.api.resource.",
  IntOrString: "io.k8s.apimachinery.pkg.util.intstr.",
};

export function definitionName(type: string): string {
  return `${ELSEWHERE[type] ?? CORE}${type}`;
}

/** Of an object of the resource, and of a list of them. */
export function kindName({ group, version, kind }: KubeResource, suffix = ""): string {
  return group === ""
    ? definitionName(kind + suffix)
    : `io.k8s.${group}.${version}.${kind}${suffix}`;
}

export function refTo(name: string): JsonSchema {
  return { $ref: `${REF}${name}` };
}

const PRIMITIVES: Readonly<Record<string, JsonSchema>> = {
  string: { type: "string" },
  integer: { type: "integer", format: "int64" },
  number: { type: "number", format: "double" },
  boolean: { type: "boolean" },
};

/** Types that are written as one value. */
const VALUES: Definitions = {
  [definitionName("Time")]: {
    description: "A time as in RFC 3339.",
    type: "string",
    format: "date-time",
  },
  [definitionName("Quantity")]: {
    description: "An amount, such as 500m, 64Mi or 2.",
    type: "string",
  },
  [definitionName("IntOrString")]: {
    description: "A number or a name.",
    type: "string",
    format: "int-or-string",
  },
};

const TYPE_FIELDS = {
  apiVersion: { description: "Version of the API.", type: "string" },
  kind: { description: "Kind of the object.", type: "string" },
};

/** What requests and answers have beside objects. */
const META_KINDS: Definitions = {
  [definitionName("ListMeta")]: {
    description: "Of a list: its version, and where it goes on.",
    type: "object",
    properties: {
      resourceVersion: { description: "Version of the list.", type: "string" },
      continue: { description: "Token of the next page.", type: "string" },
      remainingItemCount: { description: "Objects after this page.", ...PRIMITIVES["integer"] },
    },
  },
  [definitionName("Status")]: {
    description: "How a request ended.",
    type: "object",
    properties: {
      ...TYPE_FIELDS,
      status: { description: "Success or Failure.", type: "string" },
      message: { description: "A sentence.", type: "string" },
      reason: { description: "Why, in one word.", type: "string" },
      code: { description: "The HTTP status.", ...PRIMITIVES["integer"] },
    },
  },
  [definitionName("DeleteOptions")]: {
    description: "How an object is deleted.",
    type: "object",
    properties: {
      ...TYPE_FIELDS,
      gracePeriodSeconds: {
        description: "Longest time that a pod has to stop; its own if not written.",
        ...PRIMITIVES["integer"],
      },
      propagationPolicy: { description: "Means nothing here.", type: "string" },
      dryRun: {
        description: "All: nothing is deleted.",
        type: "array",
        items: { type: "string" },
      },
    },
  },
};

/** Every kind of `resources`, and what they are made of. */
export function definitionsOf(resources: readonly KubeResource[]): Definitions {
  const found = new Map<string, JsonSchema>(Object.entries({ ...VALUES, ...META_KINDS }));
  const add = new LevelDefinitions(found);
  for (const resource of resources) {
    const described = SCHEMA_KINDS.find(({ kind }) => kind === resource.kind);
    const name = kindName(resource);
    if (described === undefined) found.set(name, undescribed(resource));
    else add.object(name, described.level, described.about);
    found.set(name, { ...found.get(name), ...versionKind(resource) });
    found.set(kindName(resource, "List"), {
      ...listOf(resource),
      ...versionKind(resource, "List"),
    });
  }
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function versionKind({ group, version, kind }: KubeResource, suffix = ""): JsonSchema {
  return { "x-kubernetes-group-version-kind": [{ group, version, kind: kind + suffix }] };
}

/** An object that is only shown. */
function undescribed(resource: KubeResource): JsonSchema {
  return {
    description: `${resource.kind} of ${apiVersionOf(resource)}, which this node shows.`,
    type: "object",
    properties: {
      ...TYPE_FIELDS,
      metadata: { description: "Name and labels.", ...refTo(definitionName("ObjectMeta")) },
    },
    "x-kubernetes-preserve-unknown-fields": true,
  };
}

function listOf(resource: KubeResource): JsonSchema {
  return {
    description: `A list of ${resource.kind}.`,
    type: "object",
    required: ["items"],
    properties: {
      ...TYPE_FIELDS,
      metadata: { description: "Of the list.", ...refTo(definitionName("ListMeta")) },
      items: {
        description: "The objects.",
        type: "array",
        items: refTo(kindName(resource)),
      },
    },
  };
}

/** Adds the definition of an object and of all that is below it. */
class LevelDefinitions {
  readonly #found: Map<string, JsonSchema>;
  readonly #done = new Set<Level>();

  constructor(found: Map<string, JsonSchema>) {
    this.#found = found;
  }

  object(name: string, level: Level, description?: string): void {
    if (this.#done.has(level)) return;
    this.#done.add(level);
    const before = this.#found.get(name);
    const earlier = before?.["properties"];
    // Kubernetes has one type where this node tells cases apart, such as the probes.
    const known = typeof earlier === "object" ? earlier : {};
    const properties = Object.entries(level).map(
      ([key, field]) => [key, this.#property(field)] as const,
    );
    // An API server generates a name.
    const isMeta = name === definitionName("ObjectMeta");
    const required = Object.keys(level).filter((key) => !isMeta && level[key]?.required === true);
    this.#found.set(name, {
      ...(description === undefined ? {} : { description }),
      ...before,
      type: "object",
      properties: { ...Object.fromEntries(properties), ...known },
      ...(required.length === 0 ? {} : { required }),
    });
  }

  #property({ type, about, level, rule }: Field): JsonSchema {
    const { verdict } = rule;
    const note = verdict.type === "Refused" ? ` Refused: ${verdict.message}.` : "";
    return { description: `${about}${note}`, ...this.#schema(type, level) };
  }

  /** A type has no description of its own, as `explain` shows it below that of the field. `type` is written as `explain` prints it: `[]Container`, `map[string]string`. */
  #schema(type: string, level: Level | undefined): JsonSchema {
    const [, list, map, item = ""] = /^(?:(\[\])|(map\[string\]))?(.+)$/.exec(type) ?? [];
    if (list !== undefined) return { type: "array", items: this.#schema(item, level) };
    if (map !== undefined)
      return { type: "object", additionalProperties: this.#schema(item, level) };
    const primitive = PRIMITIVES[item];
    if (primitive !== undefined) return primitive;
    const name = definitionName(item);
    if (level !== undefined) this.object(name, level);
    else if (!this.#found.has(name)) this.#found.set(name, { type: "object" });
    return refTo(name);
  }
}
