import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { realFiles } from "../../../src/host/real-files.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const files = realFiles();
const text = (data: Uint8Array): string => new TextDecoder().decode(data);

function makeFifo(path: string): void {
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
}

describe("looking", () => {
  test("lists what is there by lstat, sorted", () => {
    const directory = newDirectory();
    writeFileSync(join(directory, "b"), "four");
    mkdirSync(join(directory, "a"));
    symlinkSync("b", join(directory, "c"));
    makeFifo(join(directory, "d"));
    const found = files.list(directory).map(({ name, kind }) => `${name} ${kind}`);
    expect(found).toEqual(["a directory", "b file", "c symlink", "d other"]);
    expect(files.list(directory)[1]?.size).toBe(4);
  });

  test("tells a recreated directory from the one before", () => {
    const directory = newDirectory();
    mkdirSync(join(directory, "m"));
    mkdirSync(join(directory, "other"));
    const before = files.info(join(directory, "m"))?.identity;
    renameSync(join(directory, "other"), join(directory, "m"));
    expect(files.info(join(directory, "m"))?.identity).not.toBe(before);
  });

  test("says nothing of what is not there, and throws with the path otherwise", () => {
    const directory = newDirectory();
    const loop = join(directory, "loop");
    symlinkSync("loop", loop);
    symlinkSync("nowhere", join(directory, "broken"));
    writeFileSync(join(directory, "file"), "");
    expect(files.info(join(directory, "absent"))).toBeUndefined();
    expect(files.info(join(directory, "file", "below"))).toBeUndefined();
    expect(files.info(loop)?.kind).toBe("symlink");
    expect(files.target(loop)).toBeUndefined();
    expect(files.target(join(directory, "broken"))).toBeUndefined();
    const list = (): unknown => files.list(join(directory, "absent"));
    expect(list).toThrow(expect.objectContaining({ name: "AgentError", reason: "FileError" }));
    expect(list).toThrow(join(directory, "absent"));
  });

  test("follows a link only when asked to", () => {
    const directory = newDirectory();
    writeFileSync(join(directory, "file"), "x");
    symlinkSync("file", join(directory, "link"));
    expect(files.info(join(directory, "link"))?.kind).toBe("symlink");
    expect(files.target(join(directory, "link"))?.kind).toBe("file");
  });
});

describe("reading", () => {
  test.each([0, 1, 4096, 100_000])("gives all %d bytes of a regular file", (size) => {
    const path = join(newDirectory(), "file");
    const data = new Uint8Array(size).fill(7);
    writeFileSync(path, data);
    expect(files.read(path, size)).toEqual(data);
  });

  test("a file of /proc, whose size is said to be 0", () => {
    expect(text(files.read("/proc/self/status", 100_000))).toContain("Pid:");
  });

  test.each<readonly [string, (path: string) => void]>([
    ["larger than", (path) => writeFileSync(path, "x".repeat(101))],
    ["not a regular file", (path) => makeFifo(path)],
    ["not a regular file", (path) => mkdirSync(path)],
    ["ELOOP", (path) => symlinkSync("/etc/passwd", path)],
    ["ENOENT", () => undefined],
  ])("refuses at once: %s", (why, make) => {
    const path = join(newDirectory(), "it");
    make(path);
    expect(() => files.read(path, 100)).toThrow(why);
    expect(() => files.read("/proc/self/status", 10)).toThrow("larger than");
  });
});

describe("the tail of a file", () => {
  test.each([
    [0, ""],
    [3, "789"],
    [10, "0123456789"],
    [99, "0123456789"],
  ])("of %d bytes", (maxBytes, expected) => {
    const path = join(newDirectory(), "log");
    writeFileSync(path, "0123456789");
    expect(text(files.tail(path, maxBytes))).toBe(expected);
  });

  test("refuses what is not a regular file", () => {
    const path = join(newDirectory(), "fifo");
    makeFifo(path);
    expect(() => files.tail(path, 10)).toThrow("not a regular file");
  });
});

test("names the kind of a special file", () => {
  const directory = newDirectory();
  makeFifo(join(directory, "fifo"));
  expect(files.info(join(directory, "fifo"))?.special).toBeUndefined();
  expect(files.info("/dev/null")).toMatchObject({ kind: "other", special: "charDevice" });
  expect(files.info("/etc/passwd")?.special).toBeUndefined();
});

