// What containers see of a volume that the agent fills, found as they would find it.

import { existsSync, readFileSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { contentDirectory } from "../../src/volume/volume-paths.ts";

const UID = "(?<uid>[^/]+)";
// Of wherever the agent puts them: a judge that looks elsewhere accuses nobody.
const CONTENT = contentDirectory("", "UID").replace("UID", UID);
const VOLUME = new RegExp(`^(?<root>.*${CONTENT}/(?<name>[^/.][^/]*))(?:/|$)`);

export interface VolumePlace {
  /** Its directory on the node. */
  readonly root: string;
  readonly uid: string;
  readonly name: string;
}

/** The volume that a path belongs to. */
export function volumeAt(path: string): VolumePlace | undefined {
  const { root, uid, name } = VOLUME.exec(path)?.groups ?? {};
  if (root === undefined || uid === undefined || name === undefined) return undefined;
  return { root, uid, name };
}

/** Path → text of all that is in force; undefined = nothing was ever shown. */
export function filesInForce(root: string): ReadonlyMap<string, string> | undefined {
  let version: string;
  try {
    version = readlinkSync(join(root, "..data"));
  } catch {
    // No link, so nobody has looked through it.
    return undefined;
  }
  return filesBelow(join(root, version), "");
}

/** The same by the names that a container opens. */
export function filesShown(root: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  if (!existsSync(root)) return files;
  for (const name of readdirSync(root)) {
    if (name.startsWith("..")) continue;
    for (const [path, text] of filesBelow(root, name)) files.set(path, text);
  }
  return files;
}

/** Links are followed; one that leads nowhere is no file. */
function filesBelow(root: string, path: string): ReadonlyMap<string, string> {
  const full = join(root, path);
  const stats = statSync(full, { throwIfNoEntry: false });
  if (stats === undefined) return new Map();
  if (!stats.isDirectory()) return new Map([[path, readFileSync(full, "utf8")]]);
  const names = readdirSync(full);
  return new Map(names.flatMap((name) => [...filesBelow(root, join(path, name))]));
}
