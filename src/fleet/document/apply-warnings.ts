// What an operator may not have meant when one document takes the place of another. Pure.

import type { RetainedDocument } from "./desired-reading.ts";
import { type JsonObject, isJsonObject } from "../../lib/json.ts";

/** Sentences. The document before may be anybody's: it is never copied from, only held against. */
export function applyWarnings(
  before: RetainedDocument | undefined,
  document: JsonObject,
  { isSigned, isForNode }: { readonly isSigned: boolean; readonly isForNode: boolean },
): readonly string[] {
  if (before === undefined) return [];
  const unsigned =
    before.keyids.length > 0 && !isSigned
      ? "the document before was signed and this one is not; nodes with keys will answer 401"
      : undefined;
  const kept = new Set(groupsOf(document));
  const named = isForNode ? groupsOf(before.document) : [];
  const left = named.filter((name) => !kept.has(name));
  const leaves =
    left.length > 0
      ? `the node leaves ${left.length === 1 ? "group" : "groups"} ${left.join(", ")} and stops what runs of it; to stay, apply a DesiredState whose groups name it`
      : undefined;
  return [unsigned, leaves].filter((sentence) => sentence !== undefined);
}

function groupsOf(document: JsonObject): readonly string[] {
  const groups: unknown = document["groups"];
  if (!Array.isArray(groups)) return [];
  return groups.flatMap((group: unknown) => {
    const name = isJsonObject(group) ? group["name"] : undefined;
    return typeof name === "string" ? [name] : [];
  });
}
