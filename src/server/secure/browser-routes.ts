// Performs: `/ui/tokens`, on the unix socket only: makes an address with a one-time token for a browser.

import { json, text } from "../answer.ts";
import type { Answer, ApiRequest } from "../http/exchange.ts";
import { accessOf, orRefusal, refusedName } from "./kubeconfig-routes.ts";
import type { SecureDoor } from "./secure-door.ts";

const PATH = "/ui/tokens";

/** undefined = another path. */
export async function browserReply(
  { method, url }: Pick<ApiRequest, "method" | "url">,
  secure: SecureDoor | undefined,
): Promise<Answer | undefined> {
  const { pathname: path, searchParams: query } = url;
  if (path !== PATH) return undefined;
  if (secure === undefined) return text(404, "this agent has no API over TLS");
  if (method !== "POST") return { ...text(405, `${PATH} makes a token: use POST`), allow: "POST" };
  const user = query.get("user") ?? "";
  const refused = refusedName(user);
  if (refused !== undefined) return refused;
  return orRefusal(async () => {
    const address = await secure.browserAddress({ user, access: accessOf(query) });
    const view = { apiVersion: "agent/v1", kind: "BrowserAddress", ...address };
    return { ...json(view), headers: { "cache-control": "no-store" } };
  });
}
