// Where claims may lie: below `claimRoot` a namespace and a name lead to a directory that pods write to.

import { invalid, type Node } from "../api/decode/field-reader.ts";
import { isWithin, tidyPath } from "../api/validation/keys-and-paths.ts";

/** Directories of the agent itself, and of claims. */
interface Directories {
  readonly stateDir: string;
  readonly staticPodPath: string;
  readonly podLogsDir: string;
  readonly socket: string;
  readonly claimRoot?: string;
}

export function claimRootIn(stateDir: string): string {
  return `/${tidyPath(`${stateDir}/claims`)}`;
}

/** No claim may lead to a directory of the agent, nor lie where the agent removes what it does not know. */
export function checkClaimRoot(directories: Directories, node: Node): void {
  const { claimRoot, stateDir, staticPodPath, podLogsDir, socket } = directories;
  if (claimRoot === undefined) return;
  const root = tidyPath(claimRoot);
  const own = [stateDir, staticPodPath, podLogsDir, socket].map(tidyPath);
  const cleaned = ["pods", "desired"].map((name) => tidyPath(`${stateDir}/${name}`));
  const met = own.find((one) => isWithin(one, root)) ?? cleaned.find((one) => isWithin(root, one));
  if (met === undefined) return;
  const message = `must be neither within nor around /${met}, which the agent itself uses`;
  invalid(node, "claimRoot", message);
}
