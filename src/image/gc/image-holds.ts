// Decides what keeps an image on the node. Garbage collection removes nothing that is held, and `agent images rm --force` only
// what is held as `Foreign`.

import type { BroughtImage } from "../../store/brought-images.ts";
import { fullName, imageKeys, referenceKeys, type NodeImage } from "./image-keys.ts";

/**
 * `Container`: made from it, running or dead. `Pod`: a source asks for it, also for later. `GoodRevision`: a rollback needs it.
 * `Sandbox`: every pod needs it. `Pinned`: the runtime keeps it. `Archive`: an archive in the directory brings it.
 * `Foreign`: brought by others, also under another name.
 */
export type HoldReason =
  "Container" | "Pod" | "GoodRevision" | "Sandbox" | "Pinned" | "Archive" | "Foreign";

/** Who needs an image, and by which reference. */
export interface ImageUser {
  readonly reference: string;
  readonly why: "Container" | "Pod" | "GoodRevision" | "Sandbox" | "Archive";
  /** `namespace/name` of the pod, the container, or the path of the archive; "" = the node. */
  readonly by: string;
}

export interface ImageHold {
  readonly why: HoldReason;
  /** `namespace/name` of pods, sorted; the container's id if it is of others; paths of archives. */
  readonly by: readonly string[];
}

export class ImageUsers {
  readonly #users = new Map<string, ImageUser[]>();

  constructor(users: Iterable<ImageUser>) {
    for (const user of users)
      for (const key of referenceKeys(user.reference)) {
        const known = this.#users.get(key);
        if (known === undefined) this.#users.set(key, [user]);
        else known.push(user);
      }
  }

  of(image: NodeImage): readonly ImageUser[] {
    return imageKeys(image).flatMap((key) => this.#users.get(key) ?? []);
  }
}

const ORDER: readonly ImageUser["why"][] = [
  "Sandbox",
  "Container",
  "Pod",
  "GoodRevision",
  "Archive",
];

/** Why the image must stay; undefined = nothing needs it, and this agent brought it. */
export function imageHold(
  image: NodeImage,
  users: ImageUsers,
  brought: BroughtImage | undefined,
): ImageHold | undefined {
  const all = users.of(image);
  for (const why of ORDER) {
    const found = all.filter((user) => user.why === why);
    if (found.length > 0) return { why, by: namesOf(found) };
  }
  if (image.isPinned) return { why: "Pinned", by: [] };
  return isOwn(image, brought) ? undefined : { why: "Foreign", by: [] };
}

/** A tag that others gave to the same image is theirs: the image stays for it. */
function isOwn({ tags }: NodeImage, brought: BroughtImage | undefined): boolean {
  if (brought === undefined) return false;
  const own = new Set(brought.names.map(fullName));
  return tags.every((tag) => own.has(fullName(tag)));
}

function namesOf(users: readonly ImageUser[]): readonly string[] {
  return [...new Set(users.map(({ by }) => by).filter((by) => by !== ""))].toSorted();
}
