// Volumes that the agent fills: made once, refilled when a ConfigMap, a Secret or a label changes. Secrets lie in memory only;
// all else on disk, as the kubelet has it for ConfigMaps: after a reboot it is still there, and nothing is written again.

import type { Pod } from "../api/pod.ts";
import { AgentError } from "../lib/errors.ts";
import { AtomicDirectory, type AtomicContent } from "./atomic-directory.ts";
import { nestedMountPoints } from "./nested-mounts.ts";
import { projectVolume, type ProjectionFacts } from "./projection.ts";
import { makeVolumeDirectory, type VolumeHost } from "./volume-directory.ts";
import { holdsSecrets, type ContentVolume } from "./volume-kinds.ts";
import { contentPath, pluginOf } from "./volume-paths.ts";

export interface ContentHost extends VolumeHost {
  readonly projection: ProjectionFacts;
}

/** Every container may look; the directories above keep everybody else out. */
const MODE = 0o755;
const SETGID = 0o2000;

/**
 * Its path. What went missing since it was set up stays shown, as in the kubelet. Throws AgentError
 * `CreateContainerConfigError` when something is not there yet.
 */
export function setUpContent(host: ContentHost, volume: ContentVolume, pod: Pod): string {
  const { missing, content } = contentOf(host, volume, pod);
  const shown = shownIn(host, volume, pod);
  if (missing.length > 0 && shown !== undefined) return shown.root;
  mustBeWhole(missing);
  const path = makeRoot(host, volume, pod);
  new AtomicDirectory(host.files, path).write(content);
  return path;
}

/** Throws what `setUpContent` would for what is not there yet; makes nothing. */
export function checkContent(host: ContentHost, volume: ContentVolume, pod: Pod): void {
  if (shownIn(host, volume, pod) === undefined) mustBeWhole(contentOf(host, volume, pod).missing);
}

/** True if containers see something else now. One that is not set up is left to `setUpContent`. */
export function refreshContent(host: ContentHost, volume: ContentVolume, pod: Pod): boolean {
  const shown = shownIn(host, volume, pod);
  if (shown === undefined) return false;
  const { missing, content } = contentOf(host, volume, pod);
  mustBeWhole(missing);
  return shown.write(content);
}

/** What containers see of it now; undefined = it was never set up, or has gone with a reboot. */
function shownIn(
  { files, mounts, stateDir }: ContentHost,
  volume: ContentVolume,
  pod: Pod,
): AtomicDirectory | undefined {
  const path = contentPath(stateDir, pod.metadata.uid, volume);
  const directory = new AtomicDirectory(files, path);
  if (!directory.isWritten) return undefined;
  // On the directory below a tmpfs a Secret would be on the disk.
  return holdsSecrets(volume) && !mounts.isMountPoint(path) ? undefined : directory;
}

function mustBeWhole(missing: readonly string[]): void {
  if (missing.length === 0) return;
  throw new AgentError({ reason: "CreateContainerConfigError", message: missing.join("; ") });
}

interface WantedContent {
  readonly missing: readonly string[];
  readonly content: AtomicContent;
}

function contentOf({ projection }: ContentHost, volume: ContentVolume, pod: Pod): WantedContent {
  const { files, missing } = projectVolume(volume, pod, projection);
  const directories = nestedMountPoints(pod, volume.name);
  return { missing, content: { files, directories, ...groupOf(pod) } };
}

function makeRoot(host: ContentHost, volume: ContentVolume, pod: Pod): string {
  const group = groupOf(pod);
  const { uid } = pod.metadata;
  const { name } = volume;
  const plugin = pluginOf(volume);
  const path = makeVolumeDirectory(host, {
    uid,
    plugin,
    name,
    mode: MODE,
    ...group,
    readOnly: true,
  });
  if (!holdsSecrets(volume) || host.mounts.isMountPoint(path)) return path;
  const mode = group.group === undefined ? MODE : MODE | SETGID;
  host.mounts.tmpfs(path, { mode, ...group });
  return path;
}

function groupOf({ spec }: Pod): { readonly group?: number } {
  const { fsGroup } = spec.securityContext;
  return fsGroup === undefined ? {} : { group: fsGroup };
}
