// Asks the paths of the local API in this process, without a socket.

import type { ServerFacts } from "../../src/node/node-api.ts";
import { respond } from "../../src/server/routes.ts";

/** `call`: a path, or a method and a path such as `DELETE /pods/default/web`. */
export async function askLocalApi(facts: ServerFacts, call: string): Promise<Response> {
  const [path = "", method = "GET"] = call.split(" ").toReversed();
  const url = new URL(path, "http://agent");
  const { signal } = new AbortController();
  const answer = await respond({ method, url, signal }, facts);
  const headers = { "content-type": answer.contentType };
  return new Response(answer.body, { status: answer.status, headers });
}
