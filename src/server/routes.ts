// What the local API answers: one function per path, from plain data.

import type { Rejection } from "../api/desired-pod.ts";
import type { NodeStatus } from "../api/pod-status.ts";
import { rfc3339 } from "../lib/clock.ts";
import { json, notAllowed, text, type Answer } from "./answer.ts";
import { answerForPod, podOfPath, type GraceOutcome, type NamedPod } from "./delete-pod.ts";
import { eventList, type EventEntry } from "./events-list.ts";
import {
  OBJECT_RESOURCES,
  answerForObjects,
  objectsOfPath,
  type ObjectFacts,
} from "./object-routes.ts";
import { HOLD_PATHS, answerForHold, holdOfPath, type HoldFacts } from "./hold-routes.ts";
import { podList, type PodEntry } from "./pod-list.ts";
import { TRUST_PATHS, answerForTrust, type TrustFacts } from "./trust-routes.ts";
import type { V1Object } from "./v1-shape.ts";

export interface NodeEntry {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: NodeStatus;
  /** Wall ms of the agent's first start on this node, where known. */
  readonly createdAt?: number;
  /** MQTT packet bytes since the agent started, by what they were for; absent = no MQTT. */
  readonly mqttBytes?: Readonly<Record<string, { readonly in: number; readonly out: number }>>;
}

export interface VersionInfo {
  readonly version: string;
  readonly [key: string]: string;
}

/** Where the answers come from; each is asked anew for every request. */
export interface ServerFacts extends ObjectFacts, TrustFacts, HoldFacts {
  /** Sentences about what is stuck; empty = healthy. */
  healthProblems(): readonly string[];
  /** One per namespace/name: while a replacement waits, the pod that runs. */
  pods(): readonly PodEntry[];
  rejected(): readonly Rejection[];
  /** Oldest occurrence first. */
  events(): readonly EventEntry[];
  node(): NodeEntry;
  version(): VersionInfo;
  /** Gives a pod that is being stopped less time. */
  shortenGrace(pod: NamedPod, seconds: number): GraceOutcome;
}

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
      `there is no ${path} here; there are ${[...ROUTES.keys(), ...TRUST_PATHS, ...HOLD_PATHS, ...objectPaths()].join(", ")}`,
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

export function v1Node({ name, labels, status, createdAt, mqttBytes }: NodeEntry): V1Object {
  return {
    kind: "Node",
    apiVersion: "v1",
    metadata: {
      name,
      labels,
      ...(createdAt === undefined ? {} : { creationTimestamp: rfc3339(createdAt) }),
    },
    status,
    ...(mqttBytes === undefined ? {} : { metrics: { mqttBytes } }),
  };
}
