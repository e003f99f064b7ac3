// Queries of a store that only tests make.

import type { AcceptedDocument } from "../../src/protocol/desired-document.ts";
import type { Documents } from "../../src/store/document/documents.ts";
import type { Database } from "../../src/store/sqlite/database.ts";

type CountQuery = ReturnType<typeof countQuery>;

/** It is asked twice for each transaction, and preparing it costs more than its answer. */
const COUNTS = new WeakMap<Database, CountQuery>();

function countQuery(database: Database) {
  return database.query<[], { readonly n: number }>("SELECT total_changes() AS n");
}

/** Rows changed since the database was opened. */
export function totalChanges(database: Database): number {
  const query = COUNTS.get(database) ?? countQuery(database);
  COUNTS.set(database, query);
  return query.get()?.n ?? 0;
}

/** By source. */
export function storedDocuments(
  documents: Pick<Documents, "synced" | "get">,
): readonly AcceptedDocument[] {
  return documents.synced().flatMap((source) => documents.get(source) ?? []);
}
