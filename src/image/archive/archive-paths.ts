// Names inside an archive: nothing is ever written under them, but one that leads out of the archive is refused.

import { invalidArchive } from "./archive-error.ts";
import { shown } from "./tar-header.ts";

const MAX_LINKS = 8;

/** Without `./` and doubled or trailing slashes. Throws AgentError `InvalidImageArchive`. */
export function entryPath(written: string): string {
  const path = resolved(written, "");
  if (path === undefined) throw invalidArchive(`the name ${shown(written)} leads out of it`);
  return path;
}

/** Where a link leads; a symbolic link's target is relative to its directory. Throws AgentError `InvalidImageArchive`. */
export function linkTarget(
  link: { readonly type: "HardLink" | "SymLink"; readonly path: string },
  target: string,
): string {
  const parent = link.path.split("/").slice(0, -1).join("/");
  const path = resolved(target, link.type === "HardLink" ? "" : parent);
  if (path === undefined)
    throw invalidArchive(`the link ${shown(link.path)} leads out of it, to ${shown(target)}`);
  return path;
}

/** The path at the end of a chain of links. Throws AgentError `InvalidImageArchive` for a loop. */
export function followLinks(path: string, links: ReadonlyMap<string, string>): string {
  let end = path;
  for (let count = 0; count <= MAX_LINKS; count += 1) {
    const next = links.get(end);
    if (next === undefined) return end;
    end = next;
  }
  throw invalidArchive(`the link ${shown(path)} leads nowhere`);
}

/** undefined = absolute, or above the root. */
function resolved(written: string, base: string): string | undefined {
  if (written.startsWith("/") || written.includes("\0")) return undefined;
  const names = base === "" ? [] : base.split("/");
  for (const name of written.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.pop() === undefined) return undefined;
  }
  return names.join("/");
}
