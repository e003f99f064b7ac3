// `/api/v1/…`: the local objects under the paths that an API server has for them.

import type { LocalObjectKind } from "../api/v1/local-object.ts";
import { json, notAllowed, text, type Answer } from "./answer.ts";
import { answerForClaim } from "./delete-claim.ts";
import { objectList, v1Object } from "../node/object-list.ts";
import type { ObjectFacts } from "../node/node-api.ts";

export interface ObjectPath {
  readonly resource: string;
  readonly kind: LocalObjectKind;
  /** Absent = of all namespaces. */
  readonly namespace?: string;
  readonly name?: string;
}

export interface ObjectRequest {
  readonly method: string;
  readonly path: ObjectPath;
  readonly query: URLSearchParams;
}

/** As in paths. */
export const OBJECT_RESOURCES: Readonly<Record<string, LocalObjectKind>> = {
  configmaps: "ConfigMap",
  secrets: "Secret",
  persistentvolumeclaims: "PersistentVolumeClaim",
};

const PATH = /^\/api\/v1\/(?:namespaces\/([^/]+)\/)?([^/]+)(?:\/([^/]+))?$/;
const SHOW = "showSecrets";

/** The objects that a path names; undefined = it names none. */
export function objectsOfPath(path: string): ObjectPath | undefined {
  const [, namespace, resource = "", name] = PATH.exec(path) ?? [];
  const kind = Object.hasOwn(OBJECT_RESOURCES, resource) ? OBJECT_RESOURCES[resource] : undefined;
  if (kind === undefined || (name !== undefined && namespace === undefined)) return undefined;
  return {
    resource,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
  };
}

export function answerForObjects(request: ObjectRequest, facts: ObjectFacts): Answer {
  const { method, path, query } = request;
  const { resource, kind, namespace, name } = path;
  const isClaim = kind === "PersistentVolumeClaim" && namespace !== undefined && name !== undefined;
  if (isClaim && method === "DELETE")
    return answerForClaim({ claim: { namespace, name }, query }, (claim) =>
      facts.removeClaimData(claim),
    );
  if (method !== "GET" && method !== "HEAD") {
    const allow = isClaim ? "GET, HEAD, DELETE" : "GET, HEAD";
    return notAllowed(
      allow,
      `${resource} are changed where they are declared; here they are shown`,
    );
  }
  const showSecrets = query.get(SHOW) ?? "false";
  if (showSecrets !== "true" && showSecrets !== "false")
    return text(400, `${SHOW} must be true or false, not ${JSON.stringify(showSecrets)}`);
  const entries = facts.objects(namespace);
  if (name === undefined)
    return json(objectList(entries, { kind, showSecrets: showSecrets === "true" }));
  const entry = entries.find(({ object }) => object.kind === kind && object.metadata.name === name);
  if (entry === undefined)
    return text(404, `${resource} "${name}" not found in namespace "${namespace ?? ""}"`);
  return json(v1Object(entry, showSecrets === "true"));
}
