// Paths that the kubelet has beside an API server's: single health checks, the pods that run, the configuration in force.

import type { ServerFacts } from "../node/node-api.ts";
import { podList } from "../node/pod-list.ts";
import { hasRunningContainer } from "../api/v1/pod-status.ts";
import { withoutHeaderValues } from "../config/print-config.ts";
import { json, text, type Route } from "./answer.ts";
import type { Answer } from "./http/exchange.ts";

/** With the word that the sentences of each begin with; undefined = all of them. */
const CHECKS: Readonly<Record<string, string | undefined>> = {
  syncloop: "sync loop",
  pleg: "pleg",
  runtime: "container runtime",
};

export const KUBELET_ROUTES: readonly Route[] = [
  {
    path: /^\/healthz\/(ping|syncloop|pleg|runtime)$/,
    methods: { GET: ({ facts, parts: [check = ""] }) => health(facts, check) },
    refusal: "a health check can only be read: use GET or HEAD",
  },
  {
    listed: "/runningpods",
    path: /^\/runningpods\/?$/,
    methods: { GET: ({ facts }) => runningPods(facts) },
    refusal: "/runningpods can only be read: use GET or HEAD",
  },
  {
    listed: "/configz",
    path: /^\/configz$/,
    methods: { GET: ({ facts }) => json({ agentconfig: withoutHeaderValues(facts.config()) }) },
    refusal: "/configz can only be read: use GET or HEAD",
  },
];

function health(facts: ServerFacts, check: string): Answer {
  const word = CHECKS[check];
  const problems =
    word === undefined
      ? []
      : facts.healthProblems().filter((problem) => problem.startsWith(`${word}:`));
  return problems.length === 0 ? text(200, "ok") : text(503, problems.join("\n"));
}

function runningPods(facts: ServerFacts): Answer {
  const running = facts.pods().filter(({ status }) => hasRunningContainer(status));
  return json(podList(running));
}
