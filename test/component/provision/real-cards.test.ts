// A card as the boot partition of a device really is: FAT, behind a device, also one that is mounted read-only.

import { afterAll, beforeEach, expect } from "bun:test";
import { join } from "node:path";

import { makeLoopDisk } from "../../harness/loop-disk.ts";
import { runSync } from "../../harness/run-command.ts";
import { testWhenAvailable } from "../../harness/skip-reasons.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import { CardStage, POD, treeOf } from "./card-stage.ts";

const directory = temporaryDirectories();
let stage: CardStage;

beforeEach(() => {
  stage = new CardStage(directory());
});

const CARD = {
  "mqtt-password": "secret word\n",
  "manifests/web.yaml": POD("web"),
  "images/app.tar": "an archive",
};

for (const type of ["vfat", "ext4"] as const) {
  const disk = makeLoopDisk(16, type);
  afterAll(() => disk?.[Symbol.dispose]());
  const path = disk?.path ?? "";
  testWhenAvailable(disk ?? { unavailable: `this machine mounts no ${type} by a loop device` })(
    `a card with ${type} is taken over, and keeps its secret while it is read-only`,
    () => {
      const own = { directories: [join(path, "agent")] };
      stage.insert(CARD);
      expect(runSync(["cp", "-r", stage.card, join(path, "agent")]).code).toBe(0);
      expect(runSync(["mount", "-o", "remount,ro", path]).code).toBe(0);
      const first = stage.start(own);
      expect(first).toMatchObject({ refused: [], ignored: [], failure: undefined });
      expect(first?.left.map(({ name, why }) => [name, /EROFS/.test(why)])).toEqual([
        ["mqtt-password", true],
      ]);
      expect(Object.keys(stage.onNode())).toEqual(["manifests/web.yaml", "mqtt-password"]);
      expect(stage.mode("mqtt-password")).toBe("600");

      // As after the next boot: FAT has other inode numbers then.
      expect(runSync(["mount", "-o", "remount,rw", path]).code).toBe(0);
      expect(stage.start(own)).toMatchObject({ taken: [], ignored: [], left: [] });
      expect(Object.keys(treeOf(join(path, "agent")))).toEqual([
        "images/app.tar",
        "manifests/web.yaml",
      ]);
    },
  );
}
