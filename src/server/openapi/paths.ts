// The operations of every path of a resource. OpenAPI v2: the Paths Object

import type { JsonSchema } from "../../api/schema/type.ts";
import { apiVersionOf, type KubeResource, type KubeVerb } from "../kube/kube-resource.ts";
import { definitionName, kindName, refTo } from "./definitions.ts";

export type Paths = Readonly<Record<string, JsonSchema>>;

interface QueryParameter {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean";
  readonly about: string;
}

const SELECTORS: readonly QueryParameter[] = [
  { name: "labelSelector", type: "string", about: "Only objects with these labels." },
  { name: "fieldSelector", type: "string", about: "Only objects with these values." },
];
const LIST: readonly QueryParameter[] = [
  ...SELECTORS,
  { name: "limit", type: "integer", about: "Longest page." },
  { name: "continue", type: "string", about: "Token of the page." },
  { name: "watch", type: "boolean", about: "Send changes as they come." },
  { name: "resourceVersion", type: "string", about: "Version after which changes are sent." },
  { name: "allowWatchBookmarks", type: "boolean", about: "Send bookmarks among the changes." },
  { name: "sendInitialEvents", type: "boolean", about: "Send what there is as changes first." },
  { name: "timeoutSeconds", type: "integer", about: "Longest watch." },
];
const DRY_RUN: QueryParameter = {
  name: "dryRun",
  type: "string",
  about: "All: nothing is written, and the answer is the result.",
};
const WRITE: readonly QueryParameter[] = [
  DRY_RUN,
  { name: "fieldManager", type: "string", about: "Who makes the change." },
  {
    name: "fieldValidation",
    type: "string",
    about: "Unknown fields: Ignore drops them, Warn also warns, Strict refuses the object.",
  },
];
const DELETE: readonly QueryParameter[] = [
  DRY_RUN,
  { name: "gracePeriodSeconds", type: "integer", about: "Longest time that a pod has to stop." },
  { name: "propagationPolicy", type: "string", about: "Means nothing here." },
];
const FORCE: QueryParameter = {
  name: "force",
  type: "boolean",
  about: "Take the object from another manager.",
};

interface Operation {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** As Kubernetes calls it. */
  readonly action: string;
  /** What the resource must support. */
  readonly verb: KubeVerb;
  readonly about: string;
  readonly query: readonly QueryParameter[];
  /** Name of the schema of the body. */
  readonly body?: (resource: KubeResource) => string;
  readonly consumes?: readonly string[];
  readonly answer: (resource: KubeResource) => string;
}

const own = (resource: KubeResource): string => kindName(resource);
const list = (resource: KubeResource): string => kindName(resource, "List");
const status = (): string => definitionName("Status");
const deleteOptions = (): string => definitionName("DeleteOptions");

const READ_ALL: Operation = {
  method: "get",
  action: "list",
  verb: "list",
  about: "Lists or watches",
  query: LIST,
  answer: list,
};
const COLLECTION: readonly Operation[] = [
  READ_ALL,
  {
    method: "post",
    action: "post",
    verb: "create",
    about: "Creates",
    query: WRITE,
    body: own,
    answer: own,
  },
  {
    method: "delete",
    action: "deletecollection",
    verb: "deletecollection",
    about: "Deletes all matching",
    query: [...DELETE, ...SELECTORS],
    body: deleteOptions,
    answer: list,
  },
];
const ONE: readonly Operation[] = [
  { method: "get", action: "get", verb: "get", about: "Reads one of", query: [], answer: own },
  {
    method: "put",
    action: "put",
    verb: "update",
    about: "Replaces one of",
    query: WRITE,
    body: own,
    answer: own,
  },
  {
    method: "patch",
    action: "patch",
    verb: "patch",
    about: "Applies one of",
    query: [...WRITE, FORCE],
    body: own,
    consumes: ["application/apply-patch+yaml"],
    answer: own,
  },
  {
    method: "delete",
    action: "delete",
    verb: "delete",
    about: "Deletes one of",
    query: DELETE,
    body: deleteOptions,
    answer: status,
  },
];

export function pathsOf(resources: readonly KubeResource[]): Paths {
  const all = resources.flatMap((resource) => {
    const root = resource.group === "" ? "/api/v1" : `/apis/${apiVersionOf(resource)}`;
    const { name } = resource;
    if (!resource.isNamespaced)
      return [
        [`${root}/${name}`, pathItem(resource, [READ_ALL], [])] as const,
        [`${root}/${name}/{name}`, pathItem(resource, ONE, ["name"])] as const,
      ];
    const below = `${root}/namespaces/{namespace}/${name}`;
    return [
      [`${root}/${name}`, pathItem(resource, [READ_ALL], [])] as const,
      [below, pathItem(resource, COLLECTION, ["namespace"])] as const,
      [`${below}/{name}`, pathItem(resource, ONE, ["name", "namespace"])] as const,
    ];
  });
  return Object.fromEntries(all);
}

const PATH_PARTS: Readonly<Record<string, string>> = {
  name: "Name of the object.",
  namespace: "Namespace of the object.",
};

function pathItem(
  resource: KubeResource,
  operations: readonly Operation[],
  parts: readonly string[],
): JsonSchema {
  const supported = operations.filter(({ verb }) => resource.verbs.includes(verb));
  return {
    ...Object.fromEntries(supported.map((one) => [one.method, operation(resource, one, parts)])),
    ...(parts.length === 0 ? {} : { parameters: parts.map(partParameter) }),
  };
}

function partParameter(name: string): JsonSchema {
  return { name, in: "path", required: true, type: "string", description: PATH_PARTS[name] };
}

function operation(
  resource: KubeResource,
  {
    method,
    action,
    about,
    query,
    body,
    answer,
    consumes = ["application/json", "application/yaml"],
  }: Operation,
  parts: readonly string[],
): JsonSchema {
  const { group, version, kind, name } = resource;
  const where = parts.includes("namespace") ? "Namespaced" : "";
  const all = parts.length === 0 && resource.isNamespaced ? "ForAllNamespaces" : "";
  return {
    description: `${about} ${name}.`,
    operationId: `${action}${groupWord(group)}${version.toUpperCase()}${where}${kind}${all}`,
    ...(body === undefined ? {} : { consumes }),
    produces: ["application/json"],
    parameters: [
      ...(body === undefined
        ? []
        : [
            {
              name: "body",
              in: "body",
              required: method !== "delete",
              schema: refTo(body(resource)),
            },
          ]),
      ...query.map(({ name: key, type, about: description }) => {
        return { name: key, in: "query", type, description, uniqueItems: true };
      }),
    ],
    responses: { "200": { description: "OK", schema: refTo(answer(resource)) } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": { group, version, kind },
  };
}

function groupWord(group: string): string {
  return group === "" ? "Core" : (group.split(".")[0] ?? "");
}
