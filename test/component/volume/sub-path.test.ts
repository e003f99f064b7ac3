import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { prepareSubPath, type SubPathRequest } from "../../../src/volume/sub-path.ts";
import { aPod, UID } from "../../fakes/a-pod.ts";
import { volumeWorlds, type VolumeWorld } from "./volume-world.ts";

const newWorld = volumeWorlds();

interface Volume {
  readonly world: VolumeWorld;
  /** An emptyDir of a pod. */
  readonly path: string;
  /** Beside it; nothing of it may ever be seen. */
  readonly outside: string;
  readonly prepare: (subPath: string, more?: Partial<SubPathRequest>) => string;
}

function setUp(): Volume {
  const world = newWorld();
  const outside = join(world.root, "outside");
  mkdirSync(join(outside, "dir"), { recursive: true });
  writeFileSync(join(outside, "secret"), "stolen");
  const volumes = [{ name: "data", emptyDir: { medium: "" as const } }];
  const path = world.volumes.setUp(aPod({ volumes })).get("data") ?? "";
  const base = { uid: UID, container: "app", index: 0, volumeName: "data", volumePath: path };
  const prepare: Volume["prepare"] = (subPath, more = {}) =>
    prepareSubPath(world, { ...base, subPath, readOnly: false, ...more });
  return { world, path, outside, prepare };
}

describe("a subPath", () => {
  test("is a bind mount of what is there", () => {
    const { world, path, prepare } = setUp();
    mkdirSync(join(path, "a/b"), { recursive: true });
    writeFileSync(join(path, "a/b/file"), "x");
    const directory = prepare("a/b");
    expect(directory).toBe(join(world.podDir, "volume-subpaths/data/app/0"));
    expect(readFileSync(join(directory, "file"), "utf8")).toBe("x");
    writeFileSync(join(directory, "new"), "y");
    expect(readFileSync(join(path, "a/b/new"), "utf8")).toBe("y");
    expect(readFileSync(prepare("a/b/file", { index: 1 }), "utf8")).toBe("x");
    expect(world.mounts.mountsUnder(world.podDir)).toHaveLength(2);
  });

  test("that is missing is made, as open as the volume", () => {
    const { path, prepare } = setUp();
    const shown = prepare("logs/app/");
    const modes = [shown, join(path, "logs"), join(path, "logs/app")];
    expect(modes.map((of) => statSync(of).mode & 0o7777)).toEqual([0o777, 0o777, 0o777]);
  });

  test("that is missing in a volume that is read-only is waited for", () => {
    const { path, prepare } = setUp();
    expect(() => prepare("logs", { readOnly: true })).toThrow(
      expect.objectContaining({
        reason: "CreateContainerConfigError",
        message:
          'failed to prepare subPath for volumeMount "data" of container "app": "logs" does not exist',
      }),
    );
    expect(existsSync(join(path, "logs"))).toBe(false);
  });

  test("shows the next container what is there by then, be it of another kind", () => {
    const { world, path, prepare } = setUp();
    mkdirSync(join(path, "it"));
    prepare("it");
    rmSync(join(path, "it"), { recursive: true });
    writeFileSync(join(path, "it"), "file now");
    expect(readFileSync(prepare("it"), "utf8")).toBe("file now");
    unlinkSync(join(path, "it"));
    expect(readdirSync(prepare("it"))).toEqual([]);
    expect(world.mounts.mountsUnder(world.podDir)).toHaveLength(1);
  });

  test("stays what it is for a container that runs", () => {
    const { path, prepare, outside } = setUp();
    mkdirSync(join(path, "it"));
    writeFileSync(join(path, "it/file"), "x");
    const shown = prepare("it");
    renameSync(join(path, "it"), join(path, "moved"));
    symlinkSync(outside, join(path, "it"));
    expect(readdirSync(shown)).toEqual(["file"]);
  });

  test("follows links that stay inside, as those of a configMap do", () => {
    const { world, prepare } = setUp();
    world.objects.setConfigMap("app", { "app.conf": "1" });
    const volume = {
      name: "cfg",
      configMap: { name: "app", items: [], optional: false, defaultMode: 0o644 },
    };
    const pod = aPod({ volumes: [volume] });
    const volumePath = world.volumes.setUp(pod).get("cfg") ?? "";
    const of = { volumeName: "cfg", volumePath, readOnly: true };
    const shown = prepare("app.conf", of);
    expect(readFileSync(shown, "utf8")).toBe("1");
    world.objects.setConfigMap("app", { "app.conf": "2" });
    world.volumes.refresh(pod);
    expect(readFileSync(shown, "utf8")).toBe("1");
    expect(readFileSync(prepare("app.conf", of), "utf8")).toBe("2");
    expect(() => prepare("other.conf", of)).toThrow("does not exist");
    expect(existsSync(join(volumePath, "other.conf"))).toBe(false);
  });

  test("may cross what is mounted inside the volume, and be the volume itself", () => {
    const { world, path, prepare } = setUp();
    mkdirSync(join(path, "disk"));
    world.mounts.tmpfs(join(path, "disk"), { mode: 0o777 });
    mkdirSync(join(path, "disk/dir"));
    writeFileSync(join(path, "disk/dir/file"), "x");
    expect(readdirSync(prepare("disk/dir"))).toEqual(["file"]);
    expect(readdirSync(prepare("."))).toEqual(["disk"]);
  });

  test("may have links in the volume's own path, as hostPaths do", () => {
    const { path, prepare, world } = setUp();
    mkdirSync(join(path, "a"));
    writeFileSync(join(path, "a/file"), "x");
    symlinkSync(path, join(world.root, "link"));
    expect(readdirSync(prepare("a", { volumePath: join(world.root, "link") }))).toEqual(["file"]);
  });
});

