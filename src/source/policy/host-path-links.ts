// Performs: follows the symbolic links of the hostPaths of document pods, before each mount, and judges where they
// lead.

import type { AgentConfig } from "../../config/config.ts";
import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import type { Files } from "../../host/files.ts";
import { realPlace } from "../../volume/host-path.ts";
import { foundHostPathError, outermost, guardedDirectories } from "./host-paths-and-devices.ts";

/** Why a pod of a document may not mount what its path leads to; undefined = it may. */
export type HostPathError = (written: string, resolved: string) => string | undefined;

/** The node's links are resolved again at each call. */
export function hostPathError(
  files: Pick<Files, "info" | "realPath">,
  config: AgentConfig,
): HostPathError {
  const guarded = guardedDirectories(config);
  const list = config.mqtt?.podPolicy?.hostPaths;
  const real = (paths: readonly string[]): readonly string[] =>
    paths.flatMap((path) => realPlace(files, path) ?? []);
  return (written, resolved) =>
    foundHostPathError(
      { written, resolved },
      {
        ...(list === undefined ? {} : { list: real(outermost(list)) }),
        guarded: [...guarded, ...real(guarded)],
      },
    );
}

/** `known`: every entry with the pod's UID. An unknown pod counts as one of a document. */
export function isOfDocument(known: readonly Pick<DesiredPod, "source">[]): boolean {
  return known.length === 0 || known.some(({ source }) => source.startsWith("mqtt:"));
}
