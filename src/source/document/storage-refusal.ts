// The answer to a document that is good and that the disk did not take.

import { messageOf } from "../../lib/errors.ts";
import { refusal, type Refusal } from "./refusal.ts";

/** 507 when the disk is full, else 500; the document is kept in memory and tried again. */
export function storageRefusal(thrown: unknown): Refusal {
  const again = "it is tried again by itself";
  const why = messageOf(thrown);
  if (isNoSpace(thrown))
    return refusal(507, `no space left to keep the document (${why}); free some space, ${again}`);
  return refusal(500, `the document could not be kept (${why}); ${again}`);
}

const NO_SPACE: readonly unknown[] = ["ENOSPC", "EDQUOT", "SQLITE_FULL", "DatabaseFull"];

function isNoSpace(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const code = "code" in thrown ? thrown.code : undefined;
  const reason = "reason" in thrown ? thrown.reason : undefined;
  return NO_SPACE.includes(code) || NO_SPACE.includes(reason) || isNoSpace(thrown.cause);
}
