// Performs: volumes that the agent fills: made once, refilled when a ConfigMap, a Secret or a label changes.

import { nestedMountPoints } from "../api/validation/nested-mounts.ts";
import type { Container, Pod } from "../api/v1/pod.ts";
import { isPart } from "../api/v1/volumes.ts";
import { AgentError } from "../lib/errors.ts";
import type { AtomicContent } from "./atomic-directory.ts";
import type { ContentPlace } from "./content-place.ts";
import { projectVolume, type ProjectionFacts } from "./projection.ts";
import type { ContentVolume } from "./volume-kinds.ts";

/** What the volumes of one pod are filled from, and where they lie. */
export interface ContentHost {
  readonly projection: ProjectionFacts;
  readonly pod: Pod;
  readonly place: ContentPlace;
}

/**
 * Its path. What went missing since it was set up stays shown, as in the kubelet. Throws AgentError
 * `CreateContainerConfigError` when something is not there yet.
 */
export function setUpContent(host: ContentHost, volume: ContentVolume): string {
  const { missing, content } = contentOf(host, volume);
  const shown = missing.length === 0 ? undefined : host.place.shown(volume);
  if (shown !== undefined) return shown.root;
  mustBeWhole(missing);
  const directory = host.place.make(volume);
  directory.write(content);
  return directory.root;
}

/** Throws what `setUpContent` would for what is not there yet; makes nothing. */
export function checkContent(host: ContentHost, volume: ContentVolume): void {
  const { missing } = contentOf(host, volume);
  if (missing.length > 0 && host.place.shown(volume) === undefined) mustBeWhole(missing);
}

/** True if containers see something else now. One that is not set up is left to `setUpContent`. */
export function refreshContent(host: ContentHost, volume: ContentVolume): boolean {
  const shown = host.place.shown(volume);
  if (shown === undefined) return false;
  const { missing, content } = contentOf(host, volume);
  mustBeWhole(missing);
  return shown.write(content);
}

/** Whether the container sees but a part of this volume, as it is when it starts. */
export function isMountedInPart({ volumeMounts }: Container, { name }: ContentVolume): boolean {
  return volumeMounts.some((mount) => mount.name === name && isPart(mount));
}

function mustBeWhole(missing: readonly string[]): void {
  if (missing.length === 0) return;
  throw new AgentError({ reason: "CreateContainerConfigError", message: missing.join("; ") });
}

interface WantedContent {
  readonly missing: readonly string[];
  readonly content: AtomicContent;
}

function contentOf({ projection, pod, place }: ContentHost, volume: ContentVolume): WantedContent {
  const { files, missing } = projectVolume(volume, pod, projection);
  const directories = nestedMountPoints(pod, volume.name);
  return { missing, content: { files, directories, ...place.group } };
}
