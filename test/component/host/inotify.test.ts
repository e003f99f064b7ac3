import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import type { DirectoryHint } from "../../../src/host/files.ts";
import { watchByInotify } from "../../../src/host/inotify.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { watchDirectory } from "../../../src/host/watch-directory.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const words = (hints: readonly DirectoryHint[]): readonly string[] =>
  hints.map((hint) => ("name" in hint ? `${hint.type} ${hint.name}` : hint.type));

function instances(): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === "anon_inode:inotify";
    } catch {
      return false;
    }
  }).length;
}

describe("the queue", () => {
  const cases: Readonly<
    Record<string, readonly [act: (path: string, other: string) => void, said: readonly string[]]>
  > = {
    "a file renamed in": [(path, other) => renameSync(other, path), ["MovedIn a"]],
    "a file created and written": [
      (path) => writeFileSync(path, "x"),
      ["Created a", "Written a", "Closed a"],
    ],
    "a file renamed over another": [
      (path, other) => {
        writeFileSync(path, "x");
        renameSync(other, path);
      },
      ["Created a", "Written a", "Closed a", "MovedIn a"],
    ],
    "a file renamed away": [
      (path, other) => {
        renameSync(other, path);
        renameSync(path, other);
      },
      ["MovedIn a", "MovedOut a"],
    ],
    "a file removed and copied in one go": [
      (path, other) => {
        renameSync(other, path);
        unlinkSync(path);
        writeFileSync(path, "x");
      },
      ["MovedIn a", "Deleted a", "Created a", "Written a", "Closed a"],
    ],
    "a file removed and renamed into place in one go": [
      (path, other) => {
        writeFileSync(path, "x");
        unlinkSync(path);
        renameSync(other, path);
      },
      ["Created a", "Written a", "Closed a", "Deleted a", "MovedIn a"],
    ],
  };
  test.each(Object.entries(cases))("tells of %s", (_sentence, [act, said]) => {
    const [directory, elsewhere] = [newDirectory(), newDirectory()];
    writeFileSync(join(elsewhere, "new"), "y");
    using queue = watchByInotify(directory);
    act(join(directory, "a"), join(elsewhere, "new"));
    expect(words(queue?.drain() ?? [])).toEqual([...said]);
    expect(queue?.drain()).toEqual([]);
  });

  test("tells of files that go with their directory, and of the directory", () => {
    const directory = join(newDirectory(), "d");
    mkdirSync(directory);
    writeFileSync(join(directory, "a"), "x");
    using queue = watchByInotify(directory);
    rmSync(directory, { recursive: true });
    const said = words(queue?.drain() ?? []);
    expect([said[0], said.at(-1)]).toEqual(["Deleted a", "SelfGone"]);
  });

  test("tells of a directory that is renamed, and follows a link to it", () => {
    const parent = newDirectory();
    mkdirSync(join(parent, "d"));
    symlinkSync("d", join(parent, "link"));
    using queue = watchByInotify(join(parent, "link"));
    renameSync(join(parent, "d"), join(parent, "e"));
    expect(words(queue?.drain() ?? [])).toEqual(["SelfGone"]);
  });

  test("keeps names of any length and script", () => {
    const directory = newDirectory();
    using queue = watchByInotify(directory);
    const names = ["x".repeat(255), "ключ.yaml", "a b\n.yaml"];
    for (const name of names) mkdirSync(join(directory, name));
    expect(words(queue?.drain() ?? [])).toEqual(names.map((name) => `Created ${name}`));
  });

  test("says when it has lost events", () => {
    const directory = newDirectory();
    using queue = watchByInotify(directory);
    const limit = Number(readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8"));
    const paths = ["a", "b"].map((name) => join(directory, name));
    // Each turn is at least two events that cannot be merged with their neighbours.
    for (let events = 0; events <= limit; events += 2)
      for (const path of paths) appendFileSync(path, "");
    const said = words(queue?.drain() ?? []);
    expect(said.at(-1)).toBe("Unknown");
    appendFileSync(join(directory, "a"), "x");
    expect(words(queue?.drain() ?? [])).toEqual(["Written a", "Closed a"]);
  });

  test("gives its descriptor back, and says nothing afterwards", () => {
    const before = instances();
    const directory = newDirectory();
    const queue = watchByInotify(directory);
    expect(instances()).toBe(before + 1);
    writeFileSync(join(directory, "a"), "x");
    queue?.[Symbol.dispose]();
    queue?.[Symbol.dispose]();
    expect([instances(), queue?.drain()]).toEqual([before, []]);
  });

  test("is not there for what is no directory, and leaks nothing", () => {
    const before = instances();
    const file = join(newDirectory(), "file");
    writeFileSync(file, "");
    expect([watchByInotify(file), watchByInotify(`${file}-absent`)]).toEqual([
      undefined,
      undefined,
    ]);
    expect(instances()).toBe(before);
  });
});

describe("watching", () => {
  /** Everything that is hinted at until `last`. */
  async function hintsUntil(
    last: string,
    watch: (onHint: (hint: DirectoryHint) => void) => Disposable,
    act: () => void,
  ): Promise<readonly string[]> {
    const seen: DirectoryHint[] = [];
    const found = Promise.withResolvers<undefined>();
    using _watch = watch((hint) => {
      seen.push(hint);
      if (words([hint])[0] === last) found.resolve(undefined);
    });
    act();
    await found.promise;
    return words(seen).filter((word) => word !== "Unknown");
  }

  test("wakes with exactly what happened, in order", async () => {
    const directory = newDirectory();
    const elsewhere = join(newDirectory(), "new");
    writeFileSync(elsewhere, "x");
    writeFileSync(join(directory, "a"), "x");
    const said = await hintsUntil(
      "MovedIn a",
      (onHint) => realFiles().watch(directory, onHint),
      () => {
        unlinkSync(join(directory, "a"));
        renameSync(elsewhere, join(directory, "a"));
      },
    );
    expect(said).toEqual(["Deleted a", "MovedIn a"]);
  });

  test("gives on request what has woken nobody", () => {
    const directory = newDirectory();
    const seen: DirectoryHint[] = [];
    using watching = realFiles().watch(directory, (hint) => seen.push(hint));
    writeFileSync(join(directory, "a"), "x");
    watching.poll();
    expect(words(seen)).toEqual(["Created a", "Written a", "Closed a"]);
  });

  test("without inotify of its own tells only that a name came or went, or was written", async () => {
    const parent = newDirectory();
    const directory = join(parent, "d");
    mkdirSync(directory);
    const vague = (onHint: (hint: DirectoryHint) => void) =>
      watchDirectory(directory, onHint, () => undefined);
    const moved = await hintsUntil("CameOrWent a", vague, () => {
      writeFileSync(join(parent, "new"), "x");
      renameSync(join(parent, "new"), join(directory, "a"));
    });
    expect(moved).toEqual(["CameOrWent a"]);
    const written = await hintsUntil("Written a", vague, () => {
      appendFileSync(join(directory, "a"), "x");
    });
    expect(written).toEqual(["Written a"]);
    const gone = await hintsUntil("SelfGone", vague, () => rmSync(directory, { recursive: true }));
    expect(gone.at(-1)).toBe("SelfGone");
  });

  test("gives both descriptors back", () => {
    const directory = newDirectory();
    realFiles()
      .watch(directory, () => undefined)
      [Symbol.dispose]();
    // Bun keeps one instance of its own for all watches.
    const before = instances();
    for (let i = 0; i < 20; i++)
      realFiles()
        .watch(directory, () => undefined)
        [Symbol.dispose]();
    expect(instances()).toBe(before);
  });

  test("a directory that is not there gives no hints and no error", () => {
    using watching = realFiles().watch(join(newDirectory(), "absent"), () => {
      throw new Error("a hint of nothing");
    });
    watching.poll();
    expect(watching[Symbol.dispose]).toBeFunction();
  });
});
