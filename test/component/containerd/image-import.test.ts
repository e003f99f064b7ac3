import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { importImage } from "../../../src/containerd/image-import.ts";
import {
  bringPauseImage,
  ensurePauseImage,
  pauseProgram,
} from "../../../src/containerd/pause-image.ts";
import { tarOfExecutable } from "../../../src/containerd/oci-image.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { Random } from "../../../src/lib/random.ts";
import { until } from "../../fakes/fake-cri-clock.ts";
import { FakeContainerdState, type StoredBlob } from "../../fakes/fake-cri-containerd.ts";
import { rejectionOf, serveRuntime } from "../cri/served-runtime.ts";
import { normalizedImageName, sandboxImageName } from "../../../src/containerd/containerd.ts";

const PAUSE = "registry.k8s.io/pause:3.6";
const CONFIG = { architecture: "amd64", os: "linux", config: { Entrypoint: ["/x"] } };

interface Described {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

function json(blob: StoredBlob | undefined): unknown {
  return JSON.parse(new TextDecoder().decode(blob!.data));
}

function manifestOf(
  state: FakeContainerdState,
  name: string,
): { readonly config: Described; readonly layers: readonly Described[] } {
  const digest = state.images.get(name)!.target!.digest;
  return json(state.blobs.get(digest)) as ReturnType<typeof manifestOf>;
}

test("stores layers, config and manifest, and labels what the garbage collector must keep", async () => {
  const state = new FakeContainerdState();
  using served = await serveRuntime({}, { containerd: state });
  const layers = [tarOfExecutable("x", new Uint8Array([1, 2, 3])), new Uint8Array(2_500_000)];
  const digest = await importImage({ name: "local/x:1", layers, config: CONFIG }, served.channel);

  const image = state.images.get("local/x:1")!;
  expect(image.target?.digest).toBe(digest);
  expect(image.labels).toEqual({ "io.cri-containerd.image": "managed" });
  const { config, layers: described } = manifestOf(state, "local/x:1");
  expect(described.map(({ size }) => size)).toEqual(layers.map(({ length }) => length));
  for (const [index, { digest: layer }] of described.entries())
    expect(Buffer.compare(state.blobs.get(layer)!.data, layers[index]!)).toBe(0);
  expect(json(state.blobs.get(config.digest))).toEqual({
    ...CONFIG,
    rootfs: { type: "layers", diff_ids: described.map(({ digest: layer }) => layer) },
  });
  expect(state.blobs.get(digest)!.labels).toEqual({
    "containerd.io/gc.ref.content.config": config.digest,
    "containerd.io/gc.ref.content.l.0": described[0]!.digest,
    "containerd.io/gc.ref.content.l.1": described[1]!.digest,
  });
  expect(state.leases.size).toBe(0);
});

test("a second import changes nothing, another image under the name replaces it", async () => {
  const state = new FakeContainerdState();
  using served = await serveRuntime({}, { containerd: state });
  const args = { name: "local/x:1", layers: [tarOfExecutable("x", new Uint8Array(1))] };
  const first = await importImage({ ...args, config: CONFIG }, served.channel);
  // As a crash between manifest and name, or an older agent, may leave it.
  state.blobs.get(first)!.labels = {};
  state.images.clear();
  state.leases.add(`agent-import-${first}`);
  expect(await importImage({ ...args, config: CONFIG }, served.channel)).toBe(first);
  expect(Object.keys(state.blobs.get(first)!.labels)).toHaveLength(2);
  expect(state.blobs.size).toBe(3);

  const second = await importImage(
    { ...args, config: { ...CONFIG, author: "me" } },
    served.channel,
  );
  expect(second).not.toBe(first);
  expect(state.images.get("local/x:1")?.target?.digest).toBe(second);
  expect(state.leases.size).toBe(0);
});

test("a failed import gives its lease back and leaves no name behind", async () => {
  const state = new FakeContainerdState();
  using served = await serveRuntime({}, { containerd: state });
  state.blobs.set = () => {
    throw new Error("no space left on device");
  };
  const args = { name: "local/x:1", layers: [new Uint8Array(1)], config: CONFIG };
  expect(await rejectionOf(importImage(args, served.channel))).toMatchObject({ call: "Write" });
  expect([state.images.size, state.leases.size]).toEqual([0, 0]);
});

describe("ensurePauseImage", () => {
  test.each(["amd64", "arm64"] as const)(
    "imports the %s program where it is absent",
    async (arch) => {
      const state = new FakeContainerdState();
      const sandboxImage = { name: PAUSE, present: false };
      using served = await serveRuntime({ sandboxImage }, { containerd: state });
      const { client: cri, channel, clock } = served;
      const options = { cri, channel, clock, architecture: arch };
      expect(await ensurePauseImage(options)).toEqual({ type: "Imported", image: PAUSE });
      const { config, layers } = manifestOf(state, PAUSE);
      expect(json(state.blobs.get(config.digest))).toMatchObject({
        architecture: arch,
        os: "linux",
        config: { Entrypoint: ["/pause"] },
      });
      const layer = state.blobs.get(layers[0]!.digest)!.data;
      expect(Buffer.from(layer).includes(pauseProgram(arch))).toBe(true);
      expect(state.images.get(PAUSE)?.labels).toHaveProperty(
        ["io.cri-containerd.pinned"],
        "pinned",
      );
      expect(await ensurePauseImage(options)).toEqual({ type: "Present", image: PAUSE });
    },
  );

  test("never replaces an image that is there", async () => {
    const state = new FakeContainerdState();
    using served = await serveRuntime({}, { containerd: state });
    const { client: cri, channel, clock } = served;
    expect(await ensurePauseImage({ cri, channel, clock, architecture: "amd64" })).toEqual({
      type: "Present",
      image: PAUSE,
    });
    expect(state.blobs.size).toBe(0);
  });

  test("waits until the CRI plugin has seen it, and says so when it never does", async () => {
    const state = new FakeContainerdState();
    const sandboxImage = { name: PAUSE, present: false };
    using served = await serveRuntime({ sandboxImage }, { containerd: state });
    const { client: cri, channel, clock, runtime } = served;
    runtime.addImage = () => undefined;
    const outcome = rejectionOf(ensurePauseImage({ cri, channel, clock, architecture: "amd64" }));
    let settled = false;
    void outcome.finally(() => (settled = true));
    const looks: number[] = [];
    for (;;) {
      // Deadlines of calls lie further ahead than the waits between two looks.
      await until(() => settled || clock.nextIn < 30_000);
      if (settled) break;
      looks.push(clock.nextIn);
      clock.advance(clock.nextIn);
    }
    expect(looks).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120]);
    expect(await outcome).toMatchObject({ reason: "PauseImageNotSeen" });
  });

