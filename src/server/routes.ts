// Performs: the paths of the local API and their answers. A new resource to read is an entry of ROUTES, or of
// OBJECT_RESOURCES if it has namespaces.

import { json, notAllowed, text, type Answer } from "./answer.ts";
import { answerForPod, podOfPath } from "./delete-pod.ts";
import { eventList } from "../node/events-list.ts";
import { OBJECT_RESOURCES, answerForObjects, objectsOfPath } from "./object-routes.ts";
import { HOLD_PATHS, answerForHold, holdOfPath } from "./hold-routes.ts";
import { podList } from "../node/pod-list.ts";
import { TRUST_PATHS, answerForTrust } from "./trust-routes.ts";
import { type ServerFacts, v1Node } from "../node/node-api.ts";

const ROUTES: ReadonlyMap<string, (facts: ServerFacts) => Answer> = new Map([
  ["/healthz", health],
  ["/pods", (facts) => json(podList(facts.pods()))],
  ["/rejected", (facts) => json(facts.rejected())],
  ["/events", (facts) => json(eventList(facts.events()))],
  ["/node", (facts) => json(v1Node(facts.node()))],
  ["/version", (facts) => json(facts.version())],
]);

export function respond(request: Request, facts: ServerFacts): Response {
  const answer = answerTo(request.method, new URL(request.url), facts);
  const headers: Record<string, string> = {
    "content-type": answer.contentType,
    "content-length": String(Buffer.byteLength(answer.body)),
    ...(answer.allow === undefined ? {} : { allow: answer.allow }),
  };
  const body = request.method === "HEAD" ? null : answer.body;
  return new Response(body, { status: answer.status, headers });
}

function answerTo(method: string, url: URL, facts: ServerFacts): Answer {
  const { pathname: path, searchParams: query } = url;
  const hold = holdOfPath(path);
  if (hold !== undefined) return answerForHold(method, hold, facts);
  const pod = podOfPath(path);
  if (pod !== undefined)
    return answerForPod({ method, pod, query }, (seconds) => facts.shortenGrace(pod, seconds));
  const objects = objectsOfPath(path);
  if (objects !== undefined) return answerForObjects({ method, path: objects, query }, facts);
  const trust = answerForTrust(method, path, facts);
  if (trust !== undefined) return trust;
  const route = ROUTES.get(path);
  if (route === undefined)
    return text(
      404,
      `unknown path ${path}; the paths are ${[...ROUTES.keys(), ...TRUST_PATHS, ...HOLD_PATHS, ...objectPaths()].join(", ")}`,
    );
  if (method !== "GET" && method !== "HEAD")
    return notAllowed("GET, HEAD", `${path} can only be read: use GET or HEAD`);
  return route(facts);
}

function objectPaths(): readonly string[] {
  return Object.keys(OBJECT_RESOURCES).map((resource) => `/api/v1/${resource}`);
}

function health(facts: ServerFacts): Answer {
  const problems = facts.healthProblems();
  return problems.length === 0 ? text(200, "ok") : text(503, problems.join("\n"));
}
