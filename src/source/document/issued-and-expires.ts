// The times of a document: `issuedAt` before `notBefore` of the TrustBundle (410), `expiresAt` on arrival (408), and
// the condition DesiredStale of one that expires later.

import type { VersionVerdict } from "./epoch-and-generation.ts";
import type { DocumentState } from "../../protocol/desired-document.ts";
import type { NodeCondition } from "../../api/v1/pod-status.ts";
import { rfc3339 } from "../../lib/clock.ts";

/** Refuses signed documents from before `notBefore` of the TrustBundle, and those without `issuedAt`. */
export function judgeAge(
  issuedAt: number | undefined,
  notBefore: number | undefined,
): Extract<VersionVerdict, object> | undefined {
  if (notBefore === undefined || (issuedAt !== undefined && issuedAt >= notBefore))
    return undefined;
  const since = new Date(notBefore).toISOString();
  const what =
    issuedAt === undefined
      ? "the document has no issuedAt"
      : `the document was issued at ${new Date(issuedAt).toISOString()}`;
  const message = `${what}, and only those issued since ${since} count (notBefore of the TrustBundle); sign it again with the present time`;
  return { code: 410, message };
}

/** Why a document that arrives is refused. `now`: wall-clock milliseconds, if synchronised: another clock must not keep a
 * node from its documents. */
export function expiredOnArrival(
  expiresAt: number | undefined,
  now: number | undefined,
): string | undefined {
  if (expiresAt === undefined || now === undefined || expiresAt > now) return undefined;
  const at = new Date(expiresAt).toISOString();
  return `the document expired at ${at}; publish a new generation with a later expiresAt`;
}

/** Documents that run although they have expired: nothing stops, but it is reported. `now`: wall-clock milliseconds, if
 * synchronised; undefined = expiry is unknown. */
export function staleConditions(
  states: readonly Pick<DocumentState, "source" | "document">[],
  now: number | undefined,
): readonly NodeCondition[] {
  if (now === undefined) return [];
  const stale = states.flatMap(({ source, document }) => {
    const { expiresAt, generation } = document ?? {};
    if (expiresAt === undefined || expiresAt > now) return [];
    return [`generation ${generation} of ${source} expired at ${rfc3339(expiresAt)}`];
  });
  if (stale.length === 0) return [];
  const message = `${stale.join("; ")}; it runs on until a newer one is published`;
  return [{ type: "DesiredStale", status: "True", reason: "Expired", message }];
}
