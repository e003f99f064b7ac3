// Images for tests and demo, made from the machine's static busybox: no registry is asked.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { eventually } from "./eventually.ts";
import type { PrivateContainerd } from "./private-containerd.ts";
import { runSync } from "./run-command.ts";
import { tar, type TarEntry } from "./tar.ts";

const UNPACKED = resolve(import.meta.dir, "../../.tools/busybox-static/busybox");

export interface ImageSpec {
  /** As a manifest names it, e.g. `local/busybox:1`. */
  readonly name: string;
  /** Text of /etc/image-version: makes two variants differ. */
  readonly version: string;
  readonly entrypoint?: readonly string[];
  /** Words after the entrypoint. */
  readonly command?: readonly string[];
  /** Beside busybox. */
  readonly files?: readonly TarEntry[];
  /** A number, or a name of /etc/passwd; absent = root. */
  readonly user?: string;
  /** Bytes of a file that cannot be compressed: makes its download take time. */
  readonly ballast?: number;
}

export const BUSYBOX_1: ImageSpec = { name: "local/busybox:1", version: "1" };
export const BUSYBOX_2: ImageSpec = { name: "local/busybox:2", version: "2" };
/** A sandbox image for containerds that are used without the agent. */
export const PAUSE: ImageSpec = {
  name: "local/pause:1",
  version: "pause",
  entrypoint: ["/bin/busybox", "sleep", "2147483647"],
};

/** A docker-archive with one layer. */
export function dockerArchive(spec: ImageSpec): Uint8Array {
  const layer = tar(layerEntries(spec));
  const layerDigest = sha256(layer);
  const config = JSON.stringify({
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    os: "linux",
    created: "2026-01-01T00:00:00Z",
    config: {
      Env: ["PATH=/bin"],
      ...(spec.user === undefined ? {} : { User: spec.user }),
      ...(spec.entrypoint === undefined ? { Cmd: ["sh"] } : { Entrypoint: spec.entrypoint }),
      ...(spec.command === undefined ? {} : { Cmd: spec.command }),
    },
    rootfs: { type: "layers", diff_ids: [`sha256:${layerDigest}`] },
    history: [{ created: "2026-01-01T00:00:00Z", created_by: "test/harness/images.ts" }],
  });
  const configName = `${sha256(Buffer.from(config))}.json`;
  const layerName = `${layerDigest}/layer.tar`;
  const manifest = [{ Config: configName, RepoTags: [spec.name], Layers: [layerName] }];
  return tar([
    {
      type: "file",
      path: "manifest.json",
      mode: 0o644,
      data: Buffer.from(JSON.stringify(manifest)),
    },
    { type: "file", path: configName, mode: 0o644, data: Buffer.from(config) },
    { type: "file", path: layerName, mode: 0o644, data: layer },
  ]);
}

/** Writes the archives into `directory` and imports them; returns once CRI knows them. */
export async function importImages(
  containerd: PrivateContainerd,
  directory: string,
  specs: readonly ImageSpec[] = [BUSYBOX_1, BUSYBOX_2],
): Promise<void> {
  mkdirSync(directory, { recursive: true });
  for (const spec of specs) {
    const path = join(directory, `${spec.name.replaceAll(/[/:]/g, "_")}.tar`);
    writeFileSync(path, dockerArchive(spec));
    await containerd.ctr("images", "import", "--snapshotter", containerd.snapshotter, path);
  }
  await eventually("containerd lists the imported images as CRI's", async () => {
    const listed = await containerd.ctr("images", "list");
    return specs.every(({ name }) =>
      listed
        .split("\n")
        .some(
          (line) => line.includes(`/${name} `) && line.includes("io.cri-containerd.image=managed"),
        ),
    );
  });
}

/** The layer of such an image. */
export function busyboxLayer(version: string): Uint8Array {
  return tar(layerEntries({ name: "", version }));
}

function layerEntries(spec: ImageSpec): readonly TarEntry[] {
  const busybox = busyboxPath();
  const applets = runSync([busybox, "--list"]).stdout.trim().split("\n");
  const directories = ["bin", "etc", "root", "var", "data"];
  const text = (path: string, data: string): TarEntry => ({
    type: "file",
    path,
    mode: 0o644,
    data: Buffer.from(data),
  });
  return [
    ...directories.map((path): TarEntry => ({ type: "directory", path, mode: 0o755 })),
    { type: "directory", path: "tmp", mode: 0o1777 },
    { type: "file", path: "bin/busybox", mode: 0o755, data: readFileSync(busybox) },
    ...applets
      .filter((applet) => applet !== "busybox")
      .map((applet): TarEntry => ({ type: "symlink", path: `bin/${applet}`, target: "busybox" })),
    text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"),
    text("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    text("etc/image-version", `${spec.version}\n`),
    ...(spec.files ?? []),
    ...(spec.ballast === undefined ? [] : [ballast(spec.ballast, spec.version)]),
  ];
}

/** The same bytes for the same version. */
function ballast(size: number, version: string): TarEntry {
  const blocks = Array.from({ length: Math.ceil(size / 64) }, (_, index) =>
    new Bun.CryptoHasher("sha512").update(`${version} ${index}`).digest(),
  );
  return { type: "file", path: "ballast", mode: 0o644, data: Buffer.concat(blocks) };
}

/** A busybox that needs no library: `ldd` refuses it. */
function busyboxPath(): string {
  const onPath = Bun.which("busybox");
  if (onPath !== null && runSync(["ldd", onPath]).code !== 0) return onPath;
  if (existsSync(UNPACKED)) return UNPACKED;
  throw new Error("no static busybox was found; ./build.sh test installs busybox-static");
}

function sha256(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}
