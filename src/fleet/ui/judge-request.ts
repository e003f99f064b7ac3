// Which requests the page of the fleet answers: those that name a loopback host, come from the page itself, and have the
// token where data is asked for.

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly site: string | undefined;
  readonly authorization: string | undefined;
}

export interface Refused {
  readonly status: 401 | 403 | 404 | 405;
  readonly message: string;
}

const FILES = /^\/(?:|page\.css|fleet-page\.css|fleet-page\.js)$/;
const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/;

/** undefined = it is answered. The host may have any port: an SSH tunnel has one of its own. */
export function refusalOf(
  asked: Asked,
  isToken: (written: string) => boolean,
): Refused | undefined {
  const { method, path, host } = asked;
  if (host === undefined || !LOOPBACK.test(host))
    return refused(
      403,
      "the page answers loopback names only: use the address that agent fleet ui prints",
    );
  if (isElsewhere(asked, host))
    return refused(403, "another site asked: open the address that agent fleet ui prints");
  if (method !== "GET") return refused(405, "the page only reads: use GET");
  if (FILES.test(path)) return undefined;
  if (!path.startsWith("/api/")) return refused(404, "there is no such page: open /");
  const token = /^Bearer (\S+)$/.exec(asked.authorization ?? "")?.[1];
  if (token !== undefined && isToken(token)) return undefined;
  return refused(401, "the token is missing or old: open the address that agent fleet ui prints");
}

/** Another site may link to the page, and ask for nothing else. */
function isElsewhere({ path, origin, site }: Asked, host: string): boolean {
  if (origin !== undefined && origin !== `http://${host}`) return true;
  const isOwn = site === undefined || site === "same-origin" || site === "none";
  return !isOwn && !FILES.test(path);
}

function refused(status: Refused["status"], message: string): Refused {
  return { status, message };
}
