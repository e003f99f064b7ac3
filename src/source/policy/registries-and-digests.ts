// Where the images of documents may come from (`podPolicy.registries`), and whether they are pinned (`requireDigest`).

import { formatPath } from "../../api/decode/field-path.ts";
import { placedContainers, type Pod } from "../../api/v1/pod.ts";
import { writtenIndex } from "../../api/decode/written-index.ts";
import type { FieldError } from "../../lib/result.ts";

export interface ImageRules {
  /** Prefixes of the full reference; absent = anywhere. */
  readonly registries?: readonly string[];
  readonly requireDigest: boolean;
  /** The one full spelling of an image name, registry included; undefined = it is no image name. */
  readonly fullImageName: (image: string) => string | undefined;
}

interface NamedImage {
  readonly path: string;
  readonly image: string;
}

const DIGEST = /@[a-z0-9]+:[0-9a-f]{64,}$/;

export function forbiddenImages(pod: Pod, rules: ImageRules): readonly FieldError[] {
  const asked = "which mqtt.requireDigest asks for";
  return imagesOf(pod).flatMap(({ path, image }) => {
    const unpinned = rules.requireDigest ? pinError(image, asked) : undefined;
    return [originError(image, rules), unpinned]
      .filter((message) => message !== undefined)
      .map((message) => ({ path, code: "Forbidden", message }));
  });
}

/** Without a digest, the registry decides what the container runs, regardless of signatures. */
export function unpinnedImages(pod: Pod): readonly FieldError[] {
  return imagesOf(pod).flatMap(({ path, image }): readonly FieldError[] => {
    const message = pinError(image, "so its registry decides what runs");
    return message === undefined ? [] : [{ path, code: "UnpinnedImage", message }];
  });
}

function originError(image: string, { registries, fullImageName }: ImageRules): string | undefined {
  if (registries === undefined) return undefined;
  const full = fullImageName(image);
  if (full !== undefined && registries.some((prefix) => isFrom(full, prefix))) return undefined;
  const spelled = full === undefined || full === image ? "" : ` (in full ${JSON.stringify(full)})`;
  return `${JSON.stringify(image)}${spelled} is not from the node's mqtt.podPolicy.registries; use an image from there, or add its registry`;
}

function pinError(image: string, why: string): string | undefined {
  if (DIGEST.test(image)) return undefined;
  return `${JSON.stringify(image)} names no digest, ${why}; write name@sha256:…`;
}

/** A prefix ends where a name ends: `registry/team` does not match `registry/teammate/app`, a host not its other ports. */
function isFrom(full: string, prefix: string): boolean {
  if (prefix === "" || !full.startsWith(prefix)) return false;
  const next = full[prefix.length];
  if (prefix.endsWith("/") || next === undefined || next === "/") return true;
  return prefix.includes("/") && (next === ":" || next === "@");
}

function imagesOf({ spec }: Pod): readonly NamedImage[] {
  return [
    ...placedContainers(spec).map(({ container, path }) => ({
      path: formatPath([...path, "image"]),
      image: container.image,
    })),
    ...spec.volumes.flatMap((volume, index) => {
      if (!("image" in volume)) return [];
      const path = ["spec", "volumes", writtenIndex(volume, index), "image", "reference"];
      return [{ path: formatPath(path), image: volume.image.reference }];
    }),
  ];
}
