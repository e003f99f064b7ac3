// Kubernetes' rules for keys, paths and modes inside ConfigMaps, Secrets and volumes: each answers with what is wrong, or undefined.

import { descendingPathError } from "./validate-names.ts";

const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/;
const MAX_CONFIG_KEY = 253;
/** Of one name in a path, in bytes. Linux: NAME_MAX */
const MAX_PATH_NAME = 255;
const MAX_PATH = 4096;
/** 0777 */
const MAX_MODE = 511;

/** A key of a ConfigMap or a Secret. k8s: IsConfigMapKey */
export function configKeyError(key: string): string | undefined {
  if (key.length > MAX_CONFIG_KEY) return `must be no more than ${MAX_CONFIG_KEY} characters`;
  if (!CONFIG_KEY.test(key))
    return "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
  if (key === "." || key === "..") return `must not be '${key}'`;
  return key.startsWith("..") ? "must not start with '..'" : undefined;
}

/** The path of a file that a volume is filled with. k8s: ValidateLocalNonReservedPath, AtomicWriter */
export function filePathError(path: string): string | undefined {
  const error = descendingPathError(path);
  if (error !== undefined) return error;
  if (path.startsWith("..")) return "must not start with '..'";
  const names = tidyPath(path).split("/");
  if (names[0] === "" || /\/\.?$/.test(path)) return "must name a file";
  const bytes = (text: string): number => new TextEncoder().encode(text).length;
  if (bytes(path) > MAX_PATH) return `must be no more than ${MAX_PATH} bytes`;
  if (names.some((name) => bytes(name) > MAX_PATH_NAME))
    return `must have no name of more than ${MAX_PATH_NAME} bytes`;
  return undefined;
}

/** The same path without empty names and `.`. */
export function tidyPath(path: string): string {
  return path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .join("/");
}

/** The permissions of a file. k8s: fileModeErrorMsg */
export function modeError(mode: number): string | undefined {
  if (mode >= 0 && mode <= MAX_MODE) return undefined;
  return "must be a number between 0 and 0777 (octal), both inclusive";
}
