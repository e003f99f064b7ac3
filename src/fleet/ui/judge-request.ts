// Which requests the page of the fleet answers: those that name this server, come from the page itself, and prove a session
// or the token where data is asked for. Only the page with a session changes anything.

import { bearerOf } from "../http/reader-request.ts";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly site: string | undefined;
  readonly authorization: string | undefined;
  /** The session's cookie and the page's own key belong together. */
  readonly hasSession: boolean;
}

/** Under which addresses the server is asked. */
export interface Door {
  readonly scheme: "http" | "https";
  /** Of a `Host` header. */
  readonly isOwnHost: (host: string) => boolean;
  readonly isToken: (written: string) => boolean;
}

export interface Refused {
  readonly status: 401 | 403 | 404 | 405;
  readonly message: string;
  /** The method that the path has. */
  readonly allow?: "GET" | "POST";
}

/** Open without a proof: they are the same for every fleet. */
const FILES = /^\/(?:|[a-z-]+\.(?:css|js))$/;
/** Exchanges the token for a session. */
export const SESSION_PATH = "/api/session";
const READS = /^\/api\/(?:nodes|node\/[^/]+)$/;
const CHANGES = /^\/api\/(?:rollout\/[^/]+\/(?:pause|resume|undo)|node\/[^/]+\/logs)$/;
const ADDRESS = "open the address that agent fleet ui prints";

/** undefined = it is answered. */
export function refusalOf(asked: Asked, door: Door): Refused | undefined {
  const { path, host } = asked;
  if (host === undefined || !door.isOwnHost(host))
    return refused(403, `the page does not answer under this name: ${ADDRESS}`);
  if (isElsewhere(asked, `${door.scheme}://${host}`))
    return refused(403, `another site asked: ${ADDRESS}`);
  if (FILES.test(path)) return wrongMethod(asked, "GET");
  if (READS.test(path)) return wrongMethod(asked, "GET") ?? unproven(asked, door);
  if (path === SESSION_PATH)
    return wrongMethod(asked, "POST") ?? foreign(asked) ?? withoutToken(asked, door);
  if (CHANGES.test(path)) return wrongMethod(asked, "POST") ?? foreign(asked) ?? unchanging(asked);
  return refused(404, "there is no such page: open /");
}

/** Another site may link to the page, and ask for nothing else. */
function isElsewhere({ path, origin, site }: Asked, own: string): boolean {
  if (origin !== undefined && origin !== own) return true;
  const isOwn = site === undefined || site === "same-origin" || site === "none";
  return !isOwn && !FILES.test(path);
}

function wrongMethod({ method }: Asked, allow: "GET" | "POST"): Refused | undefined {
  if (method === allow) return undefined;
  const what = allow === "GET" ? "this can only be read" : "this changes something";
  return { ...refused(405, `${what}: use ${allow}`), allow };
}

/** A browser says where a request comes from that changes something; without that it may be anything. */
function foreign({ origin, site }: Asked): Refused | undefined {
  if (origin !== undefined || site === "same-origin") return undefined;
  return refused(403, "a change must come from the page itself; use the verbs of agent fleet");
}

function unproven(asked: Asked, door: Door): Refused | undefined {
  return asked.hasSession ? undefined : withoutToken(asked, door);
}

function withoutToken({ authorization }: Asked, { isToken }: Door): Refused | undefined {
  const token = bearerOf(authorization);
  if (token !== undefined && isToken(token)) return undefined;
  return refused(401, `there is no session here, or it is over: ${ADDRESS}`);
}

/** The token alone changes nothing: programs have the verbs. */
function unchanging({ hasSession }: Asked): Refused | undefined {
  return hasSession ? undefined : refused(401, `a change needs a session of the page: ${ADDRESS}`);
}

function refused(status: Refused["status"], message: string): Refused {
  return { status, message };
}
