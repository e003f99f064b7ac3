import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { readManifest } from "../../../src/image/archive/archive-documents.ts";
import { exportArchive } from "../../../src/image/archive/export-archive.ts";
import { importArchive } from "../../../src/image/archive/import-archive.ts";
import { MAX_DEPTH } from "../../../src/image/archive/oci-layout.ts";
import { FakeImageStore } from "../../fakes/fake-image-store.ts";
import {
  AMD64,
  ARM64,
  blobPath,
  dockerEntries,
  file,
  json,
  layerOf,
  ociEntries,
  ociImage,
  ociIndex,
  part,
  sha256,
  topOf,
  type NamedImage,
} from "../../harness/image-archives.ts";
import { tar, type TarEntry } from "../../harness/tar.ts";

interface ImportSettings {
  readonly store?: FakeImageStore;
  readonly baseName?: string;
  readonly architecture?: string;
  readonly chunk?: number;
}

async function* chunksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let offset = 0; offset < bytes.length; offset += size)
    yield bytes.subarray(offset, offset + size);
}

async function bring(archive: Uint8Array, settings: ImportSettings = {}) {
  const { store = new FakeImageStore(), architecture = "amd64", baseName, chunk = 4096 } = settings;
  await using session = await store.open();
  return await importArchive(chunksOf(archive, chunk), session, { architecture, baseName });
}

async function refusalOf(
  entries: readonly TarEntry[] | Uint8Array,
  settings: ImportSettings = {},
): Promise<string> {
  const { store = new FakeImageStore() } = settings;
  const archive = entries instanceof Uint8Array ? entries : tar(entries);
  try {
    await bring(archive, { ...settings, store });
  } catch (error) {
    expect(leftIn(store)).toEqual([0, 0, 0, 0]);
    return String(error);
  }
  throw new Error("the archive was accepted");
}

/** Images, blobs, open sessions and unfinished writes. */
function leftIn({ images, blobs, sessions, writing }: FakeImageStore): readonly number[] {
  return [images.size, blobs.size, sessions.size, writing];
}

const LAYERS = [layerOf("lower"), layerOf("upper")];
const IMAGE = ociImage(LAYERS, AMD64);
const DOCKER = { tags: ["local/app:1"], layers: LAYERS, platform: AMD64 };

