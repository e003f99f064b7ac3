// Performs: checks whether each stored row can be read as the agent reads it; one that cannot counts as absent for the agent.

import type Sqlite from "better-sqlite3";
import { isSourceName } from "../../api/pod/labels.ts";
import { parseJson } from "../../lib/json.ts";
import { readGoodCopy, readRolloutState } from "../checkpoint-schemas.ts";
import { openDocument } from "../document/documents.ts";
import { copyLabel } from "../document/rollouts.ts";
import { lastGoodLabel } from "../last-good-manifests.ts";
import { isSealed, type SecretBox } from "../seal-secrets.ts";
import { decodeTrust } from "../trust-file.ts";
import type { RowKey, StateProblem } from "./state-problem.ts";

interface RowCheck {
  readonly path: string;
  readonly secrets: Pick<SecretBox, "open"> | undefined;
}

type Row = Readonly<Record<string, unknown>>;

interface TableCheck {
  readonly table: string;
  readonly key: readonly string[];
  /** What is lost with a row, and from where it comes again. */
  readonly lost: string;
  /** Why a row cannot be read; undefined = it can. */
  readonly problem: (row: Row, secrets: RowCheck["secrets"]) => string | undefined;
}

const CHECKS: readonly TableCheck[] = [
  {
    table: "document",
    key: ["source"],
    lost: "the document is then taken from its file beside the database, else from the broker",
    problem: documentProblem,
  },
  {
    table: "last_good_object",
    key: ["path", "kind", "namespace", "name"],
    lost: "the last good copy is gone until the manifest is valid again",
    problem: (row, secrets) => {
      const label = lastGoodLabel({
        path: textOf(row, "path"),
        kind: textOf(row, "kind"),
        namespace: textOf(row, "namespace"),
        name: textOf(row, "name"),
      });
      return row["kind"] === "Secret" ? openingProblem(row["text"], label, secrets) : undefined;
    },
  },
  {
    table: "rollout",
    key: ["source", "name"],
    lost: "the update of this pod is judged anew",
    problem: (row) =>
      readRolloutState(textOf(row, "state")) === undefined ? "its state cannot be read" : undefined,
  },
  {
    table: "good_copy",
    key: ["source", "name"],
    lost: "the pod cannot be rolled back until a revision has proved good",
    problem: copyProblem,
  },
  {
    table: "run",
    key: ["source", "name"],
    lost: "the Job or CronJob begins anew",
    problem: (row) =>
      parseJson(textOf(row, "state")) === undefined ? "its state is no JSON" : undefined,
  },
  {
    table: "meta",
    key: ["key"],
    lost: "the trust record is then taken from trust.json",
    problem: ({ key, value }) =>
      key === "trust" && decodeTrust(String(value)) === undefined
        ? "the trust record does not match its checksum"
        : undefined,
  },
];

/** Tables of a newer or an older agent are left out. */
export function rowProblems(
  sqlite: Sqlite.Database,
  { path, secrets }: RowCheck,
): readonly StateProblem[] {
  const tables = new Set(
    sqlite.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all(),
  );
  return CHECKS.filter(({ table }) => tables.has(table)).flatMap((check) => {
    const found: StateProblem[] = [];
    for (const row of sqlite.prepare<[], Row>(`SELECT * FROM ${check.table}`).iterate()) {
      const why = check.problem(row, secrets);
      if (why !== undefined) found.push(problem(path, check, { row, why }));
    }
    return found;
  });
}

function problem(
  path: string,
  { table, key, lost }: TableCheck,
  { row, why }: { readonly row: Row; readonly why: string },
): StateProblem {
  const rowId = key.map((column): RowKey => ({ column, value: textOf(row, column) }));
  const name = rowId.map(({ value }) => value).join(" ");
  return {
    part: "database",
    file: path,
    what: `the row ${name} of ${table} cannot be used: ${why}`,
    remedy: `agent fsck --repair with the agent stopped removes the row, which counts as absent already; ${lost}`,
    repair: { type: "ForgetRow", table, rowId },
  };
}

function documentProblem(row: Row, secrets: RowCheck["secrets"]): string | undefined {
  const source = textOf(row, "source");
  // A source of a newer agent.
  if (!isSourceName(source)) return undefined;
  const payload = bytesOf(row["payload"]);
  if (secrets === undefined && isSealed(payload)) return undefined;
  const [epoch, digest] = [textOf(row, "epoch"), textOf(row, "digest")];
  const document = { source, epoch, generation: Number(row["generation"]), digest, payload };
  const opened = openDocument(document, secrets);
  return opened.ok ? undefined : opened.why;
}

function copyProblem(row: Row, secrets: RowCheck["secrets"]): string | undefined {
  const source = textOf(row, "source");
  if (!isSourceName(source) || secrets === undefined) return undefined;
  const label = copyLabel({
    source,
    name: textOf(row, "name"),
    revision: textOf(row, "revision"),
  });
  const opened = secrets.open(bytesOf(row["content"]), label);
  if (!opened.ok) return opened.why;
  const copy = readGoodCopy(new TextDecoder().decode(opened.plain));
  return copy === undefined ? "the copy cannot be read" : undefined;
}

function openingProblem(
  sealed: unknown,
  label: string,
  secrets: RowCheck["secrets"],
): string | undefined {
  if (secrets === undefined) return undefined;
  const opened = secrets.open(bytesOf(sealed), label);
  return opened.ok ? undefined : opened.why;
}

function textOf(row: Row, column: string): string {
  const value = row[column];
  return typeof value === "string" ? value : "";
}

function bytesOf(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? new Uint8Array(value) : new Uint8Array();
}
