import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { PodSecurityContext } from "../../../src/api/v1/security-context.ts";
import type { Volume } from "../../../src/api/v1/volumes.ts";
import type { ClaimUser } from "../../../src/volume/claim-directory.ts";
import type { Volumes } from "../../../src/volume/volume-manager.ts";
import { aPod, UID } from "../../fakes/a-pod.ts";
import { refusalOf } from "../../fakes/refusal.ts";
import { crashingEdges } from "./crashing.ts";
import { volumeWorlds, type VolumeWorld } from "./volume-world.ts";

const newWorld = volumeWorlds();

function claim(claimName: string, readOnly = false): Volume {
  return { name: "data", persistentVolumeClaim: { claimName, readOnly } };
}

function worldWith(...claims: string[]): VolumeWorld {
  const world = newWorld();
  for (const name of claims) world.objects.setClaim(name);
  return world;
}

function setUp(
  world: VolumeWorld,
  name = "db",
  security: Partial<PodSecurityContext> = {},
): string {
  const securityContext = { supplementalGroups: [], sysctls: [], ...security };
  return world.volumes.setUp(aPod({ volumes: [claim(name)], securityContext })).get("data") ?? "";
}

const GROUPED = { supplementalGroups: [], sysctls: [], fsGroup: 4242 };
const WAITING: unknown = expect.objectContaining({ reason: "CreateContainerConfigError" });
const DB = { namespace: "default", name: "db" };

describe("a claim", () => {
  test("is a directory that any user may write to, behind one for root", () => {
    const world = worldWith("db");
    const path = setUp(world);
    expect(path).toBe(join(world.claimRoot, "default/db"));
    const modes = [path, join(path, ".."), world.claimRoot].map((of) => statSync(of).mode & 0o7777);
    expect(modes).toEqual([0o777, 0o750, 0o750]);
    expect(readdirSync(join(path, ".."))).toEqual(["db"]);
  });

  test("outlives its pods, with its content and mode", () => {
    const world = worldWith("db");
    const path = setUp(world);
    writeFileSync(join(path, "file"), "x");
    chmodSync(path, 0o700);
    world.volumes.tearDown(UID);
    setUp(world);
    expect([readFileSync(join(path, "file"), "utf8"), statSync(path).mode & 0o7777]).toEqual([
      "x",
      0o700,
    ]);
  });

  test("that nobody declared is waited for", () => {
    const world = newWorld();
    expect(() => setUp(world)).toThrow(WAITING);
    expect(() => setUp(world)).toThrow(
      'persistentvolumeclaim "db" not found in namespace "default": no manifest or desired document',
    );
    expect(existsSync(world.claimRoot)).toBe(false);
  });

  test("with a name of the greatest length fits", () => {
    const name = `${"a".repeat(250)}.b`;
    expect(statSync(setUp(worldWith(name), name)).isDirectory()).toBe(true);
  });

  test("waits for its disk when it must be one", () => {
    const world = worldWith("db");
    const strict = world.again({ claimRootMustBeMount: true });
    const pod = aPod({ volumes: [claim("db")] });
    mkdirSync(world.claimRoot);
    expect(() => strict.setUp(pod)).toThrow(WAITING);
    expect(() => strict.setUp(pod)).toThrow(`waits for ${world.claimRoot} to be a mount point`);
    expect(readdirSync(world.claimRoot)).toEqual([]);
    world.mounts.tmpfs(world.claimRoot, { mode: 0o755 });
    expect(strict.setUp(pod).get("data")).toBe(join(world.claimRoot, "default/db"));
  });

  test("whose disk is gone by the time of the mount is waited for", () => {
    const world = worldWith("db");
    const strict = world.again({ claimRootMustBeMount: true });
    const pod = aPod({ volumes: [claim("db")] });
    mkdirSync(join(world.claimRoot, "default/db"), { recursive: true });
    world.mounts.tmpfs(world.claimRoot, { mode: 0o755 });
    const paths = strict.setUp(pod);
    strict.renewPaths(pod, paths);
    world.mounts.unmount(world.claimRoot);
    expect(() => strict.renewPaths(pod, paths)).toThrow(WAITING);
    expect(() => strict.renewPaths(pod, paths)).toThrow(`waits for ${world.claimRoot} to be`);
  });

  test("that is gone by the time of the mount is not made by the runtime", () => {
    const world = worldWith("db");
    const pod = aPod({ volumes: [claim("db")] });
    const paths = world.volumes.setUp(pod);
    world.volumes.renewPaths(pod, paths);
    world.volumes.claims.removeData(DB);
    expect(refusalOf(() => world.volumes.renewPaths(pod, paths))).toEqual({
      reason: "FailedMount",
      message: `volume "data": the data of persistentvolumeclaim "db" is gone: ${paths.get("data")} does not exist`,
    });
  });

  test.each(["default", "default/db"])("never follows a link at %s", (at) => {
    const world = worldWith("db");
    const outside = join(world.root, "outside");
    mkdirSync(join(outside, "db"), { recursive: true });
    mkdirSync(join(world.claimRoot, at, ".."), { recursive: true });
    symlinkSync(outside, join(world.claimRoot, at));
    expect(() => setUp(world)).toThrow("is neither followed nor replaced");
    expect(() => world.volumes.claims.removeData(DB)).toThrow("is neither followed nor replaced");
    expect(readdirSync(outside)).toEqual(["db"]);
    expect(readdirSync(join(outside, "db"))).toEqual([]);
  });

  test("is made whole or not at all, whenever a crash comes", () => {
    for (let at = 0; ; at += 1) {
      const world = worldWith("db");
      const edges = crashingEdges(world, { at, halfway: true });
      try {
        world.again({ files: edges.files }).setUp(aPod({ volumes: [claim("db")] }));
        expect(at).toBeGreaterThan(3);
        return;
      } catch (error) {
        expect(String(error)).toContain("crash");
      }
      expect(statSync(setUp(world)).mode & 0o7777).toBe(0o777);
    }
  });
});

