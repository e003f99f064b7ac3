// Performs: `-o json` and `-o yaml`: prints whole objects.

import type { ObjectView } from "../node/api-views.ts";
import { printableText } from "./terminal-text.ts";
import type { Terminal } from "./process-io.ts";

/** Kubernetes' v1 List of anything. */
export function listOf(items: readonly ObjectView[]): object {
  return { apiVersion: "v1", kind: "List", metadata: {}, items };
}

/** `pod/web`. */
export function objectName(object: ObjectView): string {
  return `${object.kind.toLowerCase()}/${object.metadata.name}`;
}

/** Prints one whole object; on a terminal control characters stay escaped. */
export async function printObject(
  terminal: Terminal,
  object: object,
  format: "json" | "yaml",
): Promise<void> {
  const text = await objectText(object, format);
  terminal.out(terminal.isTerminal ? printableText(text) : text);
}

/** One whole object as it is printed or written to a file. */
export async function objectText(object: object, format: "json" | "yaml"): Promise<string> {
  return format === "json" ? `${JSON.stringify(object, null, 2)}\n` : yamlOf(object);
}

/** Prints one of several objects, as a document of its own. */
export async function printDocument(
  terminal: Terminal,
  object: object,
  format: "json" | "yaml",
): Promise<void> {
  if (format === "yaml") terminal.out("---\n");
  await printObject(terminal, object, format);
}

/** JSON first: of two references to one object YAML would make an alias. */
async function yamlOf(object: object): Promise<string> {
  const { stringify } = await import("yaml");
  // Words such as `yes`, which YAML 1.1 reads as booleans, get quotes: kubectl and the decoder read it.
  const options = { aliasDuplicateObjects: false, compat: "yaml-1.1" } as const;
  return stringify(JSON.parse(JSON.stringify(object)), options);
}
