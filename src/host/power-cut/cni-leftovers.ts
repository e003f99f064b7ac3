// Performs: after a power cut, removes files of CNI that it left empty or torn: with such a result the network of a sandbox
// can never be taken down, so the sandbox stays for ever; an empty reservation keeps its address for ever.

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { isIP } from "node:net";
import { basename, join } from "node:path";

import { parseJson } from "../../lib/json.ts";

/** Of libcni and of the plugin host-local; every runtime uses it. */
export const CNI_STATE = "/var/lib/cni";

/** Paths of what was removed. Only for a time at which no sandbox is made. Never throws. */
export function removeTornFiles(directory = CNI_STATE): readonly string[] {
  const results = filesOf(join(directory, "results")).filter((path) => !isJson(path));
  const reservations = namesOf(join(directory, "networks"))
    .flatMap((network) => filesOf(join(directory, "networks", network)))
    .filter((path) => isIP(basename(path)) !== 0 && isEmpty(path));
  return [...results, ...reservations].filter((path) => removed(path));
}

function namesOf(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function filesOf(directory: string): readonly string[] {
  return namesOf(directory).map((name) => join(directory, name));
}

/** What cannot be read is left alone. */
function isJson(path: string): boolean {
  try {
    return parseJson(readFileSync(path, "utf8")) !== undefined;
  } catch {
    return true;
  }
}

/** Also one with nothing but zeros. */
function isEmpty(path: string): boolean {
  try {
    return readFileSync(path, "utf8").replaceAll("\0", "").trim() === "";
  } catch {
    return false;
  }
}

function removed(path: string): boolean {
  try {
    rmSync(path);
    return true;
  } catch {
    return false;
  }
}
