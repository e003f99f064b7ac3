// Who may change a file or directory that decides what this node does.

import type { FileInfo } from "./files.ts";

const ROOT = 0;
const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_ALL = 0o002;

/** As two parts of a sentence. */
interface OwnerProblem {
  /** `belongs to user 1000`: comes after the path. */
  readonly what: string;
  /** A command. */
  readonly remedy: string;
}

/** undefined = only root, and the user that this process runs as, may change it. */
export function ownerProblem(
  path: string,
  { owner, mode }: Pick<FileInfo, "owner" | "mode">,
  user: number,
): OwnerProblem | undefined {
  if (owner !== ROOT && owner !== user)
    return {
      what: `belongs to user ${owner}`,
      remedy: `chown root: ${path} && chmod go-w ${path}`,
    };
  if ((mode & WRITABLE_BY_ALL) !== 0)
    return { what: "is writable by all users", remedy: `chmod go-w ${path}` };
  if ((mode & WRITABLE_BY_GROUP) !== 0)
    return { what: "is writable by its group", remedy: `chmod go-w ${path}` };
  return undefined;
}
