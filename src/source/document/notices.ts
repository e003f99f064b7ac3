// What an accepted document should know of itself: nothing of it is refused for that. Pure.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { DesiredObject } from "../../api/v1/local-object.ts";
import { unpinnedImages } from "../policy/images.ts";
import type { DecodedResources } from "./resources.ts";
import type { DocumentAddress } from "../../protocol/desired-document.ts";

/** Every member of the group, and whoever may read its topic, has them. */
export function sharedSecrets(
  objects: readonly DesiredObject[],
  { source, topic }: DocumentAddress,
): readonly Rejection[] {
  if (!source.startsWith("mqtt:group/")) return [];
  return objects.flatMap(({ object: { kind, metadata } }): readonly Rejection[] => {
    if (kind !== "Secret") return [];
    const { namespace, name } = metadata;
    const message = "the whole group can read this Secret; put it into the document of each node";
    const code = "SecretInSharedDocument";
    return [{ source, ref: topic, kind, namespace, name, code, path: "", message }];
  });
}

/** A signed document runs whatever lies under a tag by then. */
export function unpinned(
  pods: DecodedResources["pods"],
  { source, topic }: DocumentAddress,
): readonly Rejection[] {
  return pods.flatMap(({ pod }) => {
    const { namespace, name } = pod.metadata;
    const object = { source, ref: topic, kind: "Pod", namespace, name };
    return unpinnedImages(pod).map((error) => ({ ...object, ...error }));
  });
}
