// What the local API may ask of the images of the node. Types only.

import type { CollectedImages, ListedImage, RemoveOutcome } from "./image-collector.ts";
import type { NodeImage } from "./image-keys.ts";

export interface ImageOrders {
  /** Every image, by one call of the runtime. Rejects with CriError. */
  images(signal: AbortSignal): Promise<readonly NodeImage[]>;
  /** With what keeps each. Rejects with CriError. */
  list(signal: AbortSignal): Promise<readonly ListedImage[]>;
  /** Rejects with AgentError. */
  pull(image: string, signal: AbortSignal): Promise<{ readonly ref: string }>;
  /** Of a pull that runs now, such as `1.0 MiB of 4.0 MiB (25 %)`; undefined = unknown. */
  progress(image: string): string | undefined;
  /** Rejects with CriError. */
  remove(
    reference: string,
    options: { readonly isForced: boolean; readonly signal: AbortSignal },
  ): Promise<RemoveOutcome>;
  /** False: nothing may be removed yet. */
  isSettled(): boolean;
  unused(signal: AbortSignal): Promise<readonly NodeImage[]>;
  prune(signal: AbortSignal): Promise<CollectedImages>;
}
