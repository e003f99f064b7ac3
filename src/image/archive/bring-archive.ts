// Performs: imports one archive into containerd, and waits until CRI shows its images.

import type { ArchiveEdge, ImageStore } from "../../containerd/archive/image-store.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import type { Clock } from "../../lib/clock.ts";
import { AgentError } from "../../lib/errors.ts";
import type { ArchivedImage } from "./archive-content.ts";
import { importArchive, type ImportOptions } from "./import-archive.ts";

export interface BringArchiveOptions extends Omit<ImportOptions, "checkRoom"> {
  readonly archives: ArchiveEdge;
  readonly cri: Pick<CriClient, "imageStatus">;
  readonly clock: Clock;
  /** "-" = standard input. */
  readonly path: string;
  readonly signal: AbortSignal;
}

/** The least that an import leaves free for everything else. */
const RESERVE_BYTES = 64 * 1024 * 1024;
const SEEN_MS = 10_000;
const FIRST_LOOK_MS = 5;
const MAX_LOOK_MS = 500;

/**
 * If it fails, nothing of the archive stays in containerd. Rejects with AgentError `InvalidImageArchive`,
 * `DamagedArchive`, `NoSpaceForImages` or `ImageNotSeen`, with CriError, or with the system's error of the file.
 */
export async function bringArchive(
  options: BringArchiveOptions,
): Promise<readonly ArchivedImage[]> {
  const images = await importInSession(options);
  for (const name of images.flatMap(({ names }) => names)) await untilSeen(name, options);
  return images;
}

async function importInSession(options: BringArchiveOptions): Promise<readonly ArchivedImage[]> {
  const { archives, path, signal } = options;
  const checkRoom = (): Promise<void> => requireRoom(archives.store, signal);
  await using session = await archives.store.open(signal);
  return await importArchive(archives.read(path, signal), session, { ...options, checkRoom });
}

async function requireRoom(store: ImageStore, signal: AbortSignal): Promise<void> {
  const free = await store.freeBytes(signal);
  if (free === undefined || free >= RESERVE_BYTES) return;
  const mebibytes = Math.floor(free / 1024 / 1024);
  throw new AgentError({
    reason: "NoSpaceForImages",
    message: `containerd's file system has ${mebibytes} MiB left, too little for the images of the archive: free some space`,
  });
}

/** The CRI plugin learns of an image through containerd's events, shortly after it was named. */
async function untilSeen(
  image: string,
  { cri, clock, signal }: Pick<BringArchiveOptions, "cri" | "clock" | "signal">,
): Promise<void> {
  const end = clock.monotonic() + SEEN_MS;
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(2 * wait, MAX_LOOK_MS)) {
    signal.throwIfAborted();
    if ((await cri.imageStatus({ image }, { signal })) !== undefined) return;
    if (clock.monotonic() >= end) break;
    await clock.sleep(wait, signal);
  }
  throw new AgentError({
    reason: "ImageNotSeen",
    message: `containerd has stored ${image}, but its CRI plugin does not show it after ${SEEN_MS / 1000} s; restart containerd`,
  });
}
