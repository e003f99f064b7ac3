// What a name's leaving means: an order to end a life, an editor's rename, or the end of the whole directory.

import { describe, expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";

import type { DirectoryHint } from "../../../src/host/files.ts";
import { ManifestDirectory, RESCAN, manifest } from "./manifest-directory.ts";

const NAME = "web.yaml";
const TEXT = manifest("web");
const hint = (type: "MovedIn" | "MovedOut" | "Created" | "Deleted" | "Written" | "Closed") =>
  ({ type, name: NAME }) as const;

/** A source that runs `web.yaml`; what follows is counted from here. */
async function running(on: ManifestDirectory): Promise<void> {
  await on.start();
  await on.move(NAME, TEXT);
  await on.clock.advance(RESCAN);
  on.snapshots.length = 0;
}

/** Another file under the name, written in place. */
function replace(on: ManifestDirectory, text: string): void {
  writeFileSync(`${on.root}/kept`, "holds the old inode");
  renameSync(on.path(NAME), `${on.root}/kept`);
  writeFileSync(on.path(NAME), text);
  utimesSync(on.path(NAME), 5, 5);
}

const lives = (on: ManifestDirectory): readonly number[] =>
  on.snapshots.map(({ pods }) => pods.length);

describe("a file that is there again before anybody looked", () => {
  const cases: Readonly<
    Record<
      string,
      readonly [hints: readonly DirectoryHint[], text: string, lives: readonly number[]]
    >
  > = {
    "removed and copied": [
      [hint("Deleted"), hint("Created"), hint("Written"), hint("Closed")],
      TEXT,
      [0, 1],
    ],
    "removed and renamed into place": [[hint("Deleted"), hint("MovedIn")], TEXT, [0, 1]],
    "removed, copied, and then renamed to and fro": [
      [hint("Deleted"), hint("Created"), hint("Written"), hint("MovedOut"), hint("MovedIn")],
      TEXT,
      [0, 1],
    ],
    "removed and copied with another content": [
      [hint("Deleted"), hint("Created"), hint("Written"), hint("Closed")],
      manifest("web", "busybox:2"),
      [1],
    ],
    "renamed over": [[hint("MovedIn")], TEXT, [1]],
    "renamed away and written anew, as an editor does": [
      [hint("MovedOut"), hint("Created"), hint("Written"), hint("Closed")],
      TEXT,
      [1],
    ],
    "removed with its whole directory": [[hint("Deleted"), { type: "SelfGone" }], TEXT, [1]],
    "lost among too many events": [[{ type: "Unknown" }], TEXT, [1]],
  };
  test.each(Object.entries(cases))("%s", async (_sentence, [hints, text, expected]) => {
    using on = new ManifestDirectory();
    await running(on);
    replace(on, text);
    await on.hint(...hints);
    await on.clock.advance(2 * RESCAN);
    expect(lives(on)).toEqual([...expected]);
    expect(on.now().pods).toHaveLength(1);
    await on.stop();
  });

  test("begins a new life also if it looks exactly as before: same inode, size and time", async () => {
    using on = new ManifestDirectory();
    await running(on);
    const { ino, mtimeMs } = statSync(on.path(NAME));
    await on.hint(hint("Deleted"), hint("MovedIn"));
    await on.clock.advance(RESCAN);
    expect(statSync(on.path(NAME))).toMatchObject({ ino, mtimeMs });
    expect(lives(on)).toEqual([0, 1]);
    await on.stop();
  });

  test("runs until the copy has come to rest, 250 ms", async () => {
    using on = new ManifestDirectory();
    await running(on);
    replace(on, TEXT);
    await on.hint(hint("Deleted"), hint("Created"));
    await on.hint(hint("Written"), hint("Closed"));
    await on.clock.advance(249);
    expect(lives(on)).toEqual([]);
    await on.clock.advance(1);
    expect(lives(on)).toEqual([0, 1]);
    await on.stop();
  });
});

test("files that go one by one before their directory does begin no new lives", async () => {
  using on = new ManifestDirectory();
  await running(on);
  rmSync(on.path(NAME));
  await on.hint(hint("Deleted"));
  await on.clock.advance(20);
  rmSync(on.directory, { recursive: true });
  mkdirSync(on.directory);
  writeFileSync(on.path(NAME), TEXT);
  await on.hint({ type: "SelfGone" });
  await on.clock.advance(2 * RESCAN);
  expect(lives(on).every((count) => count === 1)).toBe(true);
  expect(on.now()).toEqual({ ready: true, pods: ["web busybox:1"], rejected: [] });
  await on.stop();
});

test("without inotify, a file seen absent and there again as it was begins a new life", async () => {
  using on = new ManifestDirectory();
  await running(on);
  rmSync(on.path(NAME));
  await on.hint({ type: "CameOrWent", name: NAME });
  await on.clock.advance(20);
  writeFileSync(on.path(NAME), TEXT);
  await on.hint({ type: "CameOrWent", name: NAME });
  expect(lives(on)).toEqual([]);
  await on.clock.advance(5);
  expect(lives(on)).toEqual([0, 1]);
  await on.stop();
});

test("a file that an editor renames away and writes anew, seen absent, is no order", async () => {
  using on = new ManifestDirectory();
  await running(on);
  renameSync(on.path(NAME), on.path(`${NAME}~`));
  await on.hint(hint("MovedOut"));
  await on.clock.advance(20);
  writeFileSync(on.path(NAME), TEXT);
  await on.hint(hint("Created"), hint("Written"), hint("Closed"));
  await on.clock.advance(RESCAN);
  expect(lives(on).every((count) => count === 1)).toBe(true);
  await on.stop();
});

describe("how soon a file is read", () => {
  test("renamed into place: at once", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move(NAME, TEXT);
    expect(on.now().pods).toEqual(["web busybox:1"]);
    await on.stop();
  });

  test("renamed into place while somebody still writes to it: after a rest", async () => {
    using on = new ManifestDirectory();
    await on.start();
    writeFileSync(on.path(NAME), TEXT);
    await on.hint(hint("MovedIn"), hint("Written"), hint("Closed"));
    await on.clock.advance(249);
    expect(on.now().pods).toEqual([]);
    await on.clock.advance(1);
    expect(on.now().pods).toEqual(["web busybox:1"]);
    await on.stop();
  });

  test("created, written and closed: after a rest, which closing does not shorten", async () => {
    using on = new ManifestDirectory();
    await on.start();
    writeFileSync(on.path(NAME), "");
    await on.hint(hint("Created"));
    writeFileSync(on.path(NAME), TEXT);
    await on.hint(hint("Written"));
    await on.hint(hint("Closed"));
    await on.clock.advance(249);
    expect(on.now().pods).toEqual([]);
    await on.clock.advance(1);
    expect(on.now().pods).toEqual(["web busybox:1"]);
    await on.stop();
  });

  test("renamed into place a moment after another hint, whose repetition woke nobody: 5 ms", async () => {
    using on = new ManifestDirectory();
    await on.start();
    await on.move(NAME, TEXT);
    writeFileSync(`${on.root}/new`, manifest("web", "busybox:2"));
    renameSync(`${on.root}/new`, on.path(NAME));
    on.unheard.push(hint("MovedIn"));
    await on.clock.advance(5);
    expect(on.now().pods).toEqual(["web busybox:2"]);
    await on.stop();
  });
});
