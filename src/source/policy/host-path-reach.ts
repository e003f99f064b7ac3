// Performs: judges where the hostPaths of document pods lead on this node, symbolic links followed; called before each
// mount.

import type { AgentConfig } from "../../config/config.ts";
import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import type { Files } from "../../host/files.ts";
import { realPlace } from "../../volume/host-path.ts";
import { foundHostPathError, outermost } from "./node-access.ts";

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

/** Write access to these gives root on this node, or decides what runs here. */
export function guardedDirectories(config: AgentConfig): readonly string[] {
  const { staticPodPath, stateDir, trustPath, socket } = config;
  const { containerRuntimeEndpoint: endpoint } = config;
  const sockets = [socket, endpoint.replace(/^unix:\/\//, "")].filter((path) =>
    path.startsWith("/"),
  );
  const ofSockets = sockets.map(parentOf).filter((path) => !SHARED.includes(path));
  const own = [staticPodPath, stateDir, trustPath, "/run/agent"];
  return [...new Set([...own, "/var/lib/containerd", "/run/containerd", ...ofSockets, ...sockets])];
}

/** Shared directories: a socket in one of them does not guard the whole directory. */
const SHARED: readonly string[] = ["/", "/run", "/var/run", "/tmp"];

function parentOf(path: string): string {
  return path.replace(/\/+[^/]*\/*$/, "") || "/";
}
