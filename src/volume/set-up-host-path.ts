// Performs: finds the file or directory of the host behind a hostPath, and makes it where its type says so.

import type { HostPathVolume } from "../api/v1/volumes.ts";
import type { Files } from "../host/files.ts";
import { AgentError } from "../lib/errors.ts";
import { foundOf, hostPathAction, type HostPathAction } from "./host-path.ts";
import { realPlace } from "./real-place.ts";

export interface HostPathHost {
  readonly files: Files;
  /**
   * Why the pod may not have what its path leads to, links followed; undefined = it may. Absent = paths are taken as they
   * are written, links and all.
   */
  readonly hostPathError?: (written: string, resolved: string) => string | undefined;
}

type Allowed = Exclude<HostPathAction["type"], "Refuse">;

interface Place {
  /** What the runtime gets. */
  readonly path: string;
  readonly action: Allowed;
}

const CREATED_DIRECTORY_MODE = 0o755;
const CREATED_FILE_MODE = 0o644;

/** What to mount. Throws AgentError `FailedMount`. */
export function setUpHostPath(host: HostPathHost, volume: HostPathVolume): string {
  const looked = placeOf(host, volume);
  if (looked.action === "Use") return looked.path;
  create(host, looked);
  // Whoever may write beside it may have been quicker, or have put a link there meanwhile.
  const { path, action } = placeOf(host, volume);
  if (action === "Use") return path;
  return refuse(`${JSON.stringify(path)} was made, and is gone again`);
}

/** Throws what `setUpHostPath` would; makes nothing. */
export function checkHostPath(host: HostPathHost, volume: HostPathVolume): void {
  placeOf(host, volume);
}

/** Throws AgentError `FailedMount` when a path that was judged leads elsewhere since: its links have to be judged anew. */
export function checkStillThere({ files, hostPathError }: HostPathHost, path: string): void {
  if (hostPathError === undefined || realPlace(files, path) === path) return;
  const why = "has become a symbolic link, or lies behind one, since it was looked at";
  refuse(`${JSON.stringify(path)} ${why}; it is looked at again at the next try`);
}

function create({ files, hostPathError }: HostPathHost, { path, action }: Place): void {
  // What was judged counts, not where its links lead by now.
  const place = hostPathError === undefined ? realPlace(files, path) : path;
  if (place === undefined) return refuse(leadsNowhere(path));
  switch (action) {
    case "Use":
      return;
    case "CreateDirectory":
      return files.createDirectory(place, CREATED_DIRECTORY_MODE);
    case "CreateFile":
      return files.createFile(place, CREATED_FILE_MODE);
  }
}

function placeOf(host: HostPathHost, { hostPath }: HostPathVolume): Place {
  const { files } = host;
  const { type } = hostPath;
  const path = resolved(host, hostPath.path);
  // Without a type nothing more is looked at: the path may lie on a file system that hangs.
  // A link to nothing is something: creating would replace it.
  const found = type === "" ? undefined : foundOf(files.target(path) ?? files.info(path));
  const action = hostPathAction(path, type, found);
  if (action.type !== "Refuse") return { path, action: action.type };
  return refuse(action.message);
}

/** The path without links where somebody judges it. */
function resolved({ files, hostPathError }: HostPathHost, written: string): string {
  if (hostPathError === undefined) return written;
  const real = realPlace(files, written);
  if (real === undefined) return refuse(leadsNowhere(written));
  const why = hostPathError(written, real);
  return why === undefined ? real : refuse(why);
}

function leadsNowhere(path: string): string {
  return `${JSON.stringify(path)} leads through a symbolic link to nothing; remove the link, or make what it names`;
}

function refuse(message: string): never {
  throw new AgentError({ reason: "FailedMount", message });
}