describe("writing", () => {
  test("replaces the whole file, with the mode as asked", () => {
    const path = join(newDirectory(), "file");
    const before = process.umask(0o077);
    try {
      files.writeAtomic(path, "first", 0o644);
      files.writeAtomic(path, new Uint8Array([1, 2]), 0o666);
    } finally {
      process.umask(before);
    }
    expect([...readFileSync(path)]).toEqual([1, 2]);
    expect(statSync(path).mode & 0o777).toBe(0o666);
    expect(readdirSync(join(path, ".."))).toEqual(["file"]);
  });

  test("replaces a link, not what it points to; a temporary file left by a crash is no obstacle", () => {
    const directory = newDirectory();
    writeFileSync(join(directory, "victim"), "untouched");
    symlinkSync("victim", join(directory, "file"));
    symlinkSync("victim", join(directory, ".file.tmp"));
    files.writeAtomic(join(directory, "file"), "new", 0o600);
    expect(readFileSync(join(directory, "victim"), "utf8")).toBe("untouched");
    expect(lstatSync(join(directory, "file")).isFile()).toBe(true);
    expect(readdirSync(directory).toSorted()).toEqual(["file", "victim"]);
  });

  test("leaves nothing behind when it fails", () => {
    const directory = newDirectory();
    mkdirSync(join(directory, "taken"));
    expect(() => files.writeAtomic(join(directory, "taken"), "x", 0o600)).toThrow("cannot write");
    expect(readdirSync(directory)).toEqual(["taken"]);
  });

  test("makes directories with the mode as asked, and leaves one that is there alone", () => {
    const path = join(newDirectory(), "a", "b");
    files.makeDirectory(path, 0o777);
    expect(statSync(path).mode & 0o777).toBe(0o777);
    files.makeDirectory(path, 0o700);
    expect(statSync(path).mode & 0o777).toBe(0o777);
    files.setMode(path, 0o700);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    writeFileSync(join(path, "file"), "");
    expect(() => files.makeDirectory(join(path, "file"), 0o700)).toThrow("cannot create");
  });

  test("creates a file or a directory only where nothing is, and through no link", () => {
    const directory = realpathSync(newDirectory());
    const at = (path: string): string => join(directory, path);
    files.createFile(at("file"), 0o604);
    files.createDirectory(at("a/b"), 0o705);
    const modes = ["file", "a", "a/b"].map((path) => statSync(at(path)).mode & 0o7777);
    expect(modes).toEqual([0o604, 0o705, 0o705]);
    writeFileSync(at("file"), "x");
    for (const path of ["file", "a"]) {
      files.createFile(at(path), 0o600);
      files.createDirectory(at(path), 0o600);
    }
    expect(readFileSync(at("file"), "utf8")).toBe("x");
    expect(statSync(at("a")).mode & 0o7777).toBe(0o705);
    symlinkSync("a", at("link"));
    const linked = `"${at("link")}/new" leads through a symbolic link`;
    expect(() => files.createFile(at("link/new"), 0o600)).toThrow(
      `cannot create the file ${at("link/new")}: "${at("link")}" leads through a symbolic link`,
    );
    expect(() => files.createDirectory(at("link/new"), 0o700)).toThrow(linked);
    expect(readdirSync(at("a"))).toEqual(["b"]);
  });

  test("renames, and removes a file that may be absent, but no directory", () => {
    const directory = newDirectory();
    writeFileSync(join(directory, "a"), "x");
    files.rename(join(directory, "a"), join(directory, "b"));
    files.remove(join(directory, "b"));
    files.remove(join(directory, "b"));
    expect(readdirSync(directory)).toEqual([]);
    expect(() => files.remove(directory)).toThrow("cannot remove");
    expect(existsSync(directory)).toBe(true);
  });
});

test("a directory that cannot be read is an error, not an empty list", () => {
  const path = join(newDirectory(), "file");
  writeFileSync(path, "");
  chmodSync(path, 0o600);
  expect(() => files.list(path)).toThrow("cannot list");
});

describe("reading beneath a directory that a pod writes to", () => {
  const MAX = 16;

  test("gives what a file holds, also through links that stay inside", () => {
    const root = newDirectory();
    mkdirSync(join(root, "d"));
    writeFileSync(join(root, "d/a.env"), "inside");
    symlinkSync("d", join(root, "link"));
    symlinkSync("link/a.env", join(root, "b.env"));
    for (const path of ["d/a.env", "link/a.env", "b.env"])
      expect(text(files.readBeneath(root, path, MAX) ?? new Uint8Array())).toBe("inside");
  });

  test("gives nothing where nothing is", () => {
    const root = newDirectory();
    symlinkSync("gone", join(root, "broken"));
    for (const path of ["a.env", "d/a.env", "broken"])
      expect(files.readBeneath(root, path, MAX)).toBeUndefined();
    expect(files.readBeneath(join(root, "gone"), "a.env", MAX)).toBeUndefined();
  });

  test("follows no link out of it", () => {
    const [outside, root] = [newDirectory(), newDirectory()];
    writeFileSync(join(outside, "secret"), "outside");
    symlinkSync(join(outside, "secret"), join(root, "absolute"));
    symlinkSync(`../${outside.split("/").at(-1)}/secret`, join(root, "relative"));
    symlinkSync(outside, join(root, "directory"));
    for (const path of ["absolute", "relative", "directory/secret"])
      expect(() => files.readBeneath(root, path, MAX)).toThrow(
        `${JSON.stringify(path)} leads out of the volume`,
      );
  });

  test("waits for no FIFO and reads no directory or device", () => {
    const root = newDirectory();
    makeFifo(join(root, "fifo"));
    mkdirSync(join(root, "directory"));
    for (const path of ["fifo", "directory"])
      expect(() => files.readBeneath(root, path, MAX)).toThrow(
        `${JSON.stringify(path)} is no regular file`,
      );
  });

  test("reads no more than allowed, however large the file says it is", () => {
    const root = newDirectory();
    writeFileSync(join(root, "full"), "x".repeat(MAX));
    expect(files.readBeneath(root, "full", MAX)).toHaveLength(MAX);
    writeFileSync(join(root, "more"), "x".repeat(MAX + 1));
    const sparse = join(root, "sparse");
    expect(Bun.spawnSync(["truncate", "-s", "1T", sparse]).exitCode).toBe(0);
    for (const path of ["more", "sparse"])
      expect(() => files.readBeneath(root, path, MAX)).toThrow(
        `${JSON.stringify(path)} is larger than ${MAX} bytes`,
      );
  });
});