describe("a docker-archive", () => {
  test("becomes an image with all its tags, and a name by its digest", async () => {
    const store = new FakeImageStore();
    const two = {
      tags: ["two", "registry.example:5000/two:2"],
      layers: [layerOf("2")],
      platform: AMD64,
    };
    const images = await bring(tar(dockerEntries([DOCKER, two])), { store });
    expect(
      images.map(({ names, target: { digest } }) => names.map((name) => name.replace(digest, "D"))),
    ).toEqual([
      ["docker.io/local/app:1", "docker.io/local/app@D"],
      [
        "docker.io/library/two:latest",
        "registry.example:5000/two:2",
        "docker.io/library/two@D",
        "registry.example:5000/two@D",
      ],
    ]);
    expect([...store.images.keys()].toSorted()).toEqual(
      images.flatMap(({ names }) => names).toSorted(),
    );
    // Config, layers and manifest of each, and nothing else of the archive.
    expect(store.blobs.size).toBe(4 + 3);
  });

  test("may have gzip layers, links instead of layers, and unused files", async () => {
    const store = new FakeImageStore();
    const [lower, upper] = LAYERS;
    const config = json({
      ...AMD64,
      rootfs: { type: "layers", diff_ids: LAYERS.map((one) => `sha256:${sha256(one)}`) },
    });
    const entries: readonly TarEntry[] = [
      { type: "directory", path: "a", mode: 0o755 },
      file("a/VERSION", Buffer.from("1.0")),
      file("a/json", Buffer.from("{}")),
      { type: "symlink", path: "a/layer.tar", target: "../b.tar" },
      file("b.tar", lower!),
      file("c.tar.gz", gzipSync(upper!)),
      file("config", config),
      file(
        "manifest.json",
        json([{ Config: "config", RepoTags: ["x"], Layers: ["a/layer.tar", "c.tar.gz"] }]),
      ),
    ];
    const [image] = await bring(tar(entries), { store });
    const manifest = readManifest(store.blobs.get(image!.target.digest)!.data, "manifest");
    expect(manifest.layers.map(({ mediaType }) => mediaType)).toEqual([
      "application/vnd.oci.image.layer.v1.tar",
      "application/vnd.oci.image.layer.v1.tar+gzip",
    ]);
  });

  test("without tags gets the name that was asked for", async () => {
    const untagged = dockerEntries([{ ...DOCKER, tags: [] }]);
    expect(await refusalOf(untagged)).toContain("no image in it has a name");
    const [image] = await bring(tar(untagged), { baseName: "local/named:7" });
    expect(image!.names[0]).toBe("docker.io/local/named:7");
  });

  const entries = dockerEntries([DOCKER]);
  const layerPath = `${sha256(LAYERS[0]!)}/layer.tar`;
  const changed = (path: string, entry: TarEntry): readonly TarEntry[] =>
    entries.map((one) => (one.path === path ? entry : one));
  const manifestWith = (more: object): readonly TarEntry[] => {
    const { data } = entries.at(-1) as { readonly data: Uint8Array };
    const [image] = JSON.parse(Buffer.from(data).toString()) as readonly object[];
    return changed("manifest.json", file("manifest.json", json([{ ...image, ...more }])));
  };
  const refusals: Readonly<Record<string, readonly [readonly TarEntry[], string]>> = {
    "a layer with other content": [
      changed(layerPath, file(layerPath, layerOf("evil"))),
      "its config declares",
    ],
    "a missing layer": [entries.filter(({ path }) => path !== layerPath), "is missing"],
    "no manifest.json": [entries.slice(0, -1), "it is no image archive"],
    "a config with other content": [
      entries.map((one) =>
        /^[0-9a-f]+\.json$/.test(one.path)
          ? file(one.path, json({ ...AMD64, rootfs: { diff_ids: [] } }))
          : one,
      ),
      "its name declares",
    ],
    "another platform": [
      dockerEntries([{ ...DOCKER, platform: ARM64 }]),
      "is for linux/arm64/v8, this node is linux/amd64",
    ],
    "an invalid name": [dockerEntries([{ ...DOCKER, tags: ["UPPER:1"] }]), "invalid name"],
    "a path that leads out": [[...entries, file("../evil", new Uint8Array(1))], "leads out of it"],
    "a link that leads out": [
      [...entries, { type: "symlink", path: "a", target: "/etc/shadow" }],
      "leads out of it",
    ],
    "two manifests": [[...entries, file("manifest.json", json([]))], "two entries"],
    "two layers of one name": [[...entries, file(layerPath, layerOf("evil"))], "two entries"],
    "links that lead to each other": [
      [
        { type: "symlink", path: "x", target: "y" },
        { type: "symlink", path: "y", target: "x" },
        ...manifestWith({ Layers: ["x", "y"] }),
      ],
      "leads nowhere",
    ],
    "more layers than its config": [manifestWith({ Layers: [layerPath] }), "has 1 layers"],
    "a manifest that is no list": [
      changed("manifest.json", file("manifest.json", json({}))),
      "no list",
    ],
    "tags that are no text": [manifestWith({ RepoTags: [7] }), "not what a docker-archive has"],
    "a document without an end": [
      [file("manifest.json", new Uint8Array(5_000_000))],
      "more than 4194304 bytes",
    ],
  };
  test.each(Object.entries(refusals))(
    "with %s leaves nothing behind",
    async (_what, [wrong, message]) => {
      expect(await refusalOf(wrong)).toContain(message);
    },
  );
});

