// Where claims may lie: below `claimRoot` a namespace and a name lead to a directory that pods write to.

import { invalid, type Node } from "../api/decode/field-reader.ts";

/** Directories of the agent itself, and of claims. */
interface Directories {
  readonly stateDir: string;
  readonly staticPodPath: string;
  readonly podLogsDir: string;
  readonly socket: string;
  readonly claimRoot?: string;
}

export function claimRootIn(stateDir: string): string {
  return pathOf([...namesOf(stateDir), "claims"]);
}

/** No claim may lead to a directory of the agent, nor lie where the agent removes what it does not know. */
export function checkClaimRoot(directories: Directories, node: Node): void {
  const { claimRoot, stateDir, staticPodPath, podLogsDir, socket } = directories;
  if (claimRoot === undefined) return;
  const names = namesOf(claimRoot);
  const own = [stateDir, staticPodPath, podLogsDir, socket].map(namesOf);
  const cleaned = ["pods", "desired"].map((name) => [...namesOf(stateDir), name]);
  const met =
    own.find((one) => isWithin(one, names)) ?? cleaned.find((one) => isWithin(names, one));
  if (met === undefined) return;
  invalid(
    node,
    "claimRoot",
    `must be neither within nor around ${pathOf(met)}, which the agent itself uses`,
  );
}

function namesOf(path: string): readonly string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

function pathOf(names: readonly string[]): string {
  return `/${names.join("/")}`;
}

function isWithin(path: readonly string[], directory: readonly string[]): boolean {
  return directory.every((name, index) => path[index] === name);
}
