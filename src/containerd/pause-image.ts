// Performs: imports the embedded pause image when it is absent: an offline node cannot pull it.

import type { CriClient } from "../cri/cri-client.ts";
import type { GrpcChannel } from "../cri/grpc-connection.ts";
import type { Architecture } from "../host/machine.ts";
import type { Clock } from "../lib/clock.ts";
import { AgentError, messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { jitter, type Random } from "../lib/random.ts";
import { importImage, type ImportImageArgs } from "./image-import.ts";
import { PAUSE_ARM64_BASE64, PAUSE_X64_BASE64 } from "./pause/gen/pause-binaries.ts";
import { tarOfExecutable } from "./oci-image.ts";
import { normalizedImageName, sandboxImageName } from "./containerd.ts";

type PauseImageOutcome =
  | { readonly type: "Present"; readonly image: string }
  | { readonly type: "Imported"; readonly image: string }
  /** The runtime does not report its sandbox image: nothing was done. */
  | { readonly type: "NameUnknown" };

interface EnsurePauseImageOptions {
  readonly cri: Pick<CriClient, "status" | "imageStatus">;
  /** To the same containerd. */
  readonly channel: GrpcChannel;
  readonly clock: Clock;
  readonly architecture: Architecture;
  readonly signal?: AbortSignal;
}

interface ImageLook {
  readonly cri: Pick<CriClient, "imageStatus">;
}

interface BringPauseImageOptions extends EnsurePauseImageOptions {
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const SEEN_MS = 10_000;
const FIRST_LOOK_MS = 5;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 60_000;

/** Retries until the image exists: no pod can run without it. Logs the outcome, never rejects. */
export async function bringPauseImage(options: BringPauseImageOptions): Promise<void> {
  const { clock, random, log, signal } = options;
  for (let wait = FIRST_RETRY_MS; !signal.aborted; wait = Math.min(2 * wait, MAX_RETRY_MS)) {
    try {
      const outcome = await ensurePauseImage(options);
      if (outcome.type === "Imported") log.info("imported the pause image", { ...outcome });
      return;
    } catch (error) {
      // A full disk, or another agent that imports it at the same time.
      if (!signal.aborted) log.error("cannot import the pause image", { error: messageOf(error) });
    }
    await clock.sleep(jitter(random, wait, 0.5), signal);
  }
}

/** Never replaces an existing image. Throws CriError, or AgentError `PauseImageNotSeen`. */
export async function ensurePauseImage(
  options: EnsurePauseImageOptions,
): Promise<PauseImageOutcome> {
  const { cri, signal } = options;
  const { info } = await cri.status({ verbose: true, signal });
  const image = sandboxImageName(info);
  if (image === undefined) return { type: "NameUnknown" };
  if ((await cri.imageStatus({ image }, { signal })) !== undefined)
    return { type: "Present", image };
  await importPauseImage(image, options);
  return { type: "Imported", image };
}

/** Also over an existing image. Throws CriError, or AgentError `PauseImageNotSeen`. */
export async function importPauseImage(
  image: string,
  options: Omit<EnsurePauseImageOptions, "cri"> & ImageLook,
): Promise<void> {
  const { channel, architecture, signal } = options;
  const name = normalizedImageName(image);
  await importImage({ name, ...pauseImage(architecture) }, channel, signal);
  await untilSeen(image, options);
}

/** The embedded program as layers and config of an image. */
function pauseImage(architecture: Architecture): Omit<ImportImageArgs, "name"> {
  const config = {
    architecture,
    os: "linux",
    config: { Entrypoint: ["/pause"], Env: [], WorkingDir: "/" },
  };
  return { layers: [tarOfExecutable("pause", pauseProgram(architecture))], config, pinned: true };
}

/** The static ELF program. */
export function pauseProgram(architecture: Architecture): Uint8Array {
  return Uint8Array.fromBase64(architecture === "amd64" ? PAUSE_X64_BASE64 : PAUSE_ARM64_BASE64);
}

// The CRI plugin learns of an image through containerd's events, shortly after it was stored.
async function untilSeen(
  image: string,
  options: Pick<EnsurePauseImageOptions, "clock" | "signal"> & ImageLook,
): Promise<void> {
  const { cri, clock, signal } = options;
  const end = clock.monotonic() + SEEN_MS;
  for (let wait = FIRST_LOOK_MS; clock.monotonic() <= end; wait *= 2) {
    if ((await cri.imageStatus({ image }, { signal })) !== undefined) return;
    await clock.sleep(wait, signal);
  }
  throw new AgentError({
    reason: "PauseImageNotSeen",
    message: `containerd has stored ${image}, but its CRI plugin does not show it after ${SEEN_MS / 1000} s; restart containerd`,
  });
}
