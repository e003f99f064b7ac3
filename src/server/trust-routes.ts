// `/trust`: which keys may sign documents for this node, and `POST /trust/reset`.

import { messageOf } from "../lib/errors.ts";
import { json, notAllowed, text, type Answer } from "./answer.ts";
import type { TrustFacts } from "../node/node-api.ts";

export const TRUST_PATHS: readonly string[] = ["/trust", "/trust/reset"];

/** undefined = another path. */
export function answerForTrust(
  method: string,
  path: string,
  facts: TrustFacts,
): Answer | undefined {
  if (path === "/trust")
    return isReading(method)
      ? shown(facts)
      : notAllowed("GET, HEAD", "/trust can only be read: use GET or HEAD, or POST /trust/reset");
  if (path !== "/trust/reset") return undefined;
  if (method !== "POST")
    return notAllowed("POST", "/trust/reset deletes the trust state of the node: use POST");
  try {
    facts.resetTrust();
  } catch (error) {
    return text(500, `trust was not reset: ${messageOf(error)}; try again`);
  }
  return shown(facts);
}

function isReading(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function shown(facts: TrustFacts): Answer {
  return json({ apiVersion: "agent/v1", kind: "Trust", ...facts.trust() });
}
