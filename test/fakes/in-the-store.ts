// Queries of a store that only tests make.

import type { AcceptedDocument } from "../../src/protocol/desired-document.ts";
import type { Documents } from "../../src/store/document/documents.ts";
import type { Database } from "../../src/store/sqlite/database.ts";

/** Rows changed since the database was opened. */
export function totalChanges(database: Database): number {
  const row = database.query<[], { readonly n: number }>("SELECT total_changes() AS n").get();
  return row?.n ?? 0;
}

/** By source. */
export function storedDocuments(
  documents: Pick<Documents, "synced" | "get">,
): readonly AcceptedDocument[] {
  return documents.synced().flatMap((source) => documents.get(source) ?? []);
}
