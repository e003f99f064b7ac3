import { describe, expect, test } from "bun:test";
import type { BlobState } from "../../../../src/cli/fsck/images/blob-check.ts";
import { imageContent } from "../../../../src/cli/fsck/images/check-image.ts";
import { sha256 } from "../../../../src/lib/system-sha256.ts";

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const INDEX = "application/vnd.oci.image.index.v1+json";
const LAYER = "application/vnd.oci.image.layer.v1.tar";

function blob(mediaType: string, content: unknown) {
  const bytes = new TextEncoder().encode(JSON.stringify(content));
  return { mediaType, digest: `sha256:${sha256(bytes)}`, size: bytes.length, bytes };
}

const config = blob("application/vnd.oci.image.config.v1+json", { os: "linux" });
const layer = blob(LAYER, "layer");
const descriptor = ({ mediaType, digest, size }: ReturnType<typeof blob>) => ({
  mediaType,
  digest,
  size,
});
const manifest = blob(MANIFEST, { config: descriptor(config), layers: [descriptor(layer)] });
const foreign = blob(MANIFEST, { config: descriptor(config), layers: [] });
const index = blob(INDEX, { manifests: [descriptor(manifest), descriptor(foreign)] });
const ALL = [config, layer, manifest, index];

/** `states` differ from whole by digest; what containerd knows is all but `unknown`. */
async function walk(
  target: ReturnType<typeof blob>,
  states: Readonly<Record<string, BlobState>> = {},
  unknown: readonly string[] = [foreign.digest],
) {
  const there = new Map(ALL.map((one) => [one.digest, one.bytes]));
  const stateOf = (digest: string): BlobState =>
    states[digest] ?? (there.has(digest) ? { type: "Whole" } : { type: "Missing" });
  const found = await imageContent(target, {
    blobs: {
      state: async ({ digest }) => stateOf(digest),
      document: async ({ digest }) => there.get(digest),
    },
    knows: async (digest) => !unknown.includes(digest),
    signal: new AbortController().signal,
  });
  return found.broken.map(({ digest, why, isUnchecked }) => [digest, why, isUnchecked]);
}

const MISSING: BlobState = { type: "Missing" };

describe("the content of an image", () => {
  test("is whole although another platform of its index was never fetched", async () => {
    expect(await walk(index)).toEqual([]);
    expect(await walk(manifest)).toEqual([]);
  });

  test("names a damaged layer, and a config that is gone", async () => {
    const states = { [layer.digest]: { type: "Damaged", why: "it is cut" } as const };
    expect(await walk(index, states)).toEqual([[layer.digest, "it is cut", false]]);
    expect(await walk(manifest, { [config.digest]: MISSING }, [config.digest])).toEqual([
      [config.digest, "it is missing", false],
    ]);
  });

  test("misses no layer that containerd has dropped, and each that it believes to have", async () => {
    const states = { [layer.digest]: MISSING };
    expect(await walk(index, states, [layer.digest, foreign.digest])).toEqual([]);
    expect(await walk(index, states)).toEqual([[layer.digest, "it is missing", false]]);
  });

  test("is nothing without its index, or without a manifest of any platform", async () => {
    expect(await walk(index, { [index.digest]: MISSING }, [index.digest])).toEqual([
      [index.digest, "it is missing", false],
    ]);
    const none = [foreign.digest, manifest.digest];
    expect(await walk(index, { [manifest.digest]: MISSING }, none)).toEqual([
      [index.digest, "of no platform that it lists is there a manifest", false],
    ]);
  });

  test("that cannot be read is not called damaged", async () => {
    const states = { [layer.digest]: { type: "Unreadable", why: "EACCES" } as const };
    expect(await walk(index, states)).toEqual([[layer.digest, "EACCES", true]]);
  });
});
