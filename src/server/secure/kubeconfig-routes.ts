// Performs: `/kubeconfig`, on the unix socket only: makes, lists and revokes users of the API over TLS, and closes it.

import { hostAndPort } from "../../config/listen-config.ts";
import { messageOf, reasonOf } from "../../lib/errors.ts";
import { rfc3339 } from "../../lib/clock.ts";
import { json, success, text } from "../answer.ts";
import type { Answer, ApiRequest } from "../http/exchange.ts";
import { userNameError } from "./kubeconfig.ts";
import type { Access } from "./pki-state.ts";
import type { SecureDoor } from "./secure-door.ts";
import { serverUrl } from "./server-names.ts";

const PATH = "/kubeconfig";
const LISTEN_PATH = "/kubeconfig/listen";
/** Of a URL of --server that names none. */
const DEFAULT_PORT = 6450;

/** undefined = another path. */
export async function kubeconfigReply(
  { method, url }: Pick<ApiRequest, "method" | "url">,
  secure: SecureDoor | undefined,
): Promise<Answer | undefined> {
  const { pathname: path, searchParams: query } = url;
  if (path !== PATH && path !== LISTEN_PATH) return undefined;
  if (secure === undefined) return text(404, "this agent has no API over TLS");
  const methods = path === PATH ? USERS : LISTEN;
  const handler = methods.get(method === "HEAD" ? "GET" : method);
  const allow = [...methods.keys()].join(", ");
  if (handler === undefined) return { ...text(405, `${path} supports ${allow}`), allow };
  return orRefusal(() => handler(query, secure));
}

export async function orRefusal(answer: () => Answer | Promise<Answer>): Promise<Answer> {
  try {
    return await answer();
  } catch (error) {
    return text(REFUSALS.has(reasonOf(error, "")) ? 409 : 500, messageOf(error));
  }
}

type Handler = (query: URLSearchParams, secure: SecureDoor) => Answer | Promise<Answer>;
const USERS = new Map<string, Handler>([
  ["GET", listed],
  ["POST", made],
  ["DELETE", revoked],
]);
const LISTEN = new Map<string, Handler>([["DELETE", closed]]);
const REFUSALS = new Set(["ListenError", "TooMany"]);

async function made(query: URLSearchParams, secure: SecureDoor): Promise<Answer> {
  const user = query.get("user") ?? "";
  const refused = refusedName(user);
  if (refused !== undefined) return refused;
  const written = query.get("server") ?? undefined;
  const port = secure.address?.port ?? DEFAULT_PORT;
  const server = written === undefined ? undefined : serverUrl(written, port);
  if (written !== undefined && server === undefined)
    return text(
      409,
      `the server ${JSON.stringify(written)} must be a URL such as https://pi.example:6450, without path and user`,
    );
  const config = await secure.kubeconfig({
    user,
    access: accessOf(query),
    kind: query.get("credential") === "token" ? "Token" : "Certificate",
    server,
  });
  return json({ apiVersion: "agent/v1", kind: "Kubeconfig", ...config });
}

/** Without a word about it the user only reads. */
export function accessOf(query: URLSearchParams): Access {
  return query.get("access") === "Full" ? "Full" : "ReadOnly";
}

export function refusedName(user: string): Answer | undefined {
  const error = userNameError(user);
  if (error === undefined) return undefined;
  return text(409, `the name ${JSON.stringify(user)} of the user ${error}`);
}

async function revoked(query: URLSearchParams, secure: SecureDoor): Promise<Answer> {
  const user = query.get("user") ?? "";
  if ((await secure.revoke(user)) === 0)
    return text(404, `there is no user ${JSON.stringify(user)}; see agent kubeconfig --list`);
  return success(`user ${user} is revoked`);
}

async function closed(_query: URLSearchParams, secure: SecureDoor): Promise<Answer> {
  if (await secure.close()) return success("the API over TLS is closed; its users stay");
  return text(
    409,
    "the configuration has listen: remove it there and restart the agent to close the API",
  );
}

function listed(_query: URLSearchParams, secure: SecureDoor): Answer {
  const { certificates = [], tokens = [] } = secure.users() ?? {};
  const { address } = secure;
  const items = [
    ...certificates.map(({ user, access, notAfter }) => ({
      user,
      access,
      credential: "Certificate",
      notAfter: rfc3339(notAfter),
    })),
    ...tokens.map(({ user, access }) => ({ user, access, credential: "Token" })),
    ...secure.sessions().map((session) => ({ ...session, credential: "Session" })),
  ];
  const listen = address === undefined ? {} : { listen: hostAndPort(address) };
  return json({ apiVersion: "agent/v1", kind: "UserList", ...listen, items });
}
