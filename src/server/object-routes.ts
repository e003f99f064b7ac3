// `/api/v1/…`: the local objects, under the paths of an API server, and `DELETE …/persistentvolumeclaims/<name>?data=true`.

import type { LocalObjectKind } from "../api/v1/object/local-object.ts";
import { json, success, text, type Answer, type LocalRequest, type Route } from "./answer.ts";
import { objectList, v1Object } from "../node/object-list.ts";
import type { ObjectFacts } from "../node/node-api.ts";

const RESOURCES: Readonly<Record<string, LocalObjectKind>> = {
  configmaps: "ConfigMap",
  secrets: "Secret",
  persistentvolumeclaims: "PersistentVolumeClaim",
};
const CLAIMS = "persistentvolumeclaims";
const SHOW = "showSecrets";

/** Of each resource, all objects, those of a namespace, and one of them. */
export const OBJECT_ROUTES: readonly Route[] = Object.entries(RESOURCES).flatMap(
  ([resource, kind]): readonly Route[] => {
    const refusal = `${resource} are read-only here; change them in their file or document`;
    const isClaim = resource === CLAIMS;
    return [
      {
        listed: `/api/v1/${resource}`,
        path: new RegExp(`^/api/v1/(?:namespaces/([^/]+)/)?${resource}$`),
        methods: { GET: (request) => showObjects(resource, kind, request) },
        refusal,
      },
      {
        path: new RegExp(`^/api/v1/namespaces/([^/]+)/${resource}/([^/]+)$`),
        methods: {
          GET: (request) => showObjects(resource, kind, request),
          ...(isClaim ? { DELETE: removeClaimData } : {}),
        },
        refusal,
      },
    ];
  },
);

function showObjects(
  resource: string,
  kind: LocalObjectKind,
  { facts, parts: [namespace, name], query }: LocalRequest<ObjectFacts>,
): Answer {
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

/** Deletes everything in the directory of a claim; the claim itself goes with its file or document. */
function removeClaimData({ facts, parts, query }: LocalRequest<ObjectFacts>): Answer {
  const claim = { namespace: parts[0] ?? "", name: parts[1] ?? "" };
  const name = `${claim.namespace}/${claim.name}`;
  if (query.getAll(DATA).join() !== "true")
    return text(
      400,
      `nothing was deleted: this deletes all data of the claim ${name} for good; add ?${DATA}=true to confirm`,
    );
  const outcome = facts.removeClaimData(claim);
  switch (outcome.type) {
    case "Removed":
      return success(`the data of the claim ${name} is deleted`, {
        name: claim.name,
        kind: CLAIMS,
      });
    case "InUse":
      return text(
        409,
        `the claim ${name} is used by ${outcome.pods.join(", ")}: remove these pods first and wait until they are gone`,
      );
    case "NotFound":
      return text(
        404,
        `${CLAIMS} "${claim.name}" in namespace "${claim.namespace}" has no data on this node`,
      );
    case "Failed":
      return text(500, `the data of the claim ${name} could not be deleted: ${outcome.message}`);
  }
}
