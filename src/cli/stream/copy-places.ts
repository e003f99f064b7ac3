// The two places of `agent cp`, and where each entry of an archive from a pod goes on this machine. kubectl: cp

import { UsageError } from "../exit-codes.ts";

export interface CopyPlace {
  /** undefined = this machine. */
  readonly pod: { readonly namespace: string | undefined; readonly name: string } | undefined;
  readonly path: string;
}

/** `[[NAMESPACE/]POD:]PATH`. Throws UsageError. */
export function copyPlace(written: string): CopyPlace {
  const colon = written.indexOf(":");
  if (colon === 0)
    throw new UsageError("filespec must match the canonical format: [[namespace/]pod:]file/path");
  // A local path may have a colon behind a slash that is no pod's.
  if (colon < 0 || /^[./]/.test(written)) return { pod: undefined, path: written };
  const pod = written.slice(0, colon).split("/");
  const path = written.slice(colon + 1);
  if (pod.length > 2 || pod.some((word) => word === ""))
    throw new UsageError("filespec must match the canonical format: [[namespace/]pod:]file/path");
  const [first = "", second] = pod;
  return second === undefined
    ? { pod: { namespace: undefined, name: first }, path }
    : { pod: { namespace: first, name: second }, path };
}

/** Without `.`, `..` and doubled slashes; "" = the directory itself. An absolute path stays one. */
export function cleanPath(path: string): string {
  const isAbsolute = path.startsWith("/");
  const clean: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") clean.push(part);
    else if (clean.length > 0 && clean.at(-1) !== "..") clean.pop();
    else if (!isAbsolute) clean.push(part);
  }
  return `${isAbsolute ? "/" : ""}${clean.join("/")}`;
}

export function baseName(path: string): string {
  return cleanPath(path).split("/").at(-1) ?? "";
}

export function directoryName(path: string): string {
  const clean = cleanPath(path);
  const slash = clean.lastIndexOf("/");
  if (slash === 0) return "/";
  return slash < 0 ? "." : clean.slice(0, slash);
}

/** tar removes it from what it writes: a slash and steps upwards. kubectl: stripPathShortcuts */
export function archivedName(path: string): string {
  return cleanPath(path)
    .replace(/^\//, "")
    .replace(/^(?:\.\.\/)+/, "")
    .replace(/^\.\.$/, "");
}

export type Placed =
  /** Below the destination; "" = the destination itself. */
  { readonly type: "Inside"; readonly path: string } | { readonly type: "Outside" };

/** Where an entry goes whose archive was made of `source`. An archive is not trusted. */
export function placedEntry(entry: string, source: string): Placed {
  const prefix = archivedName(source);
  const name = entry.replace(/\/+$/, "").replace(/^\.\//, "");
  const isWhole = prefix === "";
  if (!isWhole && name !== prefix && !name.startsWith(`${prefix}/`)) return { type: "Outside" };
  const below = isWhole ? name : name.slice(prefix.length + 1);
  const parts = below.split("/");
  if (parts.includes("..") || below.startsWith("/") || below.includes("\0"))
    return { type: "Outside" };
  return { type: "Inside", path: cleanPath(below) };
}
