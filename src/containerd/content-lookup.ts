// Performs: asks containerd where an image begins and which blobs it knows, and says where it keeps them on the disk.

import { ifFound } from "../cri/cri-error.ts";
import type { CallSettings, GrpcChannel } from "../cri/grpc-connection.ts";
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { TargetDescriptor } from "./archive/image-store.ts";
import { CRI_NAMESPACE_HEADERS } from "./containerd.ts";
import { Content } from "./gen/containerd/services/content/v1/content_pb.ts";
import { Images } from "./gen/containerd/services/images/v1/images_pb.ts";

const CALL_MS = 60_000;
const BLOBS = "io.containerd.content.v1.content/blobs/sha256";
const SNAPSHOTTER = /\/io\.containerd\.snapshotter\.v1\.[^/]+\/?$/;

/** Every method throws CriError. */
export interface ContentLookup {
  /** undefined = no image has this name. */
  target(name: string, signal: AbortSignal): Promise<TargetDescriptor | undefined>;
  /** Whether containerd counts the blob as present. */
  knows(digest: string, signal: AbortSignal): Promise<boolean>;
}

export function contentLookup(channel: GrpcChannel): ContentLookup {
  return {
    async target(name, signal) {
      const found = await ifFound(channel.unary(Images.method.get, { name }, settingsOf(signal)));
      const target = found?.image?.target;
      if (target === undefined) return undefined;
      const { mediaType, digest, size } = target;
      return { mediaType, digest, size: Number(size) };
    },
    async knows(digest, signal) {
      const found = await ifFound(
        channel.unary(Content.method.info, { digest }, settingsOf(signal)),
      );
      return found?.info !== undefined;
    },
  };
}

function settingsOf(signal: AbortSignal): CallSettings {
  return { signal, timeoutMs: CALL_MS, headers: CRI_NAMESPACE_HEADERS };
}

/**
 * containerd's root, from the verbose answer of CRI's Status, else from the directory of its snapshotter; undefined = it does
 * not tell.
 */
export function containerdRoot(
  info: Readonly<Record<string, string>>,
  imageDirectories: readonly string[],
): string | undefined {
  for (const section of Object.values(info).map(parseJson).filter(isJsonObject)) {
    const root = section["containerdRootDir"];
    if (typeof root === "string" && root !== "") return root;
  }
  const directory = imageDirectories.find((one) => SNAPSHOTTER.test(one));
  return directory?.replace(SNAPSHOTTER, "");
}

/** undefined = a digest that is no sha256, of which there are none. */
export function blobPath(root: string, digest: string): string | undefined {
  const hex = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1];
  return hex === undefined ? undefined : `${root}/${BLOBS}/${hex}`;
}
