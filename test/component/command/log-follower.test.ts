import { describe, expect, test } from "bun:test";
import { appendFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LogFollower } from "../../../src/command/log-follower.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";

const newDirectory = temporaryDirectories();
const files = realFiles();

function following(before = "before\n") {
  const directory = newDirectory();
  const path = (attempt: number): string => join(directory, `${attempt}.log`);
  let newest: string | undefined = path(0);
  writeFileSync(path(0), before);
  const follower = new LogFollower({ files, path: () => newest });
  return {
    path,
    follower,
    turn: (to: number | undefined): void => {
      newest = to === undefined ? undefined : path(to);
    },
    lines: (): readonly string[] | undefined => follower.read()?.lines,
  };
}

describe("following a log", () => {
  test("gives what is written from now on, whole lines only, each once", () => {
    const { path, lines } = following();
    expect(lines()).toEqual([]);
    appendFileSync(path(0), "one\ntwo\nthr");
    expect(lines()).toEqual(["one", "two"]);
    expect(lines()).toEqual([]);
    appendFileSync(path(0), "ee\n");
    expect(lines()).toEqual(["three"]);
  });

  test("goes on in the next instance's log, and loses nothing of the one before", () => {
    const { path, lines, turn } = following();
    appendFileSync(path(0), "last\n");
    writeFileSync(path(1), "first\n");
    turn(1);
    expect(lines()).toEqual(["last"]);
    expect(lines()).toEqual(["first"]);
  });

  test("goes on in a log that was turned over or cut", () => {
    const { path, lines } = following();
    renameSync(path(0), `${path(0)}.1`);
    writeFileSync(path(0), "anew\n");
    expect(lines()).toEqual([]);
    expect(lines()).toEqual(["anew"]);
    truncateSync(path(0));
    appendFileSync(path(0), "x\n");
    expect(lines()).toEqual(["x"]);
  });

  test("loses and repeats no line at a rotation, also of what the runtime writes late", () => {
    const { path, lines } = following();
    const rotate = (suffix: string): void => renameSync(path(0), `${path(0)}.${suffix}`);
    appendFileSync(path(0), "one\n");
    rotate("20260101-000001");
    expect(lines()).toEqual(["one"]);
    writeFileSync(path(0), "four\n");
    appendFileSync(`${path(0)}.20260101-000001`, "two\n");
    expect(lines()).toEqual(["two"]);
    appendFileSync(`${path(0)}.20260101-000001`, "three\n");
    expect(lines()).toEqual(["three"]);
    expect(lines()).toEqual(["four"]);
    expect(lines()).toEqual([]);
  });

  test("reads what was rotated several times between two reads, in order", () => {
    const { path, lines, turn } = following();
    for (const n of [1, 2, 3]) {
      appendFileSync(path(0), `line ${n}\n`);
      renameSync(path(0), `${path(0)}.20260101-00000${n}`);
    }
    writeFileSync(path(0), "line 4\n");
    writeFileSync(path(1), "line 5\n");
    turn(1);
    const all = Array.from({ length: 8 }, () => lines() ?? []).flat();
    expect(all).toEqual(["line 1", "line 2", "line 3", "line 4", "line 5"]);
  });

  test("reports a gap when the file it was in has been compressed", () => {
    const { path, follower } = following();
    renameSync(path(0), `${path(0)}.20260101-000001.gz`);
    writeFileSync(`${path(0)}.20260101-000002`, "newer\n");
    writeFileSync(path(0), "newest\n");
    expect(follower.read()).toEqual({ lines: ["newer"], dropped: 1 });
    expect(follower.read()).toEqual({ lines: ["newest"], dropped: 0 });
  });

  test("goes on when a rotation was taken back", () => {
    const { path, lines } = following();
    renameSync(path(0), `${path(0)}.20260101-000001`);
    appendFileSync(`${path(0)}.20260101-000001`, "one\n");
    expect(lines()).toEqual(["one"]);
    renameSync(`${path(0)}.20260101-000001`, path(0));
    appendFileSync(path(0), "two\n");
    expect(lines()).toEqual(["two"]);
  });

  test("waits for a log that is not there yet, and ends when there is no container", () => {
    const { path, lines, turn } = following();
    rmSync(path(0));
    expect(lines()).toEqual([]);
    turn(undefined);
    expect(lines()).toEqual([]);
    expect(lines()).toBeUndefined();
  });

  test("leaves out the oldest of what is too much at once, and says so", () => {
    const { path, follower } = following();
    appendFileSync(path(0), `${"x".repeat(99)}\n`.repeat(20_000));
    const news = follower.read();
    expect(news?.dropped).toBeGreaterThan(0);
    expect(news?.lines.length).toBeGreaterThan(10_000);
    expect(new Set(news?.lines.map((line) => line.length))).toEqual(new Set([99]));
  });

  test("is not kept for ever by a line without an end", () => {
    const { path, lines } = following();
    appendFileSync(path(0), "y".repeat(2 * 1024 * 1024));
    lines();
    appendFileSync(path(0), "\nnext\n");
    lines();
    appendFileSync(path(0), "after\n");
    expect(lines()).toEqual(["after"]);
  });
});
