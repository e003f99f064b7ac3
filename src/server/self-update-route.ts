// `/self-update`: GET shows how far an update of the agent itself is, POST begins one, and with ?back runs the previous
// version again.

import { binaryUrlError, digestError } from "../protocol/agent-release.ts";
import type { SelfUpdateFacts } from "../node/node-api.ts";
import type { UpdateOrder } from "../self-update/update-order.ts";
import type { Answer } from "./http/exchange.ts";
import { json, text, type Route } from "./answer.ts";

export const SELF_UPDATE_ROUTE: Route = {
  listed: "/self-update",
  path: /^\/self-update$/,
  methods: {
    GET: ({ facts }) => json(facts.selfUpdate()),
    POST: ({ facts, query }) => begin(facts, query),
  },
  refusal: "/self-update is read with GET and begun with POST",
};

function begin(facts: SelfUpdateFacts, query: URLSearchParams): Answer {
  const order = query.has("back") ? "Back" : orderOf(query);
  if (order !== "Back" && "wrong" in order) return text(400, order.wrong);
  const refusal = facts.orderSelfUpdate(order);
  return refusal === undefined ? json(facts.selfUpdate()) : text(409, refusal);
}

function orderOf(query: URLSearchParams): UpdateOrder | { readonly wrong: string } {
  const source = query.get("source") ?? "";
  const sha256 = query.get("sha256") ?? undefined;
  if (!source.startsWith("/")) {
    const wrong = binaryUrlError(source);
    if (wrong !== undefined) return { wrong: `source ${wrong}, or an absolute path on the node` };
  }
  const wrongDigest = sha256 === undefined ? undefined : digestError(sha256);
  if (wrongDigest !== undefined) return { wrong: `sha256 ${wrongDigest}` };
  return {
    origin: "Operator",
    source,
    ...(sha256 === undefined ? {} : { sha256 }),
    retry: query.has("retry"),
    allowUnsigned: query.has("allowUnsigned"),
  };
}
