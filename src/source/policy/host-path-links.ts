// Performs: judges where the hostPaths of document pods lead, before each mount: the node's own links are followed for it.

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import type { Files } from "../../host/files.ts";
import type { JudgeHostPath } from "../../volume/host-path.ts";
import {
  foundHostPathError,
  outermost,
  guardedDirectories,
  type HostPathConfig,
} from "./host-paths-and-devices.ts";

/** The node's links are resolved again at each call. */
export function hostPathError(files: Pick<Files, "place">, config: HostPathConfig): JudgeHostPath {
  const guarded = guardedDirectories(config);
  const list = config.mqtt?.podPolicy?.hostPaths;
  const real = (paths: readonly string[]): readonly string[] =>
    paths.flatMap((path) => files.place(path) ?? []);
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
