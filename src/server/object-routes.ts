// `/api/v1/…`: the local objects, under the paths of an API server, and `DELETE …/persistentvolumeclaims/<name>?data=true`.

import type { LocalObjectKind } from "../api/v1/object/local-object.ts";
import { json, notAllowed, success, text, type Answer } from "./answer.ts";
import type { ClaimOutcome, ClaimName } from "../volume/claims.ts";
import { objectList, v1Object } from "../node/object-list.ts";
import type { ObjectFacts } from "../node/node-api.ts";
import { withoutUndefined } from "../lib/json.ts";

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

/** The resources by their name in paths. */
export const OBJECT_RESOURCES: Readonly<Record<string, LocalObjectKind>> = {
  configmaps: "ConfigMap",
  secrets: "Secret",
  persistentvolumeclaims: "PersistentVolumeClaim",
};

const PATH = /^\/api\/v1\/(?:namespaces\/([^/]+)\/)?([^/]+)(?:\/([^/]+))?$/;
const SHOW = "showSecrets";

/** undefined = another path. */
export function objectsOfPath(path: string): ObjectPath | undefined {
  const [, namespace, resource = "", name] = PATH.exec(path) ?? [];
  const kind = Object.hasOwn(OBJECT_RESOURCES, resource) ? OBJECT_RESOURCES[resource] : undefined;
  if (kind === undefined || (name !== undefined && namespace === undefined)) return undefined;
  return {
    resource,
    kind,
    ...withoutUndefined({ namespace, name }),
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
      `${resource} are read-only here; change them in their file or document`,
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

/** Of DELETE: confirms that the data is meant. */
const DATA = "data";

interface ClaimRequest {
  readonly claim: ClaimName;
  readonly query: URLSearchParams;
}

/** Deletes everything in the directory of a claim; the claim itself goes with its file or document. */
function answerForClaim(
  { claim, query }: ClaimRequest,
  remove: (claim: ClaimName) => ClaimOutcome,
): Answer {
  const name = `${claim.namespace}/${claim.name}`;
  if (query.getAll(DATA).join() !== "true")
    return text(
      400,
      `nothing was deleted: this deletes all data of the claim ${name} for good; add ?${DATA}=true to confirm`,
    );
  const outcome = remove(claim);
  switch (outcome.type) {
    case "Removed":
      return success(`the data of the claim ${name} is deleted`, {
        name: claim.name,
        kind: "persistentvolumeclaims",
      });
    case "InUse":
      return text(
        409,
        `the claim ${name} is used by ${outcome.pods.join(", ")}: remove these pods first and wait until they are gone`,
      );
    case "NotFound":
      return text(
        404,
        `persistentvolumeclaims "${claim.name}" in namespace "${claim.namespace}" has no data on this node`,
      );
    case "Failed":
      return text(500, `the data of the claim ${name} could not be deleted: ${outcome.message}`);
  }
}
