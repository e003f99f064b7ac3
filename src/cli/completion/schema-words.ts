// The kinds and fields that `agent explain` and `agent schema` know, as a shell completes them.

import { findField } from "../../api/schema/find-field.ts";
import { ALL_SCHEMA_KINDS, findSchemaKind } from "../../api/schema/schema-kinds.ts";
import type { Level } from "../../api/schema/type.ts";
import type { Candidate } from "./complete-words.ts";

export function schemaKindCandidates(): readonly Candidate[] {
  return ALL_SCHEMA_KINDS.map(({ words: [word], about }) => ({ word, about }));
}

/** What is below the path that is written already. */
export function fieldCandidates(written: string): readonly Candidate[] {
  const [word = "", ...path] = written.split(".");
  if (path.length === 0) return schemaKindCandidates();
  const level = findSchemaKind(word)?.level;
  const above = path.slice(0, -1);
  return Object.entries(levelAt(level ?? {}, above)).map(([name, { about }]) => ({
    word: [word, ...above, name].join("."),
    about,
  }));
}

function levelAt(level: Level, [first, ...rest]: readonly string[]): Level {
  if (first === undefined) return level;
  const found = findField(level, [first, ...rest]);
  return found.type === "Found" ? (found.field.level ?? {}) : {};
}
