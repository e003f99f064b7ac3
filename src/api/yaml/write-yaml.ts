// JSON data as the text of a manifest, which reads as the same data.

import { stringify } from "yaml";
import { canonicalJson } from "../../lib/json.ts";
import { readDocuments } from "./yaml-documents.ts";

/** `value` is plain JSON data; `comment` is one line above it. YAML, or JSON where YAML would read as something else. */
export function manifestText(value: unknown, comment: string): string {
  // JSON first: of two references to one object YAML would make an alias.
  const plain: unknown = JSON.parse(JSON.stringify(value));
  const head = `# ${comment}\n`;
  // Words such as `yes`, which YAML 1.1 reads as booleans, get quotes.
  const options = { version: "1.1", aliasDuplicateObjects: false, lineWidth: 0 } as const;
  const yaml = head + stringify(plain, options);
  return readsAs(yaml, plain) ? yaml : `${head}${JSON.stringify(plain, null, 2)}\n`;
}

function readsAs(text: string, value: unknown): boolean {
  const { documents, errors } = readDocuments(text);
  const [document] = documents;
  if (errors.length > 0 || documents.length !== 1 || document === undefined) return false;
  return canonicalJson(document.value) === canonicalJson(value);
}
