// Performs: the paths of the local API and their answers. A new resource to read is a row of ROUTES.

import { messageOf } from "../lib/errors.ts";
import { podName, type NamedPod } from "../api/v1/pod.ts";
import { explainFacts, explainPod } from "../node/explain/explain-pod.ts";
import type { Ack } from "../protocol/reported-state.ts";
import { podList } from "../node/pod-list.ts";
import { eventList } from "../node/events-list.ts";
import { type HoldFacts, type ServerFacts, type TrustFacts } from "../node/node-api.ts";
import { holdRefusal, type HoldVerb } from "../rollout/update-holds.ts";
import type { Answer, ApiRequest } from "./http/exchange.ts";
import { json, success, text, namedPod, type LocalRequest, type Route } from "./answer.ts";
import { shortenGrace } from "./delete.ts";
import { IMAGE_ROUTES } from "./image-routes.ts";
import { KUBELET_ROUTES } from "./kubelet-routes.ts";
import { METRICS_ROUTES } from "./metrics/metrics-routes.ts";
import { LOGIN_ROUTE, PAGE_ROUTE, SHORT_ROUTE } from "./page/page-route.ts";
import { RESTART_ROUTE } from "./restart-route.ts";
import { SELF_UPDATE_ROUTE } from "./self-update-route.ts";
import { SHUTDOWN_ROUTE } from "./shutdown-route.ts";
import { STATS_ROUTE } from "./stats-route.ts";

/** Why a pod does not run. */
const EXPLAIN_ROUTE: Route = {
  path: /^\/explain\/([^/]+)\/([^/]+)$/,
  methods: { GET: ({ facts, parts }) => explain(facts, namedPod(parts)) },
  refusal: "an explanation can only be read: use GET or HEAD",
};

const ROUTES: readonly Route[] = [
  reading("/healthz", health),
  reading("/pods", (facts) => json(podList(facts.pods()))),
  reading("/rejected", (facts) => json(facts.rejected())),
  reading("/desired", (facts) => json(ackList(facts.desired()))),
  reading("/events", (facts) => json(eventList(facts.events()))),
  reading("/trust", shownTrust, ", or POST /trust/reset"),
  {
    listed: "/trust/reset",
    path: /^\/trust\/reset$/,
    methods: { POST: ({ facts }) => resetTrust(facts) },
    refusal: "/trust/reset deletes the trust state of the node: use POST",
  },
  {
    listed: "/trust/rotate-key",
    path: /^\/trust\/rotate-key$/,
    methods: { POST: ({ facts }) => rotateKeys(facts) },
    refusal: "/trust/rotate-key gives the node new keys: use POST",
  },
  ...KUBELET_ROUTES,
  SHUTDOWN_ROUTE,
  SELF_UPDATE_ROUTE,
  EXPLAIN_ROUTE,
  PAGE_ROUTE,
  LOGIN_ROUTE,
  SHORT_ROUTE,
  holding("hold", "wait"),
  holding("release", "go on"),
  {
    path: /^\/pods\/([^/]+)\/([^/]+)$/,
    methods: { DELETE: shortenGrace },
    refusal: "a single pod supports DELETE only; GET /pods lists all pods",
  },
];
const LATER_ROUTES = [...IMAGE_ROUTES, ...METRICS_ROUTES, STATS_ROUTE, RESTART_ROUTE];

export async function respond(
  { method, url, signal }: Pick<ApiRequest, "method" | "url" | "signal">,
  facts: ServerFacts,
): Promise<Answer> {
  const later = found(LATER_ROUTES, method, url.pathname);
  if (later === undefined) return answerTo(method, url, facts);
  if ("status" in later) return later;
  return later.handler({ facts, parts: later.parts, query: url.searchParams, signal });
}

export function answerTo(method: string, url: URL, facts: ServerFacts): Answer {
  const { pathname: path, searchParams: query } = url;
  const route = found(ROUTES, method, path);
  if (route !== undefined)
    return "status" in route ? route : route.handler({ facts, parts: route.parts, query });
  const known = [...ROUTES, ...LATER_ROUTES].flatMap(({ listed }) => listed ?? []).join(", ");
  return text(404, `unknown path ${path}; the paths are ${known}`);
}