describe("fsGroup of a claim", () => {
  function filled(): { world: VolumeWorld; path: string } {
    const world = worldWith("db");
    const path = setUp(world);
    mkdirSync(join(path, "dir"));
    writeFileSync(join(path, "dir/file"), "x", { mode: 0o600 });
    writeFileSync(join(world.root, "outside"), "x", { mode: 0o600 });
    symlinkSync(join(world.root, "outside"), join(path, "link"));
    world.volumes.tearDown(UID);
    return { world, path };
  }
  const look = (path: string): [number, number] => [
    statSync(path).gid,
    statSync(path).mode & 0o7777,
  ];

  test("owns everything in it, and nothing that a link leads to", () => {
    const { world, path } = filled();
    setUp(world, "db", { fsGroup: 4242 });
    expect(look(path)).toEqual([4242, 0o2777]);
    expect(look(join(path, "dir"))).toEqual([4242, 0o2775]);
    expect(look(join(path, "dir/file"))).toEqual([4242, 0o660]);
    expect(look(join(world.root, "outside"))).toEqual([0, 0o600]);
  });

  test("is given it once in a pod's life", () => {
    const { world, path } = filled();
    setUp(world, "db", { fsGroup: 4242 });
    chmodSync(join(path, "dir/file"), 0o600);
    setUp(world, "db", { fsGroup: 4242 });
    expect(look(join(path, "dir/file"))).toEqual([4242, 0o600]);
    world.volumes.tearDown(UID);
    setUp(world, "db", { fsGroup: 4242 });
    expect(look(join(path, "dir/file"))).toEqual([4242, 0o660]);
  });

  test("with OnRootMismatch is not looked for below a root that fits", () => {
    const { world, path } = filled();
    const onMismatch = { fsGroup: 4242, fsGroupChangePolicy: "OnRootMismatch" } as const;
    setUp(world, "db", onMismatch);
    expect(look(join(path, "dir/file"))).toEqual([4242, 0o660]);
    chmodSync(join(path, "dir/file"), 0o600);
    world.volumes.tearDown(UID);
    setUp(world, "db", onMismatch);
    expect(look(join(path, "dir/file"))).toEqual([4242, 0o600]);
    chmodSync(path, 0o755);
    world.volumes.tearDown(UID);
    setUp(world, "db", onMismatch);
    expect(look(join(path, "dir/file"))).toEqual([4242, 0o660]);
  });

  test("leaves one as it is that the volume calls read-only", () => {
    const { world, path } = filled();
    const before = look(path);
    const securityContext = { supplementalGroups: [], sysctls: [], fsGroup: 4242 };
    world.volumes.setUp(aPod({ volumes: [claim("db", true)], securityContext }));
    expect([look(path), look(join(path, "dir/file"))]).toEqual([before, [0, 0o600]]);
  });

  describe("with many files in it", () => {
    const pod = aPod({
      volumes: [claim("db")],
      securityContext: { supplementalGroups: [], sysctls: [], fsGroup: 4242 },
    });
    const fill = (path: string): void => {
      for (let index = 0; index < 2000; index += 1) writeFileSync(join(path, `f${index}`), "");
    };

    test("is given it in steps, and not once more when the volumes are set up", () => {
      const { world, path } = filled();
      fill(path);
      expect([...world.volumes.shareLargeClaims(pod)].length).toBeGreaterThan(2);
      expect(look(join(path, "dir/file"))).toEqual([4242, 0o660]);
      chmodSync(join(path, "dir/file"), 0o600);
      world.volumes.setUp(pod);
      expect(look(join(path, "dir/file"))).toEqual([4242, 0o600]);
    });

    test("is given all of it later if that was broken off", () => {
      const { world, path } = filled();
      fill(path);
      for (const _ of world.volumes.shareLargeClaims(pod)) break;
      world.volumes.setUp(pod);
      expect(look(join(path, "dir/file"))).toEqual([4242, 0o660]);
    });

    test("that is not declared is for the set-up to tell", () => {
      const { world } = filled();
      world.objects.remove("claim default/db");
      expect([...world.volumes.shareLargeClaims(pod)]).toEqual([]);
      expect(() => world.volumes.setUp(pod)).toThrow("not found");
    });
  });

  test("is interrupted by a crash and then finished", () => {
    const { world, path } = filled();
    const edges = crashingEdges(world, { at: 0, halfway: false });
    const pod = aPod({
      volumes: [claim("db")],
      securityContext: { supplementalGroups: [], sysctls: [], fsGroup: 4242 },
    });
    expect(() => world.again({ files: edges.files }).setUp(pod)).toThrow("crash");
    world.volumes.setUp(pod);
    expect(look(join(path, "dir/file"))).toEqual([4242, 0o660]);
  });
});

