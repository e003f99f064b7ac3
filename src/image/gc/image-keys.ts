// The names under which the runtime and the pods know one image, in a form that can be compared.

import type { Image } from "../../cri/gen/runtime/v1/api_pb.ts";
import { normalizedName, parseImageReference } from "../image-reference.ts";

/** An image as the runtime lists it. */
export interface NodeImage {
  /** `sha256:…`, the same for all names of one image. */
  readonly id: string;
  /** Full names with tags. */
  readonly tags: readonly string[];
  /** Full names with digests. */
  readonly digests: readonly string[];
  readonly sizeBytes: number;
  /** The runtime itself must keep it, e.g. for sandboxes. */
  readonly isPinned: boolean;
}

type ListedImage = Pick<Image, "id" | "repoTags" | "repoDigests" | "size" | "pinned">;

export function nodeImage({ id, repoTags, repoDigests, size, pinned }: ListedImage): NodeImage {
  return {
    id,
    tags: repoTags,
    digests: repoDigests,
    sizeBytes: Number(size),
    isPinned: pinned,
  };
}

const BARE_ID = /^(?:sha256:)?([0-9a-f]{64})$/;

/**
 * Keys of a reference: of a pod's spec, a container, or the runtime. A digest counts without its repository, and both tag
 * and digest count: one key too many only keeps an image.
 */
export function referenceKeys(reference: string): readonly string[] {
  const id = BARE_ID.exec(reference)?.[1];
  if (id !== undefined) return [`sha256:${id}`];
  const name = fullName(reference);
  const at = name.indexOf("@");
  if (at < 0) return [name];
  const [tagged, digest] = [name.slice(0, at), name.slice(at)];
  const hasTag = tagged.includes(":", tagged.lastIndexOf("/"));
  return hasTag ? [tagged, digest] : [digest];
}

/** Every key by which a reference may mean this image. */
export function imageKeys({ id, tags, digests }: NodeImage): readonly string[] {
  return [...new Set([id, ...tags.flatMap(referenceKeys), ...digests.flatMap(referenceKeys)])];
}

/** `busybox` → `docker.io/library/busybox:latest`; a name that no pod could have stays as it is. */
export function fullName(reference: string): string {
  try {
    return normalizedName(parseImageReference(reference));
  } catch {
    // The runtime lists names that pods may not have; they are equal only to themselves.
    return reference;
  }
}