describe("an OCI layout", () => {
  const oci = (...images: readonly NamedImage[]): Uint8Array => tar(ociEntries(images));

  test.each([
    ["a full name", { name: "registry.example/app:1" }, undefined, "registry.example/app:1"],
    [
      "containerd's name before the tag",
      { name: "registry.example/app:1", refName: "1" },
      undefined,
      "registry.example/app:1",
    ],
    ["a name in ref.name", { refName: "local/app:2" }, undefined, "docker.io/local/app:2"],
    [
      "a tag of the repository that was asked for",
      { refName: "3" },
      "local/app",
      "docker.io/local/app:3",
    ],
    ["no name", {}, "local/app:4", "docker.io/local/app:4"],
  ])("with %s becomes an image", async (_what, names, baseName, expected) => {
    const settings = baseName === undefined ? {} : { baseName };
    const [image] = await bring(oci({ image: IMAGE, ...names }), settings);
    expect(image!.names[0]).toBe(expected);
  });

  test("keeps an index as it is, and of its platforms the blobs of this node's", async () => {
    const store = new FakeImageStore();
    const other = ociImage([layerOf("arm")], ARM64);
    const index = ociIndex([
      [other, ARM64],
      [IMAGE, AMD64],
    ]);
    const [image] = await bring(oci({ image: index, name: "local/multi:1" }), { store });
    expect(image!.target.digest).toBe(topOf(index).digest);
    expect(image!.names[1]).toBe(`docker.io/local/multi@${topOf(index).digest}`);
    expect([...store.blobs.keys()].toSorted()).toEqual(
      [...IMAGE, topOf(index)].map(({ digest }) => digest).toSorted(),
    );
  });

  const arm = (variant: string) =>
    ociImage([layerOf(variant)], { os: "linux", architecture: "arm", variant });
  test.each([
    [
      "the exact architecture",
      "arm64",
      [
        [arm("v7"), "v7"],
        [ociImage(LAYERS, ARM64), undefined],
      ],
      1,
    ],
    [
      "the newest variant that runs",
      "arm64",
      [
        [arm("v6"), "v6"],
        [arm("v7"), "v7"],
      ],
      1,
    ],
  ] as const)("chooses %s", async (_what, architecture, choices, best) => {
    const store = new FakeImageStore();
    const index = ociIndex(
      choices.map(([image, variant]) => [
        image,
        variant === undefined ? ARM64 : { os: "linux", architecture: "arm", variant },
      ]),
    );
    await bring(oci({ image: index, name: "x" }), { store, architecture });
    expect(store.blobs.has(topOf(choices[best]![0]).digest)).toBe(true);
    expect(store.blobs.has(topOf(choices[1 - best]![0]).digest)).toBe(false);
  });

  test("may list platforms of one name side by side", async () => {
    const other = ociImage([layerOf("arm")], ARM64);
    const [image] = await bring(
      oci(
        { image: other, name: "x", platform: ARM64 },
        { image: IMAGE, name: "x", platform: AMD64 },
      ),
    );
    expect(image!.target.digest).toBe(topOf(IMAGE).digest);
  });

  test("leaves attestations out", async () => {
    const attestation = ociImage([layerOf("proof")], { os: "unknown", architecture: "unknown" });
    const index = ociIndex([
      [IMAGE, AMD64],
      [attestation, { os: "unknown", architecture: "unknown" }],
    ]);
    expect(await bring(oci({ image: index, name: "x" }))).toHaveLength(1);
  });

  test("that was imported before changes nothing", async () => {
    const store = new FakeImageStore();
    const archive = oci({ image: IMAGE, name: "x" });
    const first = await bring(archive, { store });
    const blobs = store.blobs.size;
    expect(await bring(archive, { store })).toEqual([...first]);
    expect([store.images.size, store.blobs.size, store.writing]).toEqual([2, blobs, 0]);
  });

  const entries = ociEntries([{ image: IMAGE, name: "x" }]);
  const layerPath = blobPath(IMAGE[0]!.digest);
  const nested = (depth: number): ReturnType<typeof ociIndex> =>
    depth === 0 ? IMAGE : ociIndex([[nested(depth - 1), undefined]]);
  const missing = { ...topOf(IMAGE), digest: `sha256:${"0".repeat(64)}` };
  const refusals: Readonly<Record<string, readonly [readonly TarEntry[], string]>> = {
    "a blob with other content": [
      entries.map((one) => (one.path === layerPath ? file(layerPath, layerOf("evil!")) : one)),
      "its name declares",
    ],
    "a missing blob": [entries.filter(({ path }) => path !== layerPath), "is missing"],
    "a missing manifest": [
      ociEntries([{ image: [...IMAGE.slice(0, -1), missing], name: "x" }]).filter(
        ({ path }) => path !== blobPath(missing.digest),
      ),
      "is missing",
    ],
    "a blob of another size": [
      ociEntries([{ image: [...IMAGE.slice(0, -1), { ...topOf(IMAGE), size: 9 }], name: "x" }]),
      "where 9 are declared",
    ],
    "indexes without an end": [
      ociEntries([{ image: nested(MAX_DEPTH + 1), name: "x" }]),
      "too deeply",
    ],
    "other platforms only": [
      ociEntries([{ image: ociIndex([[ociImage(LAYERS, ARM64), ARM64]]), name: "x" }]),
      "is for linux/arm64/v8",
    ],
    "a platform that is not that of its config": [
      ociEntries([{ image: ociIndex([[ociImage(LAYERS, ARM64), AMD64]]), name: "x" }]),
      "this node is linux/amd64",
    ],
    "a digest that is none": [
      ociEntries([{ image: [{ ...topOf(IMAGE), digest: "sha256:../../etc" }], name: "x" }]).filter(
        ({ path }) => !path.includes("etc"),
      ),
      "no sha256 digest",
    ],
    "an image that is none": [
      ociEntries([{ image: [part(json({}), "application/octet-stream")], name: "x" }]),
      "which is no image",
    ],
    "a tag without a repository": [ociEntries([{ image: IMAGE, refName: "1" }]), "has a name"],
  };
  test.each(Object.entries(refusals))(
    "with %s leaves nothing behind",
    async (_what, [wrong, message]) => {
      expect(await refusalOf(wrong)).toContain(message);
    },
  );
});

