// The formats of `-o`. kubectl: get

import { failed, ok, type Result } from "../../lib/result.ts";
import { parseColumns, type CustomColumn } from "./custom-columns.ts";
import { parseJsonPath, type JsonPath } from "./json-path.ts";

export type OutputFormat =
  | { readonly type: "table"; readonly isWide: boolean }
  | { readonly type: "json" | "yaml" | "name" }
  | { readonly type: "jsonpath"; readonly path: JsonPath; readonly asJson: boolean }
  | { readonly type: "columns"; readonly columns: readonly CustomColumn[] };

export const OUTPUT_HELP =
  "json, yaml, name, wide, jsonpath=TEMPLATE, jsonpath-as-json=TEMPLATE, custom-columns=TITLE:PATH,…";

/** As a shell completes them. */
export const OUTPUT_WORDS = ["json", "yaml", "name", "wide", "jsonpath=", "custom-columns="];

/** undefined = a table. */
export function outputFormat(written: string | undefined): Result<OutputFormat> {
  const [, word = "", template] = /^([a-z-]*)(?:=(.*))?$/s.exec(written ?? "") ?? [];
  switch (word) {
    case "":
      if (written === undefined) return ok({ type: "table", isWide: false });
      break;
    case "wide":
      return ok({ type: "table", isWide: true });
    case "json":
    case "yaml":
    case "name":
      return ok({ type: word });
    case "jsonpath":
    case "jsonpath-as-json":
      return jsonPathFormat(template, word === "jsonpath-as-json");
    case "custom-columns":
      return columnsFormat(template);
  }
  return refuse(`unknown output format ${JSON.stringify(written)}; it must be ${OUTPUT_HELP}`);
}

function jsonPathFormat(template: string | undefined, asJson: boolean): Result<OutputFormat> {
  if (template === undefined || template === "")
    return refuse("jsonpath needs a template, such as jsonpath='{.items[*].metadata.name}'");
  const path = parseJsonPath(template);
  return path.ok ? ok({ type: "jsonpath", path: path.value, asJson }) : path;
}

function columnsFormat(template: string | undefined): Result<OutputFormat> {
  const columns = parseColumns(template ?? "");
  return columns.ok ? ok({ type: "columns", columns: columns.value }) : columns;
}

function refuse(message: string): Result<OutputFormat> {
  return failed([{ path: "", message, code: "Invalid" }]);
}
