// Performs: follows one image from its index or manifest to its config and layers, and collects which blobs are broken.

import {
  isIndex,
  isManifest,
  readIndex,
  readManifest,
} from "../../../image/archive/archive-documents.ts";
import type { TargetDescriptor } from "../../../containerd/archive/image-store.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { BlobCheck } from "./blob-check.ts";

export interface BrokenBlob {
  readonly digest: string;
  readonly why: string;
  /** It could not be read for another reason than damage. */
  readonly isUnchecked: boolean;
}

export interface ImageCheck {
  readonly blobs: Pick<BlobCheck, "state" | "document">;
  /** Whether containerd counts a blob as present. */
  readonly knows: (digest: string) => Promise<boolean>;
  readonly signal: AbortSignal;
}

/** Indexes below an index; a hostile image ends here. */
const DEPTH = 4;

/** One blob on the way. */
interface Step extends TargetDescriptor {
  readonly depth: number;
  /** `Choice`: of a platform of an index, mostly not fetched; `Layer`: may have been dropped after it was unpacked. */
  readonly role: "Root" | "Choice" | "Config" | "Layer";
}

export interface ImageContent {
  readonly broken: readonly BrokenBlob[];
  /** Of all its blobs that are known. */
  readonly digests: ReadonlySet<string>;
}

export async function imageContent(
  target: TargetDescriptor,
  check: ImageCheck,
): Promise<ImageContent> {
  const broken: BrokenBlob[] = [];
  const steps: Step[] = [{ ...target, depth: 0, role: "Root" }];
  let manifests = 0;
  for (let at = 0; at < steps.length; at += 1) {
    const step = steps[at];
    if (step === undefined) break;
    const seen = await look(step, check);
    if (seen.broken !== undefined) broken.push(seen.broken);
    steps.push(...seen.below);
    if (seen.isManifest) manifests += 1;
  }
  if (broken.length === 0 && manifests === 0)
    broken.push({
      digest: target.digest,
      why: "of no platform that it lists is there a manifest",
      isUnchecked: !isIndex(target),
    });
  return { broken, digests: new Set(steps.map(({ digest }) => digest)) };
}

interface Seen {
  readonly broken?: BrokenBlob;
  readonly below: readonly Step[];
  readonly isManifest: boolean;
}

async function look(step: Step, { blobs, knows, signal }: ImageCheck): Promise<Seen> {
  const { digest, role, depth } = step;
  const state = await blobs.state(step, signal);
  switch (state.type) {
    case "Missing": {
      const isOnly = role === "Root" || (role === "Config" && depth === 1);
      return isOnly || (await knows(digest)) ? damaged(digest, "it is missing") : NOTHING;
    }
    case "Damaged":
      return damaged(digest, state.why);
    case "Unreadable":
      return unchecked(digest, state.why);
    case "Whole":
      break;
  }
  if (!isIndex(step) && !isManifest(step)) return NOTHING;
  const bytes = await blobs.document(step, signal);
  if (bytes === undefined) return damaged(digest, "its content does not have its digest");
  try {
    return { below: depth < DEPTH ? below(step, bytes) : [], isManifest: isManifest(step) };
  } catch (error) {
    // Its digest is right: it was pulled so.
    return unchecked(digest, messageOf(error));
  }
}

const NOTHING: Seen = { below: [], isManifest: false };

function damaged(digest: string, why: string): Seen {
  return { ...NOTHING, broken: { digest, why, isUnchecked: false } };
}

function unchecked(digest: string, why: string): Seen {
  return { ...NOTHING, broken: { digest, why, isUnchecked: true } };
}

function below(step: Step, bytes: Uint8Array): readonly Step[] {
  const depth = step.depth + 1;
  if (isIndex(step))
    return readIndex(bytes, step.digest).map((one) => ({ ...one, depth, role: "Choice" as const }));
  const { config, layers } = readManifest(bytes, step.digest);
  return [
    { ...config, depth, role: "Config" },
    ...layers.map((layer) => ({ ...layer, depth, role: "Layer" as const })),
  ];
}