describe("an attack", () => {
  test.each<readonly [string, string, string]>([
    ["an absolute link to the root", "/", "link"],
    ["an absolute link to a directory", "OUTSIDE", "link/dir"],
    ["an absolute link to a file", "OUTSIDE/secret", "link"],
    ["a link up", "../../../../../../../../../..", "link"],
    ["a link up and down again", "a/../../../../../outside", "link"],
    ["a link that begins well", "a/b/../../..", "link/kubernetes.io~empty-dir"],
    ["a link into /proc", "/proc/self/root", "link"],
    ["a loop", "link", "link"],
    ["a loop of two", "a/back", "link/x"],
    ["an absolute link to the volume itself", "VOLUME", "link/a"],
  ])("with %s finds nothing and makes nothing", (_, target, subPath) => {
    const { world, path, outside, prepare } = setUp();
    mkdirSync(join(path, "a/b"), { recursive: true });
    symlinkSync("../link", join(path, "a/back"));
    symlinkSync(target.replace("OUTSIDE", outside).replace("VOLUME", path), join(path, "link"));
    expect(() => prepare(subPath)).toThrow(/leads out of the volume|too many symbolic links/);
    expect(() => prepare(`${subPath}/made`)).toThrow(
      /leads out of the volume|too many symbolic links/,
    );
    expect(readdirSync(outside).toSorted()).toEqual(["dir", "secret"]);
    expect(readdirSync(join(outside, "dir"))).toEqual([]);
    expect(world.mounts.mountsUnder(world.podDir)).toEqual([]);
  });

  test.each([
    ["/etc", "must not be an absolute path"],
    ["..", "must not contain '..'"],
    ["a/../../b", "must not contain '..'"],
    ["a\0b", "must not contain a NUL byte"],
  ])("by the path %j alone is refused", (subPath, why) => {
    expect(() => setUp().prepare(subPath)).toThrow(why);
  });

  test("with a file on the way, or endless depth, ends in words", () => {
    const { path, prepare } = setUp();
    writeFileSync(join(path, "file"), "x");
    expect(() => prepare("file/below")).toThrow("leads through an entry that is not a directory");
    expect(() => prepare("d/".repeat(300))).toThrow("is deeper than 200 directories");
    const open = readdirSync("/proc/self/fd").length;
    for (let round = 0; round < 20; round += 1) expect(() => prepare("file/below")).toThrow();
    expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(open);
  });

  test("with a FIFO does not wait", () => {
    const { path, prepare } = setUp();
    expect(Bun.spawnSync(["mkfifo", join(path, "fifo")]).exitCode).toBe(0);
    expect(statSync(prepare("fifo")).isFIFO()).toBe(true);
  });

  test("with a link that comes and goes never wins", async () => {
    const { path, outside, prepare } = setUp();
    mkdirSync(join(path, "flip"));
    writeFileSync(join(path, "flip/inside"), "");
    symlinkSync(outside, join(path, "link"));
    await using flipper = Bun.spawn([process.execPath, "-e", FLIP, path], { stdout: "pipe" });
    const reader = flipper.stdout.getReader();
    await reader.read();
    const seen = { inside: 0, refused: 0, elsewhere: 0 };
    for (let round = 0; round < 600; round += 1) seen[tryOnce(() => prepare("flip/sub"))] += 1;
    for (let round = 0; round < 600; round += 1)
      seen[tryOnce(() => prepare("flip", { readOnly: true }))] += 1;
    flipper.kill();
    await flipper.exited;
    expect(seen.elsewhere).toBe(0);
    expect(Math.min(seen.inside, seen.refused)).toBeGreaterThan(0);
    expect(readdirSync(outside).toSorted()).toEqual(["dir", "secret"]);
  }, 20_000);
});

/** Exchanges a directory and a link to elsewhere as fast as it can (RENAME_EXCHANGE), for at most ten seconds. */
const FLIP = `
const { dlopen, ptr } = require("bun:ffi");
const { renameat2 } = dlopen("libc.so.6", {
  renameat2: { args: ["i32", "ptr", "i32", "ptr", "u32"], returns: "i32" },
}).symbols;
const at = (name) => Buffer.from(process.argv.at(-1) + "/" + name + "\\0");
const [flip, link] = [at("flip"), at("link")];
const until = Date.now() + 10_000;
for (let round = 0; Date.now() < until; round += 1) {
  if (renameat2(-100, ptr(flip), -100, ptr(link), 2) !== 0) throw new Error("no exchange");
  if (round === 10) process.stdout.write("ready");
}
`;

function tryOnce(prepare: () => string): "inside" | "refused" | "elsewhere" {
  let shown: string;
  try {
    shown = prepare();
  } catch {
    // The wrong moment: refused, or made where the directory just was not.
    return "refused";
  }
  const names = readdirSync(shown);
  return names.includes("secret") || names.includes("dir") ? "elsewhere" : "inside";
}
