// New images are on the disk before anything starts from them.

import { expect, test } from "bun:test";

import { syncedImages } from "../../../src/containerd/synced-images.ts";
import type { CriClient } from "../../../src/cri/cri-client.ts";

/** Lets everything run that waits for nothing. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

class World {
  readonly happened: string[] = [];
  readonly syncs: (() => void)[] = [];
  readonly cri: Pick<CriClient, "pullImage" | "createContainer" | "runPodSandbox">;

  constructor() {
    const say = (what: string): Promise<string> => {
      this.happened.push(what);
      return Promise.resolve(what);
    };
    this.cri = syncedImages(
      {
        pullImage: ({ image }) => say(`pulled ${image?.image}`),
        createContainer: ({ config }) => say(`created ${config.image?.image}`),
        runPodSandbox: () => say("sandbox"),
      },
      async () => {
        await new Promise<void>((end) => this.syncs.push(end));
        this.happened.push("synced");
      },
    );
  }

  /** Ends the oldest sync, once it has begun. */
  async endSync(): Promise<void> {
    while (this.syncs.length === 0) await turn();
    this.syncs.shift()?.();
  }

  create(image: string): Promise<unknown> {
    return this.cri
      .createContainer({ sandboxId: "s", config: { image: { image } }, sandboxConfig: {} })
      .then((id) => this.happened.push(`returned ${String(id)}`));
  }
}

test("the first container of an image waits for the disk, later ones do not", async () => {
  const world = new World();
  const first = world.create("a");
  await world.endSync();
  await first;
  await world.create("a");
  expect(world.happened).toEqual([
    "created a",
    "synced",
    "returned created a",
    "created a",
    "returned created a",
  ]);
});

test("each pull waits, and the first sandbox", async () => {
  const world = new World();
  const pull = world.cri.pullImage({ image: { image: "a" } });
  await world.endSync();
  await pull;
  const sandbox = world.cri.runPodSandbox({ config: {} });
  await world.endSync();
  await sandbox;
  await world.cri.runPodSandbox({ config: {} });
  expect(world.happened).toEqual(["pulled a", "synced", "sandbox", "synced", "sandbox"]);
});

test("what was unpacked during a sync waits for another one, which all share", async () => {
  const world = new World();
  const first = world.create("a");
  while (world.syncs.length === 0) await turn();
  const second = world.create("b");
  const third = world.create("c");
  await turn();
  expect(world.syncs).toHaveLength(1);
  await world.endSync();
  await first;
  expect(world.happened).not.toContain("returned created b");
  await world.endSync();
  await Promise.all([second, third]);
  expect(world.happened.filter((what) => what === "synced")).toHaveLength(2);
});

test("a call that fails syncs nothing", async () => {
  const failing: World["cri"] = {
    pullImage: () => Promise.reject(new Error("no")),
    createContainer: () => Promise.reject(new Error("no")),
    runPodSandbox: () => Promise.reject(new Error("no")),
  };
  const cri = syncedImages(failing, () => Promise.reject(new Error("synced")));
  const errors = [cri.pullImage({ image: { image: "a" } }), cri.runPodSandbox({ config: {} })];
  const said = await Promise.all(
    errors.map((call) => call.catch((error: unknown) => String(error))),
  );
  expect(said).toEqual(["Error: no", "Error: no"]);
});
