// Performs: judges where the hostPaths of document pods lead, before each mount: the node's own links are followed for it.

import type { AgentConfig } from "../../config/config.ts";
import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import type { Files } from "../../host/files.ts";
import { type JudgeHostPath, realPlace } from "../../volume/host-path.ts";
import { foundHostPathError, outermost, guardedDirectories } from "./host-paths-and-devices.ts";

/** The node's links are resolved again at each call. */
export function hostPathError(
  files: Pick<Files, "info" | "realPath">,
  config: AgentConfig,
): JudgeHostPath {
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