describe("pods of unsigned documents", () => {
  function users() {
    const world = worldWith("db");
    const warnings: string[] = [];
    const log = { warn: (message: string) => void warnings.push(message) };
    const pod = aPod({ volumes: [claim("db")] });
    const as = (by: ClaimUser): Volumes => world.again({ claimUser: () => by, log });
    const path = (by: ClaimUser): string => as(by).setUp(pod).get("data") ?? "";
    return { world, warnings, pod, as, path };
  }

  test.each(["File", "SignedDocument"] as const)(
    "never get what a pod of a %s has written",
    (by) => {
      const { world, pod, as, path } = users();
      const kept = path(by);
      writeFileSync(join(kept, "secret"), "x");
      const refusal = {
        reason: "CreateContainerConfigError",
        message: `volume "data": the data of persistentvolumeclaim "db" (${kept}) was written by pods of a manifest file or of a signed document, and pods of unsigned documents may not use it: choose another name, sign the document, or remove the data at the device with "agent delete pvc db -n default --data"`,
      };
      const unsigned = as("UnsignedDocument");
      expect(refusalOf(() => unsigned.check(pod))).toEqual(refusal);
      expect(refusalOf(() => unsigned.setUp(pod))).toEqual(refusal);
      const shared = aPod({ volumes: [claim("db")], securityContext: GROUPED });
      expect([...unsigned.shareLargeClaims(shared)]).toEqual([]);
      const before = new Map([["data", kept]]);
      expect(refusalOf(() => unsigned.renewPaths(pod, before))).toEqual(refusal);
      world.volumes.claims.removeData(DB);
      expect(readdirSync(path("UnsignedDocument"))).toEqual([]);
    },
  );

  test("keep their data, with the same rights, out of the way of others", () => {
    const { world, path } = users();
    const own = path("UnsignedDocument");
    expect(own).toBe(join(world.claimRoot, ".unsigned/default/db"));
    const modes = [own, join(own, ".."), join(own, "../..")];
    expect(modes.map((of) => statSync(of).mode & 0o7777)).toEqual([0o777, 0o750, 0o750]);
    writeFileSync(join(own, "file"), "x");
    expect(readdirSync(path("UnsignedDocument"))).toEqual(["file"]);
    expect(world.volumes.claims.has(DB)).toBe(true);
  });

  test("give a pod of a file nothing that they have written", () => {
    const { warnings, path } = users();
    writeFileSync(join(path("UnsignedDocument"), "planted"), "x");
    expect(readdirSync(path("File"))).toEqual([]);
    path("File");
    expect(warnings).toEqual([
      "claim of a file begins empty; pods of unsigned documents have other data",
    ]);
  });

  test("leave their data to the same document when it is signed", () => {
    const { path } = users();
    writeFileSync(join(path("UnsignedDocument"), "file"), "x");
    expect(readdirSync(path("SignedDocument"))).toEqual(["file"]);
    expect(() => path("UnsignedDocument")).toThrow("may not use it");
  });

  test("keep their data from a signed document while they may write to it", () => {
    const { world, pod, path } = users();
    const unsigned = path("UnsignedDocument");
    writeFileSync(join(unsigned, "file"), "x");
    const asked: unknown[] = [];
    let left = ["default/other"];
    const signed = world.again({
      claimUser: () => "SignedDocument",
      unsignedUsers: (...use) => {
        asked.push(use);
        return left;
      },
    });
    const refusal = {
      reason: "CreateContainerConfigError",
      message: `volume "data": the data of persistentvolumeclaim "db" (${unsigned}) is still used by pods of unsigned documents (default/other): this pod gets it when they are gone; remove them from their documents, or sign these`,
    };
    expect(refusalOf(() => signed.setUp(pod))).toEqual(refusal);
    const shared = aPod({ volumes: [claim("db")], securityContext: GROUPED });
    expect([...signed.shareLargeClaims(shared)]).toEqual([]);
    expect(readdirSync(unsigned)).toEqual(["file"]);
    expect(asked[0]).toEqual([{ ...DB, by: "SignedDocument" }, pod]);
    left = [];
    expect(readdirSync(signed.setUp(pod).get("data") ?? "")).toEqual(["file"]);
    asked.length = 0;
    signed.setUp(pod);
    expect(asked).toEqual([]);
  });

  test("lose it when a person removes the data of the name", () => {
    const { world, path } = users();
    const paths = [path("UnsignedDocument"), path("File")];
    world.volumes.claims.removeData(DB);
    expect(paths.map((one) => existsSync(one))).toEqual([false, false]);
  });
});

