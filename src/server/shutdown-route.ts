// `/shutdown`: GET shows how far it is, POST begins it, DELETE cancels it.

import { messageOf } from "../lib/errors.ts";
import type { ShutdownFacts } from "../node/node-api.ts";
import type { Answer } from "./http/exchange.ts";
import { json, text, type Route } from "./answer.ts";

export const SHUTDOWN_ROUTE: Route = {
  listed: "/shutdown",
  path: /^\/shutdown$/,
  methods: {
    GET: ({ facts }) => json(facts.shutdown()),
    POST: ({ facts }) => json(facts.beginShutdown()),
    DELETE: ({ facts }) => cancel(facts),
  },
  refusal: "/shutdown is read with GET, begun with POST and cancelled with DELETE",
};

function cancel(facts: ShutdownFacts): Answer {
  try {
    return json(facts.cancelShutdown());
  } catch (error) {
    return text(500, `the node shuts down on: ${messageOf(error)}; try again`);
  }
}
