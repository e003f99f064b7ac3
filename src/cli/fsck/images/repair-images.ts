// Performs: removes images with broken content, so that they are pulled or imported again. Containers run on from their
// unpacked snapshots, which containerd keeps as long as a container has them.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AgentConfig } from "../../../config/config.ts";
import { grpcCriClient } from "../../../cri/cri-client.ts";
import { sandboxImageName } from "../../../containerd/containerd.ts";
import { fullName, type NodeImage } from "../../../image/gc/image-keys.ts";
import type { Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { StoredImages } from "../../../store/check/stored-images.ts";
import type { FsckFinding } from "../fsck-report.ts";
import type { BrokenContent } from "./check-images.ts";
import { shownName } from "./needed-images.ts";

export interface ImageRepair {
  readonly config: Pick<
    AgentConfig,
    "containerRuntimeEndpoint" | "imageServiceEndpoint" | "imageArchivePath"
  >;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly stored: StoredImages;
  /** Also images that the agent itself could not bring again. */
  readonly isForced: boolean;
  /** Imports an archive. Rejects when it cannot. */
  readonly importArchive: (path: string) => Promise<unknown>;
  /** Has the running agent pull an image; undefined = none runs. Rejects when it cannot. */
  readonly pull: ((name: string) => Promise<unknown>) | undefined;
  readonly onProgress: (text: string) => void;
}

const CALL_MS = 300_000;

/** How an image would come again without a person; undefined = it would not. */
type Origin =
  | { readonly type: "Archive"; readonly path: string }
  | { readonly type: "Pull" }
  | { readonly type: "Own" };

/** What tells it, with the name of the sandbox image if that is known. */
export interface Origins {
  readonly stored: StoredImages;
  readonly imageArchivePath: string;
  readonly sandbox: string | undefined;
}

function originOf(
  image: NodeImage,
  { stored, imageArchivePath, sandbox }: Origins,
): Origin | undefined {
  const file = image.tags.map((tag) => stored.archives.get(tag)).find((one) => one !== undefined);
  const path = file === undefined ? undefined : join(imageArchivePath, file);
  if (path !== undefined && existsSync(path)) return { type: "Archive", path };
  // The agent has a pause image in itself.
  if (sandbox !== undefined && image.tags.includes(fullName(sandbox))) return { type: "Own" };
  return stored.origins.get(image.id) === "Pulled" ? { type: "Pull" } : undefined;
}

/** How broken content would be mended: only what comes again by itself is removed. */
export function remedyFor(
  images: readonly NodeImage[],
  origins: Origins,
): { readonly isSafe: boolean; readonly remedy: string } {
  const alone = images.filter((image) => originOf(image, origins) === undefined).map(shownName);
  if (alone.length === 0)
    return {
      isSafe: true,
      remedy:
        "agent fsck --repair removes these images, and they are pulled or imported again; containers run on",
    };
  return {
    isSafe: false,
    remedy: `the agent cannot bring ${alone.join(", ")} again by itself: agent fsck --repair --force removes the images, then bring them (agent images import FILE, agent images pull NAME); containers run on`,
  };
}

export function brokenFinding(
  { path, why, images, users }: BrokenContent,
  remedy: string,
): FsckFinding {
  const part = "image";
  const outcome = "Found";
  return {
    part,
    file: path,
    what: why,
    remedy,
    outcome,
    images: images.map(shownName),
    pods: users,
  };
}

/** The findings of all broken content, mended or not. */
export async function repairImages(
  broken: readonly BrokenContent[],
  options: ImageRepair,
): Promise<readonly FsckFinding[]> {
  const { config, clock, signal, stored, isForced, onProgress } = options;
  const { containerRuntimeEndpoint: endpoint, imageServiceEndpoint: imageEndpoint } = config;
  using cri = grpcCriClient({ endpoint, imageEndpoint, clock });
  const call = { signal, timeoutMs: CALL_MS };
  const sandbox = sandboxImageName((await cri.status({ verbose: true, ...call })).info);
  const origins = { stored, imageArchivePath: config.imageArchivePath, sandbox };
  const findings: FsckFinding[] = [];
  const removed = new Map<string, NodeImage>();
  const gone: BrokenContent[] = [];
  for (const one of broken) {
    const { isSafe, remedy } = remedyFor(one.images, origins);
    const finding = brokenFinding(one, remedy);
    if (!isSafe && !isForced) {
      findings.push(finding);
      continue;
    }
    try {
      for (const image of one.images) {
        if (removed.has(image.id)) continue;
        onProgress(`removing ${shownName(image)}`);
        // The runtime waits until its content is collected.
        await cri.removeImage({ image: image.id }, call);
        removed.set(image.id, image);
      }
      if (!existsSync(one.path)) gone.push(one);
      else findings.push({ ...finding, remedy: stillThere(one) });
    } catch (error) {
      signal.throwIfAborted();
      findings.push({ ...finding, remedy: `the image cannot be removed: ${messageOf(error)}` });
    }
  }
  const brought = await bringAgain([...removed.values()], { ...options, origins });
  for (const one of gone) findings.push({ ...brokenFinding(one, brought), outcome: "Repaired" });
  return findings;
}

const LATER = "the agent brings it when a container is started with it";

/** What is said of the images afterwards. */
async function bringAgain(
  images: readonly NodeImage[],
  { origins, importArchive, pull, onProgress, signal }: ImageRepair & { readonly origins: Origins },
): Promise<string> {
  const archives = new Set<string>();
  const later: string[] = [];
  for (const image of images) {
    const name = shownName(image);
    const origin = originOf(image, origins);
    onProgress(`bringing ${name} again`);
    try {
      if (origin?.type === "Archive") {
        if (!archives.has(origin.path)) await importArchive(origin.path);
        archives.add(origin.path);
      } else if (origin?.type === "Pull" && pull !== undefined) await pull(name);
      else later.push(`${name}: ${origin === undefined ? "bring it yourself" : LATER}`);
    } catch (error) {
      signal.throwIfAborted();
      later.push(`${name}: ${LATER} (${messageOf(error)})`);
    }
  }
  return later.length === 0
    ? "the images were removed and brought again"
    : `the images were removed; ${later.join("; ")}`;
}

function stillThere({ digest }: BrokenContent): string {
  return `the images were removed, but something else in containerd keeps the content: find it with ctr namespaces list and ctr -n NAMESPACE content rm ${digest}`;
}
