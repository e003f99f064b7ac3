import { describe, expect, test } from "bun:test";

import { AwaitedDevices } from "../../../src/podworkers/awaited-devices.ts";
import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import type { FileInfo } from "../../../src/host/files.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

const PATH = "/dev/ttyUSB0";

function reader(uid: string, path = PATH): DesiredPod {
  const annotations = { "agent/devices": path };
  return aDesiredPod(aPod({}, { uid, name: uid, annotations }));
}

class World {
  readonly clock = new VirtualClock();
  readonly plugged = new Map<string, NonNullable<FileInfo["special"]> | "directory">();
  readonly found: string[] = [];
  pods: readonly DesiredPod[] = [];
  looks = 0;
  readonly missing = new AwaitedDevices({
    clock: this.clock,
    files: { ...realFiles(), target: (path) => this.#look(path) },
    desired: { state: this },
    workers: { notify: (uid) => void this.found.push(uid) },
  });

  #look(path: string): FileInfo | undefined {
    this.looks += 1;
    const what = this.plugged.get(path);
    if (what === undefined) return undefined;
    const name = path.slice(path.lastIndexOf("/") + 1);
    const known = { name, size: 0, mtimeMs: 0, identity: "1:1", owner: 0, mode: 0o660 };
    return what === "directory"
      ? { ...known, kind: "directory" }
      : { ...known, kind: "other", special: what };
  }
}

describe("a missing device", () => {
  test("is told to every pod that wants it as soon as it is there, once", async () => {
    const world = new World();
    world.pods = [reader("one"), reader("two"), reader("other", "/dev/video0")];
    expect(world.missing.has(PATH)).toBe(false);
    await world.clock.advance(10_000);
    expect(world.found).toEqual([]);
    world.plugged.set(PATH, "charDevice");
    await world.clock.advance(1_000);
    expect(world.found).toEqual(["one", "two"]);
    await world.clock.advance(60_000);
    expect(world.found).toEqual(["one", "two"]);
  });

  test("that nobody wants any more is not looked for", async () => {
    const world = new World();
    world.pods = [reader("one")];
    world.missing.has(PATH);
    world.pods = [];
    await world.clock.advance(1_000);
    const { looks } = world;
    await world.clock.advance(60_000);
    expect(world.looks).toBe(looks);
  });

  test("costs nothing where none is missing", async () => {
    const world = new World();
    world.plugged.set(PATH, "charDevice");
    expect(world.missing.has(PATH)).toBe(true);
    await world.clock.advance(60_000);
    expect(world.looks).toBe(1);
  });
});

test.each([
  ["charDevice", true],
  ["blockDevice", true],
  ["directory", true],
  ["socket", false],
] as const)("a %s counts as a device: %p", (what, is) => {
  const world = new World();
  world.plugged.set(PATH, what);
  expect(world.missing.has(PATH)).toBe(is);
  world.missing[Symbol.dispose]();
});
