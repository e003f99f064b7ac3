// `/api/v1/…`: ConfigMaps, Secrets and claims, under the paths of an API server.

import type { LocalObjectKind } from "../api/v1/object/local-object.ts";
import { json, text, type Answer, type LocalRequest, type Route } from "./answer.ts";
import { objectList, v1Object } from "../node/object-list.ts";
import type { ObjectFacts } from "../node/node-api.ts";
import { CLAIMS, removeClaimData } from "./delete.ts";

const RESOURCES: Readonly<Record<string, LocalObjectKind>> = {
  configmaps: "ConfigMap",
  secrets: "Secret",
  persistentvolumeclaims: "PersistentVolumeClaim",
};
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
