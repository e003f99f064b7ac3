// Directories that a volume must have because something else is mounted there: the runtime cannot make them in a read-only
// one. kubelet: MakeNestedMountpoints

import { allContainers, type Pod } from "../v1/pod.ts";
import type { Container } from "../v1/container.ts";
import { isPart } from "../v1/volume-mounts.ts";

/** Relative paths; what lies below one of them is made in what is mounted there. */
export function nestedMountPoints(pod: Pod, volume: string): readonly string[] {
  const found = allContainers(pod.spec).flatMap((container) => nestedIn(container, volume));
  return [...new Set(found)].toSorted();
}

/** Of one container. */
export function nestedIn({ volumeMounts }: Container, volume: string): readonly string[] {
  const all = volumeMounts.map(({ mountPath }) => cleanPath(mountPath));
  return volumeMounts
    .filter((mount) => mount.name === volume && !isPart(mount))
    .flatMap(({ mountPath }) => {
      const path = cleanPath(mountPath);
      const prefix = path === "/" ? "/" : `${path}/`;
      const below = all.filter((other) => isBelow(other, prefix));
      const outer = below.filter((one) => !below.some((other) => isBelow(one, `${other}/`)));
      return outer.map((one) => one.slice(prefix.length));
    });
}

/**
 * Whether one of `points` lies in what a volume of content shows: behind a link that leads elsewhere when the content
 * changes, away from what is mounted there.
 */
export function isInShown(points: readonly string[], paths: Iterable<string>): boolean {
  const shown = new Set([...paths].map(topName));
  return points.some((point) => shown.has(topName(point)));
}

/** Of a relative path. */
export function topName(path: string): string {
  return path.split("/", 1)[0] ?? path;
}

function isBelow(path: string, prefix: string): boolean {
  return path.startsWith(prefix) && path !== prefix;
}

/** Absolute, without empty names and dots. */
function cleanPath(path: string): string {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}