interface Found<Made, Wanted> extends Pick<LocalRequest, "parts"> {
  readonly handler: (request: Wanted) => Made;
}

/** undefined = no route has this path; an answer if the route has another method. */
function found<Made, Wanted>(
  routes: readonly Route<Made, Wanted>[],
  method: string,
  path: string,
): Found<Made, Wanted> | Answer | undefined {
  for (const { path: pattern, methods, refusal } of routes) {
    const match = pattern.exec(path);
    if (match === null) continue;
    const handlers = new Map(Object.entries(methods));
    const handler = handlers.get(method === "HEAD" ? "GET" : method);
    if (handler !== undefined) return { handler, parts: match.slice(1) };
    const allow = [...handlers.keys()].map((one) => (one === "GET" ? "GET, HEAD" : one)).join(", ");
    return { ...text(405, refusal), allow };
  }
  return undefined;
}

/** A path that can only be read. `instead`: what else there is to use. */
function reading(path: string, read: (facts: ServerFacts) => Answer, instead = ""): Route {
  return {
    listed: path,
    path: new RegExp(`^${path}$`),
    methods: { GET: ({ facts }) => read(facts) },
    refusal: `${path} can only be read: use GET or HEAD${instead}`,
  };
}

function ackList(items: readonly Ack[]): object {
  return { apiVersion: "agent/v1", kind: "AckList", items };
}

function explain(facts: ServerFacts, pod: NamedPod | undefined): Answer {
  const { namespace = "", name = "" } = pod ?? {};
  const entry = facts.pods().find(({ pod: one }) => podName(one) === `${namespace}/${name}`);
  const explanation = explainPod({
    ...explainFacts(facts, namespace),
    namespace,
    name,
    entry,
    ...(entry === undefined ? {} : { notes: facts.notes(entry) }),
  });
  if (explanation === undefined)
    return text(404, `pods "${name}" not found in namespace "${namespace}"`);
  return json({ apiVersion: "agent/v1", kind: "Explanation", ...explanation });
}

function health(facts: ServerFacts): Answer {
  const problems = facts.healthProblems();
  return problems.length === 0 ? text(200, "ok") : text(503, problems.join("\n"));
}

/** Which keys may sign documents for this node. */
function shownTrust(facts: TrustFacts): Answer {
  return json({ apiVersion: "agent/v1", kind: "Trust", ...facts.trust() });
}

function resetTrust(facts: TrustFacts): Answer {
  try {
    facts.resetTrust();
  } catch (error) {
    return text(500, `trust was not reset: ${messageOf(error)}; try again`);
  }
  return shownTrust(facts);
}

function rotateKeys(facts: TrustFacts): Answer {
  try {
    facts.rotateNodeKeys();
  } catch (error) {
    return text(500, `the node keeps its keys: ${messageOf(error)}; try again`);
  }
  return shownTrust(facts);
}

/** Pauses or resumes the updates of a pod, or of all pods of this node. */
function holding(verb: HoldVerb, effect: string): Route {
  return {
    listed: `/${verb}`,
    path: new RegExp(`^(?:/pods/([^/]+)/([^/]+))?/${verb}$`),
    methods: { POST: (request) => changeHold(verb, request) },
    refusal: `this makes updates ${effect}: use POST`,
  };
}

function changeHold(verb: HoldVerb, { facts, parts }: LocalRequest<HoldFacts>): Answer {
  const pod = namedPod(parts);
  try {
    const outcome = facts.changeHold(verb, pod);
    if (outcome.type !== "Done")
      return text(outcome.type === "NotFound" ? 404 : 409, holdRefusal(outcome, pod));
    const what = pod === undefined ? "all updates" : `updates of pod ${pod.namespace}/${pod.name}`;
    return success(`${what} ${verb === "hold" ? "wait until they are released" : "go on"}`);
  } catch (error) {
    return text(500, `nothing was changed: ${messageOf(error)}; try again`);
  }
}
