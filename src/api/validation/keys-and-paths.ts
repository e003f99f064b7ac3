// Kubernetes' rules for keys, paths and modes inside ConfigMaps, Secrets and volumes: each answers with what is wrong, or undefined.

import { descendingPathError, type Form } from "./validate-names.ts";
import { byteLength } from "../../lib/short-text.ts";

const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/;
const MAX_CONFIG_KEY = 253;
/** Of one name in a path, in bytes. Linux: NAME_MAX */
const MAX_PATH_NAME = 255;
const MAX_PATH = 4096;
/** What may be one of more bytes. */
const LONG_NAME = /[^/]{86}/;
const UNTIDY = /(?:^|\/)\.?(?:\/|$)/;

/** A key of a ConfigMap or a Secret. k8s: IsConfigMapKey */
export function configKeyError(key: string): string | undefined {
  if (key.length > MAX_CONFIG_KEY) return `must be no more than ${MAX_CONFIG_KEY} characters`;
  if (!CONFIG_KEY.test(key))
    return "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
  if (key === "." || key === "..") return `must not be '${key}'`;
  return key.startsWith("..") ? "must not start with '..'" : undefined;
}

/** Neither "." nor "..", nor with two dots at its beginning. */
export const CONFIG_KEY_FORM: Form = {
  check: configKeyError,
  schema: { pattern: "^\\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$", maxLength: MAX_CONFIG_KEY },
};

/** The path of a file that a volume is filled with. k8s: ValidateLocalNonReservedPath, AtomicWriter */
export function filePathError(path: string): string | undefined {
  if (isLonger(path, MAX_PATH)) return `must be no more than ${MAX_PATH} bytes`;
  const error = descendingPathError(path);
  if (error !== undefined) return error;
  if (path.startsWith("..")) return "must not start with '..'";
  const tidy = tidyPath(path);
  if (tidy === "" || /\/\.?$/.test(path)) return "must name a file";
  if (LONG_NAME.test(tidy) && tidy.split("/").some((name) => isLonger(name, MAX_PATH_NAME)))
    return `must have no name of more than ${MAX_PATH_NAME} bytes`;
  return undefined;
}

/** Bytes of UTF-8: three of them for a unit of text at most. */
function isLonger(text: string, bytes: number): boolean {
  if (text.length > bytes) return true;
  return 3 * text.length > bytes && byteLength(text) > bytes;
}

/** The same path without empty names and `.`. */
export function tidyPath(path: string): string {
  if (!UNTIDY.test(path)) return path;
  return path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .join("/");
}

/** Whether a tidy path is `top` or below it; "" is above all. */
export function isWithin(path: string, top: string): boolean {
  return top === "" || path === top || path.startsWith(`${top}/`);
}
