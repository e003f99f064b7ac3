// Performs: imports the images of one archive, a docker-archive or an OCI layout, while it arrives: each blob goes to
// containerd as it comes, and names are given when everything is there. Memory does not grow with the archive.

import type { ImageSession } from "../../containerd/archive/image-store.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import type { ArchiveContent, ArchivedImage, ArchivePlan } from "./archive-content.ts";
import { invalidArchive } from "./archive-error.ts";
import { ArchiveReceiver } from "./archive-receiver.ts";
import { planDockerImages } from "./docker-archive.ts";
import { planOciImages, type PlanOptions } from "./oci-layout.ts";
import { TarParser } from "./tar-parser.ts";

export interface ImportOptions {
  /** This node's, as Kubernetes names it. */
  readonly architecture: string;
  /** A name for images without one, or the repository of those that have a tag only. */
  readonly baseName?: string | undefined;
  /** Called with the bytes of the archive so far, uncompressed. */
  readonly onProgress?: (bytes: number) => void;
  /** Rejects when there is no room for more. */
  readonly checkRoom?: () => Promise<void>;
}

/** Indexes, manifests and configs that are read, each as often as it is referred to. */
export const MAX_DOCUMENTS = 3000;
/** What follows the end of the archive is read so far, so that a program that writes it can end well. */
const MAX_REST = 1024 * 1024;
/** Between two looks at the room. */
const ROOM_BYTES = 64 * 1024 * 1024;

/**
 * `chunks`: the archive, uncompressed; a chunk may be overwritten as soon as the next one is asked for. Rejects with
 * AgentError `InvalidImageArchive`, or with CriError.
 */
export async function importArchive(
  chunks: AsyncIterable<Uint8Array>,
  session: ImageSession,
  options: ImportOptions,
): Promise<readonly ArchivedImage[]> {
  const content = await receive(chunks, session, options);
  const { images, references } = await planOf(content, session, options);
  for (const [digest, to] of references) await session.refer(digest, to);
  for (const { names, target } of images)
    for (const name of names) await session.name(name, target);
  return images;
}

async function receive(
  chunks: AsyncIterable<Uint8Array>,
  session: ImageSession,
  { onProgress, checkRoom }: ImportOptions,
): Promise<ArchiveContent> {
  const receiver = new ArchiveReceiver(session);
  const parser = new TarParser();
  let bytes = 0;
  let checked = 0;
  let rest = 0;
  await checkRoom?.();
  for await (const chunk of chunks) {
    if (parser.isDone) rest += chunk.length;
    if (rest > MAX_REST) break;
    for (const event of parser.push(chunk)) await receiver.take(event);
    bytes += chunk.length;
    onProgress?.(bytes);
    if (bytes - checked < ROOM_BYTES) continue;
    checked = bytes;
    await checkRoom?.();
  }
  parser.finish();
  return receiver.content;
}

async function planOf(
  content: ArchiveContent,
  session: ImageSession,
  { architecture, baseName }: ImportOptions,
): Promise<ArchivePlan> {
  let documents = 0;
  const read: PlanOptions["read"] = async (blob) => {
    documents += 1;
    if (documents > MAX_DOCUMENTS)
      throw invalidArchive(`it has more than ${MAX_DOCUMENTS} manifests and configs`);
    return session.read(blob);
  };
  const options = { content, architecture, baseName, read };
  const plan = await planOciImages(options);
  if (plan.images.length > 0) return plan;
  if (!content.documents.has("index.json") || content.documents.has("manifest.json")) {
    const store = (data: Uint8Array): Promise<string> => storeBlob(data, session);
    const docker = await planDockerImages({ ...options, store });
    if (docker.images.length > 0) return docker;
  }
  throw invalidArchive(
    "no image in it has a name: import it with agent images import --name <repository:tag>",
  );
}

async function storeBlob(data: Uint8Array, session: ImageSession): Promise<string> {
  const digest = `sha256:${sha256(data)}`;
  const writer = await session.begin({ digest, size: data.length });
  if (writer === "Present") return digest;
  await writer.write(data);
  await writer.commit();
  return digest;
}
