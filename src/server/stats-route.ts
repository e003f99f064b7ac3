// Performs: `/stats/summary`: what the node and its pods use, in the kubelet's shape.

import { messageOf } from "../lib/errors.ts";
import type { Answer } from "./http/exchange.ts";
import { json, text } from "./answer.ts";
import type { LaterRequest, LaterRoute } from "./later-route.ts";

const SHORT = "only_cpu_and_memory";

export const STATS_ROUTE: LaterRoute = {
  listed: "/stats/summary",
  path: /^\/stats\/summary\/?$/,
  methods: { GET: showSummary },
  refusal: "/stats/summary can only be read: use GET or HEAD",
};

async function showSummary({ facts, query }: LaterRequest): Promise<Answer> {
  try {
    return json(await facts.summary(query.get(SHORT) === "true"));
  } catch (error) {
    return text(500, `no statistics: ${messageOf(error)}; check that the runtime answers`);
  }
}
