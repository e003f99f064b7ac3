// A path of the local API whose answer takes calls of the runtime.

import type { ServerFacts, TrustFacts } from "../node/node-api.ts";
import type { Answer } from "./http/exchange.ts";
import type { LocalRequest, Route } from "./answer.ts";

export interface LaterRequest extends LocalRequest<Omit<ServerFacts, keyof TrustFacts>> {
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

export type LaterRoute = Route<Promise<Answer>, LaterRequest>;
