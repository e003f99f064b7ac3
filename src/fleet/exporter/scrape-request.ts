// Whether a request for metrics is answered.

import { bearerOf, isAddress, nameOfHost } from "../http/reader-request.ts";

export interface Denied {
  readonly status: 401 | 403 | 405;
  readonly text: string;
}

type Asked = Pick<Request, "method" | "headers">;

/** undefined = it is answered. `isToken`: whether what was sent is the token; true for anything if there is none. */
export function mayAnswer(
  { method, headers }: Asked,
  isToken: (sent: string | undefined) => boolean,
): Denied | undefined {
  if (method !== "GET" && method !== "HEAD") return { status: 405, text: "only GET is answered" };
  // A page in a browser could otherwise read the fleet through the browser of an operator.
  if (headers.has("origin") || headers.get("sec-fetch-site") === "cross-site")
    return { status: 403, text: "pages of other origins get no metrics" };
  // Nor through a name that a stranger has pointed at this address.
  if (!isAddress(nameOfHost(headers.get("host") ?? "")))
    return { status: 403, text: "ask for it by an IP address, or as localhost" };
  if (isToken(bearerOf(headers.get("authorization")))) return undefined;
  return { status: 401, text: "send the token as Authorization: Bearer" };
}
