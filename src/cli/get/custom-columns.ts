// `-o custom-columns=NAME:.metadata.name,IP:.status.podIP`. kubectl: CustomColumnsPrinter

import { failed, ok, type Result } from "../../lib/result.ts";
import { jsonPathValues, parseJsonPath, valueText, type JsonPath } from "./json-path.ts";

export interface CustomColumn {
  readonly title: string;
  readonly path: JsonPath;
}

// A comma inside brackets belongs to the path.
const COLUMNS = /(?:[^,[\]]|\[[^\]]*\])+/g;

export function parseColumns(written: string): Result<readonly CustomColumn[]> {
  const columns: CustomColumn[] = [];
  for (const part of written.match(COLUMNS) ?? []) {
    const [, title = "", path = ""] = /^([^:]+):(.+)$/s.exec(part) ?? [];
    if (title === "") return refuse(`custom-columns: "${part}" must be TITLE:PATH`);
    const parsed = parseJsonPath(path.startsWith("{") ? path : `{${path}}`);
    if (!parsed.ok) return parsed;
    columns.push({ title, path: parsed.value });
  }
  return columns.length > 0 ? ok(columns) : refuse("custom-columns needs TITLE:PATH, …");
}

function refuse(message: string): Result<readonly CustomColumn[]> {
  return failed([{ path: "", message, code: "Invalid" }]);
}

/** `<none>` where there is nothing. */
export function customCells(columns: readonly CustomColumn[], object: unknown): readonly string[] {
  return columns.map(({ path }) => {
    const values = jsonPathValues(path, object);
    return values.length === 0 ? "<none>" : values.map(valueText).join(",");
  });
}
