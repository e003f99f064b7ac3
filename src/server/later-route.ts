// A path of the local API whose answer takes calls of the runtime.

import type { ServerFacts } from "../node/node-api.ts";
import type { Answer, LocalRequest, Route } from "./answer.ts";

export interface LaterRequest extends LocalRequest<
  Pick<ServerFacts, "imageOrders" | "node" | "summary">
> {
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

export type LaterRoute = Route<Promise<Answer>, LaterRequest>;
