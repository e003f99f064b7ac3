// The versions on a real disk, and the small files that the launcher reads.

import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import type { Trial, Versions } from "../../../src/host/versions/versions.ts";
import { versionsOf } from "../../../src/host/versions/version-directory.ts";
import {
  isVersionName,
  readFailures,
  readTrial,
  versionName,
  writeTrial,
} from "../../../src/host/versions/version-records.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";

const temp = makeTempDirectory();
afterAll(() => temp.remove());
const never = new AbortController().signal;

interface Stage {
  readonly place: string;
  readonly versions: Versions;
  readonly add: (name: string) => Trial;
}

let stages = 0;

function stage(): Stage {
  stages += 1;
  const root = temp.directory(`stage-${stages}`);
  const place = join(root, "self-update");
  const installed = join(root, "agent");
  writeFileSync(installed, "installed");
  const versions = versionsOf({ AGENT_LAUNCH_DIR: place, AGENT_LAUNCH_INSTALLED: installed });
  if (versions === undefined) throw new Error("the launcher's words are not understood");
  return {
    place,
    versions,
    add: (name) => {
      const path = versions.incoming("x");
      writeFileSync(path, `binary ${name}`);
      versions.add({ name, path });
      return { name, sha256: "ab", version: name, from: "1", hadBroker: true };
    },
  };
}

test("without the launcher there are no versions", () => {
  expect(versionsOf({})).toBeUndefined();
  expect(versionsOf({ AGENT_LAUNCH_DIR: "/x" })).toBeUndefined();
});

test("the launcher's words are read", () => {
  const words = { AGENT_LAUNCH_DIR: "/x", AGENT_LAUNCH_INSTALLED: "/b" };
  expect(versionsOf(words)?.launch).toEqual({ installed: "/b" });
  const trial = { AGENT_LAUNCH_TRIAL: "2-ab", AGENT_LAUNCH_UNTIL: "300" };
  expect(versionsOf({ ...words, ...trial })?.launch).toEqual({
    installed: "/b",
    trial: "2-ab",
    until: 300_000,
  });
});

test("a version lies beside the others, can be executed, and knows the installed binary", () => {
  const { place, add } = stage();
  add("2");
  const directory = join(place, "versions/2");
  expect(statSync(join(directory, "agent")).mode & 0o777).toBe(0o755);
  const [size] = readFileSync(join(directory, "beside"), "utf8").split("-");
  expect(size).toBe("9");
});

test("a trial becomes the current version, and only three versions are kept", () => {
  const { place, versions, add } = stage();
  for (const name of ["2", "3", "4"]) {
    writeFileSync(join(place, "..", "agent"), "installed");
    const trial = add(name);
    writeFileSync(join(place, "starts"), "x");
    versions.begin(trial);
    expect(existsSync(join(place, "starts"))).toBe(false);
    expect(versions.trial()).toEqual(trial);
    versions.confirm(name);
    expect(versions.trial()).toBeUndefined();
  }
  expect([versions.current(), versions.previous()]).toEqual(["4", "3"]);
  expect(readlinkSync(join(place, "current"))).toBe("versions/4");
  expect(readdirSync(join(place, "versions"))).toEqual(["3", "4"]);
});

test("confirming once more, after a power cut, keeps the previous version", () => {
  const { versions, add } = stage();
  versions.begin(add("2"));
  versions.confirm("2");
  const trial = add("3");
  versions.begin(trial);
  versions.confirm("3");
  versions.begin(trial);
  versions.confirm("3");
  expect([versions.current(), versions.previous()]).toEqual(["3", "2"]);
});

test("going back changes places with the previous one, also with the installed binary", () => {
  const { place, versions, add } = stage();
  expect(versions.hasPrevious()).toBe(false);
  versions.begin(add("2"));
  versions.confirm("2");
  expect([versions.hasPrevious(), versions.previous()]).toEqual([true, undefined]);
  versions.back();
  expect([versions.current(), versions.previous()]).toEqual([undefined, "2"]);
  expect(existsSync(join(place, "current"))).toBe(false);
  versions.back();
  expect([versions.current(), versions.previous()]).toEqual(["2", undefined]);
});

test("a failure is remembered until it is forgotten", () => {
  const { place, versions, add } = stage();
  const trial = add("2");
  versions.begin(trial);
  versions.giveUp(trial, "it\ncrashes  often");
  expect(versions.trial()).toBeUndefined();
  expect(readFileSync(join(place, "failed"), "utf8")).toBe("ab 2 it crashes often\n");
  expect(versions.failures()).toEqual([{ sha256: "ab", name: "2", reason: "it crashes often" }]);
  versions.forget("ab");
  expect(versions.failures()).toEqual([]);
});

test("one binary is gathered at a time, and a file is copied within its bound", async () => {
  const { place, versions } = stage();
  writeFileSync(versions.incoming("a"), "half");
  const path = versions.incoming("b");
  expect(readdirSync(join(place, "incoming"))).toEqual([]);
  const from = join(place, "source");
  writeFileSync(from, "0123456789");
  await versions.copy(from, path, { maxBytes: 10, signal: never });
  expect(await versions.digest(path, never)).toEqual({
    sha256: "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882",
    size: 10,
  });
  const refused = versions.copy(from, path, { maxBytes: 9, signal: never });
  expect(refused).rejects.toThrow("at most 9");
  expect(versions.copy("/nonexistent", path, { maxBytes: 9, signal: never })).rejects.toThrow(
    "no file",
  );
  mkdirSync(join(place, "d"));
  expect(versions.copy(join(place, "d"), path, { maxBytes: 9, signal: never })).rejects.toThrow(
    "no file",
  );
});

describe("records", () => {
  test("a trial is read as it was written", () => {
    const trial = { name: "2-ab", sha256: "ab", version: "2=x", from: "1", hadBroker: false };
    expect(readTrial(writeTrial(trial))).toEqual(trial);
    expect(readTrial("name=../x\n")).toBeUndefined();
    expect(readTrial("")).toBeUndefined();
  });

  test("a torn line of a failure is left out", () => {
    expect(readFailures("ab 2 why\ncd 3\n\nef")).toEqual([
      { sha256: "ab", name: "2", reason: "why" },
    ]);
  });

  test.each(["1.0+ab.dirty", "", "../..", "a/b c", ".hidden", "x".repeat(200)])(
    "the name of version %j leads nowhere else",
    (version) => {
      expect(isVersionName(versionName(version, "0123456789abcdef"))).toBe(true);
    },
  );
});
