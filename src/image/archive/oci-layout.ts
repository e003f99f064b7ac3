// Performs: finds the images of an OCI layout, of all platforms those that this node runs.

import type { ArchiveContent, ArchivedImage, ArchivePlan } from "./archive-content.ts";
import { blobOf } from "./archive-content.ts";
import {
  isIndex,
  isManifest,
  MAX_DOCUMENT,
  readConfig,
  readIndex,
  readManifest,
  type Descriptor,
} from "./archive-documents.ts";
import { invalidArchive } from "./archive-error.ts";
import { fullNames, nameByDigest } from "./image-names.ts";
import { platformRank, platformText, type ImagePlatform } from "./image-platform.ts";

export interface PlanOptions {
  readonly content: ArchiveContent;
  /** This node's, as Kubernetes names it. */
  readonly architecture: string;
  readonly baseName?: string | undefined;
  /** Of a blob of the archive. */
  readonly read: (blob: { readonly digest: string; readonly size: number }) => Promise<Uint8Array>;
}

/** An index may contain indexes, this deep. */
export const MAX_DEPTH = 4;

/** One that this node runs. */
interface Found {
  /** The blobs that each blob keeps. */
  readonly references: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

/** No images = none has a name. Rejects with AgentError `InvalidImageArchive`. */
export async function planOciImages(options: PlanOptions): Promise<ArchivePlan> {
  const index = options.content.documents.get("index.json");
  if (index === undefined) return { images: [], references: new Map() };
  const items = readIndex(index, "index.json");
  const images: ArchivedImage[] = [];
  const references = new Map<string, Readonly<Record<string, string>>>();
  for (const [, group] of byName(items, options.baseName)) {
    const { item, found } = await bestOf(group.items, options, 0);
    const { mediaType, digest, size } = item;
    const digests = group.names.map((name) => nameByDigest(name, digest));
    const names = [...new Set([...group.names, ...digests])];
    images.push({ names, target: { mediaType, digest, size } });
    for (const [from, to] of found.references)
      references.set(from, { ...references.get(from), ...to });
  }
  return { images, references };
}

interface Named {
  readonly names: readonly string[];
  readonly items: Descriptor[];
}

/** Items without a name belong to the named ones, as attestations do; `baseName` is for an archive without any name. */
function byName(
  items: readonly Descriptor[],
  baseName: string | undefined,
): ReadonlyMap<string, Named> {
  const groups = new Map<string, Named>();
  const isNamed = items.some(({ names }) => names.length > 0);
  for (const item of items) {
    if (isNamed && item.names.length === 0) continue;
    const names = fullNames(item.names, baseName);
    if (names.length === 0) continue;
    const key = names.join();
    const group = groups.get(key) ?? { names, items: [] };
    group.items.push(item);
    groups.set(key, group);
  }
  return groups;
}

/** The first that runs here, in the order in which containerd chooses among them at each start. */
async function bestOf(
  items: readonly Descriptor[],
  options: PlanOptions,
  depth: number,
): Promise<Best> {
  const other = items.flatMap(({ platform }) => platform ?? []);
  for (const item of inOrder(items, options.architecture)) {
    const found = await resolve(item, options, depth);
    if (!("platform" in found)) return { item, found };
    other.push(found.platform);
  }
  throw wrongPlatform(other, options.architecture);
}

interface Best {
  readonly item: Descriptor;
  readonly found: Found;
}

/** Those that do not run here are left out; those without a platform come last. */
function inOrder(items: readonly Descriptor[], architecture: string): readonly Descriptor[] {
  return items
    .map((item) => ({ item, rank: declaredRank(item, architecture) }))
    .filter((one) => one.rank !== undefined)
    .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0))
    .map(({ item }) => item);
}

function declaredRank({ platform }: Descriptor, architecture: string): number | undefined {
  return platform === undefined ? Infinity : platformRank(platform, architecture);
}

/** A platform = it is for that one, and does not run here. */
async function resolve(
  item: Descriptor,
  options: PlanOptions,
  depth: number,
): Promise<Found | { readonly platform: ImagePlatform }> {
  if (isIndex(item)) {
    if (depth >= MAX_DEPTH) throw invalidArchive("its indexes contain each other too deeply");
    const bytes = await readDocument(item, options);
    const best = await bestOf(readIndex(bytes, `index ${item.digest}`), options, depth + 1);
    const references = new Map(best.found.references);
    references.set(item.digest, { "m.0": best.item.digest });
    return { references };
  }
  if (!isManifest(item))
    throw invalidArchive(`${item.digest} has the type ${item.mediaType}, which is no image`);
  const what = `manifest ${item.digest}`;
  const { config, layers } = readManifest(await readDocument(item, options), what);
  const read = readConfig(await readDocument(config, options), `config ${config.digest}`);
  if (platformRank(read.platform, options.architecture) === undefined)
    return { platform: read.platform };
  for (const layer of layers) blobOf(options.content, layer);
  if (read.diffIds.length !== layers.length)
    throw invalidArchive(`${what} has ${layers.length} layers, its config ${read.diffIds.length}`);
  return { references: new Map([[item.digest, keeping(config, layers)]]) };
}

/** What the garbage collector of containerd follows. */
export function keeping(
  config: { readonly digest: string },
  layers: readonly { readonly digest: string }[],
): Readonly<Record<string, string>> {
  const kept = layers.map(({ digest }, index): [string, string] => [`l.${index}`, digest]);
  return { config: config.digest, ...Object.fromEntries(kept) };
}

export function wrongPlatform(
  found: readonly ImagePlatform[],
  architecture: string,
): ReturnType<typeof invalidArchive> {
  const platforms = [...new Set(found.map(platformText))].slice(0, 10).join(", ");
  return invalidArchive(
    `an image in it is for ${platforms === "" ? "no platform" : platforms}, this node is linux/${architecture}: save it for this platform`,
  );
}

async function readDocument(item: Descriptor, { content, read }: PlanOptions): Promise<Uint8Array> {
  if (item.size > MAX_DOCUMENT)
    throw invalidArchive(`the document ${item.digest} has more than ${MAX_DOCUMENT} bytes`);
  return read(blobOf(content, item));
}
