// A disk that is full, again and again, on a real small ext4: the reserve carries what must be written, and comes back.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import { runSync } from "../../harness/run-command.ts";
import { testWhenAvailable } from "../../harness/skip-reasons.ts";
import { unpackAddon } from "../../../src/store/sqlite/native-addon.ts";
import { files, openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const SIZE = "12M";

/** A file system in a file; a string = why there is none. */
function smallDisk(): { readonly path: string; readonly remove: () => void } | string {
  const directory = mkdtempSync(join(tmpdir(), "agent-disk-"));
  const path = join(directory, "mnt");
  const image = join(directory, "disk.img");
  const remove = (): void => {
    Bun.spawnSync(["umount", path], { stderr: "ignore" });
    rmSync(directory, { recursive: true, force: true });
  };
  mkdirSync(path);
  for (const command of [
    ["truncate", "-s", SIZE, image],
    ["mkfs.ext4", "-q", "-F", "-m", "0", image],
    ["mount", "-o", "loop", image, path],
  ]) {
    const { code, stderr } = runSync(command);
    if (code === 0) continue;
    remove();
    return `${command[0]}: ${stderr.trim()}`;
  }
  // What is filled up must not be the disk of this machine.
  if (statSync(path).dev !== statSync(directory).dev) return { path, remove };
  remove();
  return "the mount is not there";
}

const probe = smallDisk();
if (typeof probe !== "string") probe.remove();
const onDisk = typeof probe === "string" ? testWhenAvailable({ unavailable: probe }) : test;

function fillUp(path: string): void {
  for (const size of [65_536, 4096, 512]) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size, 1), { flag: "a" });
    } catch {
      // Full: smaller pieces next.
    }
  }
}

const removal = (n: number) => ({
  uid: `uid-${n}`,
  namespace: "default",
  name: "x".repeat(200),
  why: "Deleted" as const,
});

onDisk(
  "three times full: removals are written, documents are refused whole, nothing is lost",
  () => {
    const disk = smallDisk();
    if (typeof disk === "string") throw new Error(disk);
    const stateDir = join(disk.path, "state");
    // A library that is loaded keeps its file system busy.
    const nativeBinding = unpackAddon(newDirectory(), files);
    const reserve = join(stateDir, "agent.db.reserve");
    const filler = join(disk.path, "filler");
    const payload = new TextEncoder().encode(JSON.stringify({ text: "x".repeat(400_000) }));
    const document = {
      source: "mqtt:node",
      epoch: "e",
      generation: 1,
      digest: `sha256:${sha256(payload)}`,
      payload,
      observedGeneration: 0,
      acceptedAt: 5,
    } as const;
    try {
      {
        using store = openStore(stateDir, { nativeBinding });
        for (let round = 1; round <= 3; round += 1) {
          expect(statSync(reserve).size).toBe(256 * 1024);
          fillUp(filler);
          const rows = Array.from({ length: 20 }, (_, n) => removal(round * 100 + n));
          store.removals.begin(rows);
          // Without the release there would have been no room for the log.
          expect(existsSync(reserve)).toBe(false);
          expect(store.removals.all()).toHaveLength(20 * round);
          expect(() => store.documents.accept(document)).toThrow(/ENOSPC|no space/);
          expect(store.documents.get("mqtt:node")).toBeUndefined();
          store.database.keepReserve();
          expect(existsSync(reserve)).toBe(false);
          rmSync(filler);
          store.database.keepReserve();
        }
        store.documents.accept(document);
      }
      using store = openStore(stateDir, { nativeBinding });
      expect([store.origin, store.removals.all().length]).toEqual(["opened", 60]);
      expect(store.documents.get("mqtt:node")?.payload).toEqual(payload);
    } finally {
      disk.remove();
    }
  },
);