  test("does nothing while the name of the image is unknown", async () => {
    const state = new FakeContainerdState();
    const sandboxImage = { name: "", present: false };
    using served = await serveRuntime({ sandboxImage }, { containerd: state });
    const { client: cri, channel, clock } = served;
    const options = { cri, channel, clock, architecture: "amd64" } as const;
    expect(await ensurePauseImage(options)).toEqual({ type: "NameUnknown" });
    expect(state.images.size).toBe(0);
  });

  test("imports a short name under its full name", async () => {
    const state = new FakeContainerdState();
    const sandboxImage = { name: "pause", present: false };
    using served = await serveRuntime({ sandboxImage }, { containerd: state });
    const { client: cri, channel, clock } = served;
    const options = { cri, channel, clock, architecture: "amd64" } as const;
    expect(await ensurePauseImage(options)).toEqual({ type: "Imported", image: "pause" });
    expect([...state.images.keys()]).toEqual(["docker.io/library/pause:latest"]);
  });
});

describe("bringPauseImage", () => {
  const random: Random = { next: () => 0.5, hex: () => "" };

  test("tries again, ever more seldom, until the image is there", async () => {
    const state = new FakeContainerdState();
    const sandboxImage = { name: PAUSE, present: false };
    using served = await serveRuntime({ sandboxImage }, { containerd: state });
    const { client: cri, channel, clock } = served;
    const said: string[] = [];
    const log = createLogger({ clock, level: "info", write: (line) => void said.push(line) });
    const { signal } = new AbortController();
    const put = state.images.set.bind(state.images);
    let failures = 3;
    state.images.set = (name, image) => {
      if (failures-- > 0) throw new Error("no space left on device");
      return put(name, image);
    };
    const options = { cri, channel, clock, random, log, signal, architecture: "amd64" } as const;
    let isDone = false;
    const brought = bringPauseImage(options).finally(() => (isDone = true));
    const waits: number[] = [];
    for (;;) {
      // Deadlines of calls lie further ahead.
      await until(() => isDone || clock.nextIn < 10_000);
      if (isDone) break;
      waits.push(clock.nextIn);
      clock.advance(clock.nextIn);
    }
    await brought;
    expect(waits).toEqual([500, 1000, 2000]);
    expect(state.images.has(PAUSE)).toBe(true);
    expect(said).toHaveLength(2);
    expect(said[0]).toContain("no space left on device");
    expect(said[1]).toContain("imported the pause image");
  });

  test("ends with the agent, and says no more", async () => {
    const sandboxImage = { name: PAUSE, present: false };
    using served = await serveRuntime({ sandboxImage }, { containerd: new FakeContainerdState() });
    const { client: cri, channel, clock } = served;
    const said: string[] = [];
    const log = createLogger({ clock, level: "info", write: (line) => void said.push(line) });
    const signal = AbortSignal.abort();
    await bringPauseImage({ cri, channel, clock, random, log, signal, architecture: "amd64" });
    expect(said).toEqual([]);
  });
});

