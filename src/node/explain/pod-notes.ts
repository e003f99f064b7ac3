// What explains a pod beside its status: its line in the manifest, the times of the next tries, the last lines of its logs.

import { memberOf } from "../../lib/json.ts";
import { readManifest } from "../../api/decode/decode-manifest.ts";

export interface PodNotes {
  /** Of the pod in its manifest file; undefined = unknown, or it is of no file. */
  readonly line?: number | undefined;
  /** Container → when it is tried again, in wall-clock milliseconds. */
  readonly tries: ReadonlyMap<string, number>;
  /** Container → what its newest instance wrote last. */
  readonly lines: ReadonlyMap<string, readonly string[]>;
}

export const NO_NOTES: PodNotes = { tries: new Map(), lines: new Map() };

/** Of one container. */
export const LAST_LINES = 5;
/** Characters of a line. */
const LINE_CHARACTERS = 500;
/** `2026-11-21T08:00:00.123456789Z stdout F text` */
const LINE = /^\S+ std(?:out|err) ([PF])\S* (.*)$/s;

/** Where the pod of this name stands in document `index` of a file; 1-based. undefined = the file has changed since. */
export function lineInManifest(
  text: string | Uint8Array,
  index: number,
  name: string,
): number | undefined {
  const { documents } = readManifest(text);
  const document = documents.find((one) => one.index === index);
  if (document === undefined) return undefined;
  const items = memberOf(document.value, "items");
  const at = Array.isArray(items)
    ? items.findIndex((item: unknown) => memberOf(memberOf(item, "metadata"), "name") === name)
    : -1;
  const item = at < 0 ? [] : ["items", at];
  // The name of a pod of a Job or a Deployment is not written there: then the object's own counts.
  const place =
    document.locate([...item, "metadata", "name"]) ?? document.locate([...item, "kind"]);
  return place?.line;
}

/** The last lines of a log in the form of the runtime; a line in several parts is one. */
export function lastLines(log: string): readonly string[] {
  const lines: string[] = [];
  let begun = "";
  for (const written of log.split("\n")) {
    const [, tag, text = ""] = LINE.exec(written) ?? [];
    if (tag === undefined) continue;
    begun += text;
    if (tag === "P") continue;
    lines.push(begun);
    begun = "";
  }
  const all = begun === "" ? lines : [...lines, begun];
  return all.slice(-LAST_LINES).map((line) => line.replace(/\r$/, "").slice(0, LINE_CHARACTERS));
}
