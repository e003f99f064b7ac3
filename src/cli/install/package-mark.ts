// Performs: reads the file by which a package of the distribution says that the agent on this machine is its own: its manager replaces and removes
// the binary, the launcher and the unit, and `agent install` and `agent uninstall` leave them alone.

import { join } from "node:path";
import type { Files } from "../../host/files.ts";

export const PACKAGE_MARK = "/usr/lib/agent/package";
const LARGEST_MARK = 4096;

/** `name`: the package and its version, for people. */
export function packageMark(name: string): string {
  return `${name}\n`;
}

/** The package that has installed the agent below `root`, and its version; undefined = none has. */
export function installedPackage(
  files: Pick<Files, "info" | "readFollowing">,
  root: string,
): string | undefined {
  const path = join(root, PACKAGE_MARK);
  if (files.info(path) === undefined) return undefined;
  const text = new TextDecoder().decode(files.readFollowing(path, LARGEST_MARK));
  const [line = ""] = text.split("\n");
  return line.trim() === "" ? "of the distribution" : line.trim();
}