const INFO: readonly [string, Record<string, string>, string | undefined][] = [
  ["containerd 1.x", { config: '{"sandboxImage":"a/pause:3.6"}' }, "a/pause:3.6"],
  [
    "containerd 2.x",
    { golang: "go1.22", config: '{"pinned_images":{"sandbox":"a/pause:3.10"}}' },
    "a/pause:3.10",
  ],
  ["2.x in camel case", { config: '{"pinnedImages":{"sandbox":"p"}}' }, "p"],
  ["no config", {}, undefined],
  ["no such key", { config: "{}" }, undefined],
  ["an empty name", { config: '{"sandboxImage":""}' }, undefined],
  ["no JSON", { config: "{", other: "null" }, undefined],
  ["another type", { config: '{"sandboxImage":7}' }, undefined],
];

test.each(INFO)("the sandbox image in the Status of %s", (_, info, expected) => {
  expect(sandboxImageName(info)).toBe(expected);
});

test.each([
  ["pause", "docker.io/library/pause:latest"],
  ["pause:3", "docker.io/library/pause:3"],
  ["me/pause", "docker.io/me/pause:latest"],
  ["localhost/pause:1", "localhost/pause:1"],
  ["127.0.0.1:5000/pause", "127.0.0.1:5000/pause:latest"],
  ["r.io/a/b@sha256:00", "r.io/a/b@sha256:00"],
])("the full name of %s is %s", (reference, expected) => {
  expect(normalizedImageName(reference)).toBe(expected);
});

test("tar reads what we write", () => {
  const content = new Uint8Array(1300).fill(65);
  const archive = tarOfExecutable("pause", content);
  const listed = spawnSync("tar", ["-tvf", "-", "--numeric-owner"], { input: archive });
  expect(listed.stdout.toString()).toMatch(/^-rwxr-xr-x 0\/0 +1300 1970-01-01 .* pause\n$/);
  expect(listed.stderr.toString()).toBe("");
  const read = spawnSync("tar", ["-xOf", "-"], { input: archive });
  expect(Buffer.compare(read.stdout, content)).toBe(0);
});