test("an archive that is cut anywhere, or arrives in any chunks, is refused or whole", async () => {
  const archives = [
    tar(dockerEntries([DOCKER])),
    tar(
      ociEntries([
        {
          image: ociIndex([
            [IMAGE, AMD64],
            [ociImage([layerOf("arm")], ARM64), ARM64],
          ]),
          name: "x",
        },
      ]),
    ),
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...archives),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: 1, max: 5000 }),
      async (archive, share, chunk) => {
        const store = new FakeImageStore();
        const whole = new FakeImageStore();
        await bring(archive, { store: whole });
        const length = Math.floor(share * archive.length);
        const outcome = await bring(archive.subarray(0, length), { store, chunk }).catch(String);
        if (typeof outcome === "string") expect(leftIn(store)).toEqual([0, 0, 0, 0]);
        else expect([...store.blobs.keys()].toSorted()).toEqual([...whole.blobs.keys()].toSorted());
      },
    ),
    { numRuns: 60 },
  );
});

test("a failure of containerd at any call leaves nothing behind", async () => {
  const archive = tar(ociEntries([{ image: IMAGE, name: "x" }]));
  for (const call of ["begin", "write", "commit", "read", "refer", "name"]) {
    const store = new FakeImageStore();
    store.fault = (one) => {
      if (one === call) throw new Error("no space left on device");
    };
    expect(await bring(archive, { store }).catch(String)).toContain("no space left");
    expect(leftIn(store)).toEqual([0, 0, 0, 0]);
  }
});

describe("an exported archive", () => {
  async function exported(store: FakeImageStore, ...names: readonly string[]): Promise<Uint8Array> {
    const { signal } = new AbortController();
    const options = { store, names, architecture: "amd64", signal };
    const parts: Uint8Array[] = [];
    for await (const chunk of exportArchive(options)) parts.push(new Uint8Array(chunk));
    return Buffer.concat(parts);
  }

  test("brings the same images and nothing else", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.stringMatching(/^[a-z]{1,9}$/), { minLength: 1, maxLength: 4 }),
        fc.array(fc.string({ maxLength: 2000 }), { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 9000 }),
        async (names, texts, isIndex, chunk) => {
          const store = new FakeImageStore();
          for (const name of names) {
            const own = ociImage([...texts, name].map(layerOf), AMD64);
            const other = ociImage([layerOf("arm")], ARM64);
            const image = isIndex
              ? ociIndex([
                  [other, ARM64],
                  [own, AMD64],
                ])
              : own;
            await bring(tar(ociEntries([{ image, name: `local/${name}:1` }])), { store });
          }
          const archive = await exported(store, ...names.map((name) => `local/${name}:1`));
          const copy = new FakeImageStore();
          await bring(archive, { store: copy, chunk });
          expect(copy.images).toEqual(store.images);
          expect([...copy.blobs.keys()].toSorted()).toEqual([...store.blobs.keys()].toSorted());
        },
      ),
      { numRuns: 30 },
    );
  });

  test("is a docker-archive too", async () => {
    const store = new FakeImageStore();
    await bring(tar(ociEntries([{ image: IMAGE, name: "local/app:1" }])), { store });
    const archive = await exported(store, "local/app:1");
    // Without the index, as older programs read it.
    const docker = Buffer.from(archive);
    docker.write("unused.txt", docker.indexOf("index.json"));
    const header = docker.subarray(
      docker.indexOf("unused.txt"),
      docker.indexOf("unused.txt") + 512,
    );
    header.write(" ".repeat(8), 148);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    const [image] = await bring(docker);
    expect(image!.names[0]).toBe("docker.io/local/app:1");
  });

  test("of an image that is not there, or that containerd has in part, is refused", async () => {
    const store = new FakeImageStore();
    await bring(tar(ociEntries([{ image: IMAGE, name: "local/app:1" }])), { store });
    expect(await exported(store, "local/none:1").catch(String)).toContain("is not on this node");
    store.blobs.delete(IMAGE[0]!.digest);
    expect(await exported(store, "local/app:1").catch(String)).toContain("no content");
  });
});
