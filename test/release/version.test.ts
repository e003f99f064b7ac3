// Which version a build has, by the tags of the repository, and what Debian makes of it.

import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { output } from "../harness/run-command.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";
import { debianVersion } from "./debian-version.ts";

const ROOT = resolve(import.meta.dir, "../..");
const temp = makeTempDirectory();
afterAll(() => temp.remove());

describe("the version of a build", () => {
  const clone = temp.directory("clone");
  const git = (...words: readonly string[]): Promise<string> =>
    output(["git", "-C", clone, "-c", "user.name=n", "-c", "user.email=n@example", ...words]);
  const version = async (): Promise<string> =>
    (await output([join(clone, "build.sh"), "version"])).trim();
  const commit = async (): Promise<string> => {
    await git("commit", "-q", "--allow-empty", "-m", "one");
    return (await git("rev-parse", "--short=12", "HEAD")).trim();
  };

  test("is that of the tag, and names the commit wherever it is not exactly that", async () => {
    copyFileSync(join(ROOT, "build.sh"), join(clone, "build.sh"));
    writeFileSync(join(clone, "package.json"), '{\n  "version": "0.1.0",\n  "private": true\n}\n');
    mkdirSync(join(clone, "src"));
    writeFileSync(join(clone, "src/main.ts"), "");
    await git("init", "-q");
    await git("add", "-A");
    const first = await commit();
    expect(await version()).toBe(`0.1.0+${first}`);
    await git("tag", "v0.2.0");
    await git("tag", "not-a-release");
    expect(await version()).toBe("0.2.0");
    writeFileSync(join(clone, "src/main.ts"), "// edited\n");
    expect(await version()).toBe(`0.2.0+${first}.dirty`);
    await git("add", "-A");
    const second = await commit();
    expect(await version()).toBe(`0.2.0+${second}`);
    await git("tag", "-a", "v1.0.0-rc.1", "-m", "a candidate");
    expect(await version()).toBe("1.0.0-rc.1");
    const third = await commit();
    await git("tag", "v2.0.0.1");
    // No version: it counts as no release.
    expect(await version()).toBe(`0.1.0+${third}`);
  });
});

test("Debian's versions are in the order in which they were built", async () => {
  const time = 1_795_000_000;
  const built = [
    { version: "0.1.0+ffffffffffff", time },
    { version: "0.1.0+000000000000", time: time + 60 },
    { version: "0.1.0-rc.1", tag: "v0.1.0-rc.1", time },
    { version: "0.1.0", tag: "v0.1.0", time },
    { version: "0.1.0+ffffffffffff", tag: "v0.1.0", time },
    { version: "0.1.0+000000000000", tag: "v0.1.0", time: time + 60 },
    { version: "0.1.0+000000000000.dirty", tag: "v0.1.0", time: time + 60 },
    { version: "0.1.1", tag: "v0.1.1", time },
  ].map(debianVersion);
  expect(built.slice(2, 5)).toEqual([
    "0.1.0~rc.1",
    "0.1.0",
    "0.1.0+git20261118110640.ffffffffffff",
  ]);
  for (const [at, newer] of built.entries())
    if (at > 0) await output(["dpkg", "--compare-versions", built[at - 1]!, "lt", newer]);
});
