// Which images the pods of this node need, and which pods need each of them.

import { LABEL } from "../../../api/pod/labels.ts";
import { imageKeys, referenceKeys, type NodeImage } from "../../../image/gc/image-keys.ts";

/** Who refers to an image: a container of the runtime, a pod of a manifest, or the runtime for its sandboxes. */
export interface ImageUse {
  /** As the user writes it: a name, a digest or an id. */
  readonly reference: string;
  /** `namespace/name`, or another word for what needs it. */
  readonly user: string;
}

export interface ListedContainer {
  readonly image?: { readonly image: string } | undefined;
  readonly imageRef: string;
  readonly labels: Readonly<Record<string, string>>;
}

export function usesOfContainers(containers: readonly ListedContainer[]): readonly ImageUse[] {
  return containers.flatMap(({ image, imageRef, labels }) => {
    const pod = labels[LABEL.podName];
    const user =
      pod === undefined ? "a container of others" : `${labels[LABEL.podNamespace]}/${pod}`;
    return [image?.image ?? "", imageRef].flatMap((reference) =>
      reference === "" ? [] : [{ reference, user }],
    );
  });
}

/** Who needs this image, sorted, each once. */
export function usersOf(image: NodeImage, uses: readonly ImageUse[]): readonly string[] {
  const keys = new Set(imageKeys(image));
  const users = uses
    .filter(({ reference }) => referenceKeys(reference).some((key) => keys.has(key)))
    .map(({ user }) => user);
  return [...new Set(users)].toSorted();
}

/** As a person knows it. */
export function shownName({ tags, digests, id }: NodeImage): string {
  return tags[0] ?? digests[0] ?? id;
}
