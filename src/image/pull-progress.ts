// How far the pulls are that run now, and when one of them has stalled.

import type { PulledBytes } from "../containerd/pulled-bytes.ts";
import type { Monotonic } from "../lib/clock.ts";
import { normalizedName, parseImageReference } from "./image-reference.ts";

export interface ImageBytes {
  readonly done: number;
  readonly total: number;
}

/** Without a byte for so long, a pull ends and is tried again. kubelet: imagePullProgressTimeout is containerd's own. */
export const STALL_MS = 600_000;
/** All bytes are here: writing the layers out takes long on a slow card, and is not measured. */
export const UNPACK_MS = 3_600_000;
/** Of a pull of which the runtime reports nothing. */
export const UNMEASURED_MS = 86_400_000;

export interface PullState {
  readonly mark: string;
  /** When `mark` has changed last. */
  readonly since: Monotonic;
  readonly bytes: ImageBytes | undefined;
}

export function nextPullState(
  before: PullState,
  { mark, bytes }: PulledBytes,
  now: Monotonic,
): PullState {
  return { mark, bytes, since: mark === before.mark ? before.since : now };
}

/** What is wrong with the pull; undefined = nothing. */
export function stallOf({ since, bytes }: PullState, now: Monotonic): string | undefined {
  const isComplete = bytes !== undefined && bytes.done >= bytes.total;
  if (isComplete && now - since >= UNPACK_MS)
    return `all bytes have arrived, but the image is not there after ${UNPACK_MS / 60_000} minutes`;
  if (isComplete || now - since < STALL_MS) return undefined;
  const sofar = bytes === undefined ? "" : ` after ${bytesText(bytes)}`;
  return `no byte has arrived for ${STALL_MS / 60_000} minutes${sofar}; the registry or the line has stalled`;
}

/** `12.3 MiB of 45.6 MiB (26 %)`. */
export function bytesText({ done, total }: ImageBytes): string {
  const percent = total === 0 ? 0 : Math.floor((100 * done) / total);
  return `${mebibytes(done)} of ${mebibytes(total)} (${percent} %)`;
}

/** Of the sizes of images in metrics. kubelet: imageSizeBuckets */
const SIZES: readonly (readonly [from: bigint, label: string])[] = [
  [100n << 30n, "GT100GB"],
  [60n << 30n, "60GB-100GB"],
  [40n << 30n, "40GB-60GB"],
  [30n << 30n, "30GB-40GB"],
  [20n << 30n, "20GB-30GB"],
  [10n << 30n, "10GB-20GB"],
  [5n << 30n, "5GB-10GB"],
  [1n << 30n, "1GB-5GB"],
  [500n << 20n, "500MB-1GB"],
  [100n << 20n, "100MB-500MB"],
  [10n << 20n, "10MB-100MB"],
  [1n, "0-10MB"],
];

/** `bytes` undefined = unknown to the runtime. */
export function imageSizeLabel(bytes: bigint | undefined): string {
  return SIZES.find(([from]) => (bytes ?? 0n) >= from)?.[1] ?? "N/A";
}

/** `12.3 MiB` */
export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** In tenths of the whole: what is sent over a network changes no more often. */
export function inTenths({ done, total }: ImageBytes): ImageBytes {
  return { done: Math.floor((done / Math.max(1, total)) * 10) * (total / 10), total };
}

/** The pulls that run now, by the full name of the image. */
export class PullBoard {
  readonly #byImage = new Map<string, ImageBytes>();
  readonly #onStep: () => void;

  /** `onStep`: a pull has come a tenth further, or has ended. */
  constructor(onStep: () => void) {
    this.#onStep = onStep;
  }

  set(key: string, bytes: ImageBytes): void {
    const before = this.#byImage.get(key);
    this.#byImage.set(key, bytes);
    if (before === undefined || inTenths(before).done !== inTenths(bytes).done) this.#onStep();
  }

  delete(key: string): void {
    if (this.#byImage.delete(key)) this.#onStep();
  }

  /** `of` as text. */
  readonly textOf = (image: string): string | undefined => {
    const bytes = this.of(image);
    return bytes === undefined ? undefined : bytesText(bytes);
  };

  /** Of the image as a pod names it; undefined = it is not pulled now, or not known how far. */
  of(image: string): ImageBytes | undefined {
    if (this.#byImage.size === 0) return undefined;
    try {
      return this.#byImage.get(normalizedName(parseImageReference(image)));
    } catch {
      // An invalid name is never pulled.
      return undefined;
    }
  }
}