describe("removing the data of a claim", () => {
  const OTHER = { ...DB, name: "other" };

  test("takes away that claim's and no other's", () => {
    const world = worldWith("db", "other");
    const { claims } = world.volumes;
    const path = setUp(world);
    setUp(world, "other");
    mkdirSync(join(path, "deep/er"), { recursive: true });
    symlinkSync(world.root, join(path, "link"));
    expect([DB, OTHER].map((one) => claims.has(one))).toEqual([true, true]);
    claims.removeData(DB);
    claims.removeData(DB);
    expect([DB, OTHER].map((one) => claims.has(one))).toEqual([false, true]);
    expect(existsSync(path)).toBe(false);
    expect(existsSync(world.root)).toBe(true);
  });

  test("leaves directories to be removed, of both kinds of pods, one for each time", () => {
    const world = worldWith("db");
    const { claims } = world.volumes;
    for (const round of [0, 1]) {
      const unsigned = world.again({ claimUser: () => "UnsignedDocument" });
      const pod = aPod({ volumes: [claim("db")] });
      writeFileSync(join(unsigned.setUp(pod).get("data") ?? "", `unsigned-${round}`), "");
      writeFileSync(join(setUp(world), `of-a-file-${round}`), "");
      claims.removeData(DB);
    }
    const own = join(world.claimRoot, "default/.removed");
    const unsigned = join(world.claimRoot, ".unsigned/default/.removed");
    const left = claims.removed();
    expect(left).toEqual([`${own}/0`, `${own}/1`, `${unsigned}/0`, `${unsigned}/1`]);
    expect(left.flatMap((path) => readdirSync(path))).toEqual([
      "of-a-file-0",
      "of-a-file-1",
      "unsigned-0",
      "unsigned-1",
    ]);
    expect(statSync(own).mode & 0o7777).toBe(0o750);
    expect(claims.has(DB)).toBe(false);
  });

  test("on a file system that may hang is left to a person, and nothing there is looked at", () => {
    const world = worldWith("db");
    const path = setUp(world);
    world.volumes.claims.removeData(DB);
    setUp(world);
    const point = join(world.claimRoot, "default");
    const hangable = (of: string) =>
      `${of}/`.startsWith(`${point}/`) ? { point, type: "nfs4" } : undefined;
    const { claims } = world.again({ files: { ...world.files, hangable } });
    for (const use of [() => claims.has(DB), () => claims.removeData(DB)])
      expect(refusalOf(use)).toEqual({
        reason: "ClaimsMayHang",
        message: `${path} is on ${point} (nfs4), a file system that may hang and that the agent itself does not touch; remove the directory of the claim there by hand`,
      });
    expect(claims.removed()).toEqual([]);
    expect(existsSync(path)).toBe(true);
  });

  test("stops before a mount, and before anything is gone", () => {
    const world = worldWith("db");
    const path = setUp(world);
    const precious = join(world.root, "precious");
    mkdirSync(join(path, "a"));
    mkdirSync(join(path, "mounted"));
    mkdirSync(precious);
    writeFileSync(join(precious, "file"), "x");
    const bind = (to: string) =>
      world.mounts.bindBeneath({ root: precious, path: "", create: false, target: to });
    bind(join(path, "mounted"));
    expect(() => world.volumes.claims.removeData(DB)).toThrow(
      `${join(path, "mounted")} is a mount point`,
    );
    world.mounts.unmount(join(path, "mounted"));
    bind(path);
    expect(() => world.volumes.claims.removeData(DB)).toThrow(`${path} is a mount point`);
    world.mounts.unmount(path);
    expect([readdirSync(precious), readdirSync(path).toSorted()]).toEqual([
      ["file"],
      ["a", "mounted"],
    ]);
  });

  test.each(["..", ".", "", "a/b", "../default/db", "A", "-a", "a\0"])(
    "refuses the name %j",
    (name) => {
      const world = worldWith("db");
      const path = setUp(world);
      expect(() => world.volumes.claims.removeData({ namespace: "default", name })).toThrow(
        "is not a valid name of a persistentvolumeclaim",
      );
      expect(() => world.volumes.claims.removeData({ namespace: name, name: "db" })).toThrow(
        "is not a valid name of a persistentvolumeclaim",
      );
      expect(existsSync(path)).toBe(true);
    },
  );
});
