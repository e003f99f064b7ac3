// Performs: what hostPaths of documents may lead to on this node, once links are followed: asked before each mount.

import type { AgentConfig } from "../config/config.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { Files } from "../host/files.ts";
import { foundHostPathError, outermost } from "../source/policy/node-access.ts";
import { realPlace } from "../volume/real-place.ts";
import { guardedDirectories } from "./sources.ts";

/** Why a pod of a document may not have what its path leads to; undefined = it may. */
export type HostPathError = (written: string, resolved: string) => string | undefined;

/** Links of the node's own are looked at anew each time. */
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

/** `known`: all that anybody says about this pod. A pod that nobody knows is trusted no more than one of a document. */
export function isOfDocument(known: readonly Pick<DesiredPod, "source">[]): boolean {
  return known.length === 0 || known.some(({ source }) => source.startsWith("mqtt:"));
}
