import { beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pemOfPublicKey } from "../../fakes/public-key-pem.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { readRootKeys, readTrustDirectory } from "../../../src/host/root-keys.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const ROOT_KEYS = join(import.meta.dir, "../../../src/host/root-keys.ts");
const REAL_FILES = join(import.meta.dir, "../../../src/host/real-files.ts");
const newDirectory = temporaryDirectories();
const files = realFiles();
const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);

let directory: string;

beforeEach(() => {
  directory = join(newDirectory(), "trust.d");
  mkdirSync(directory, { mode: 0o755 });
});

function put(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text, { mode: 0o644 });
  return path;
}

test("the keys come by file name, each once, with their files", () => {
  put("b.pub", pemOfPublicKey(key(2)));
  put("a.pub", pemOfPublicKey(key(1)));
  put("c.pub", pemOfPublicKey(key(1)));
  expect(readRootKeys(files, directory)).toEqual({ keys: [key(1), key(2)], problems: [] });
  expect(readTrustDirectory(files, directory).keys).toEqual([
    { key: key(1), path: join(directory, "a.pub") },
    { key: key(2), path: join(directory, "b.pub") },
    { key: key(1), path: join(directory, "c.pub") },
  ]);
});

test("nothing, and what no operator means as a key, is no problem", () => {
  expect(readRootKeys(files, join(directory, "missing"))).toEqual({ keys: [], problems: [] });
  expect(readRootKeys(files, directory)).toEqual({ keys: [], problems: [] });
  put("README", "no key");
  put(".hidden.pub", pemOfPublicKey(key(1)));
  put(".root.pub.swp", "of an editor");
  expect(readRootKeys(files, directory)).toEqual({ keys: [], problems: [] });
});

test("a link to a directory is a directory, one that leads nowhere is said", () => {
  put("a.pub", pemOfPublicKey(key(1)));
  const link = join(newDirectory(), "link");
  symlinkSync(directory, link);
  expect(readRootKeys(files, link)).toEqual({ keys: [key(1)], problems: [] });
  rmSync(directory, { recursive: true });
  expect(readRootKeys(files, link)).toEqual({
    keys: [],
    problems: [`${link} is a broken link; replace it by a directory`],
  });
});

test("a file in place of the directory has no keys", () => {
  rmSync(directory, { recursive: true });
  writeFileSync(directory, pemOfPublicKey(key(1)));
  expect(readRootKeys(files, directory)).toEqual({
    keys: [],
    problems: [`${directory} is not a directory; replace it by a directory with the public keys`],
  });
});

describe("what others may change does not count:", () => {
  const STRANGER = 4242;
  const cases: Readonly<
    Record<string, readonly [change: (path: string) => void, what: string, remedy: string]>
  > = {
    "of another user": [
      (path) => chownSync(path, STRANGER, 0),
      `belongs to user ${STRANGER}`,
      "chown root: PATH && chmod go-w PATH",
    ],
    "writable by its group": [
      (path) => chmodSync(path, 0o775),
      "is writable by its group",
      "chmod go-w PATH",
    ],
    "writable by all users": [
      (path) => chmodSync(path, 0o777),
      "is writable by all users",
      "chmod go-w PATH",
    ],
  };
  test.each(Object.entries(cases))("%s", (_case, [change, what, remedy]) => {
    const path = put("a.pub", pemOfPublicKey(key(1)));
    put("b.pub", pemOfPublicKey(key(2)));
    change(path);
    const toDo = (of: string): string => remedy.replaceAll("PATH", of);
    expect(readRootKeys(files, directory)).toEqual({
      keys: [key(2)],
      problems: [`${path} ${what}, so it is ignored; ${toDo(path)}`],
    });
    change(directory);
    expect(readRootKeys(files, directory)).toEqual({
      keys: [],
      problems: [`${directory} ${what}, so its keys are ignored; ${toDo(directory)}`],
    });
  });

  test("of the user that runs the agent it counts", () => {
    put("a.pub", pemOfPublicKey(key(1)));
    const run = `
      const { readRootKeys } = await import(${JSON.stringify(ROOT_KEYS)});
      const { realFiles } = await import(${JSON.stringify(REAL_FILES)});
      process.seteuid(${STRANGER});
      console.log(JSON.stringify(readRootKeys(realFiles(), ${JSON.stringify(directory)})));`;
    chownSync(join(directory, ".."), STRANGER, 0);
    for (const path of [directory, join(directory, "a.pub")]) chownSync(path, STRANGER, 0);
    const child = Bun.spawnSync([process.execPath, "-e", run]);
    expect(child.stderr.toString()).toBe("");
    expect(JSON.parse(child.stdout.toString())).toMatchObject({ keys: [{}], problems: [] });
  });
});

describe("a file that is no key is named with the remedy, the others count:", () => {
  const REMEDY = "put the PEM text of a public Ed25519 key there (openssl pkey -pubout)";
  const cases: Readonly<Record<string, readonly [make: (path: string) => void, problem: string]>> =
    {
      "other text": [
        (path) => writeFileSync(path, "hello"),
        `is not a public Ed25519 key in PEM; ${REMEDY}`,
      ],
      "an empty file": [
        (path) => writeFileSync(path, ""),
        `is not a public Ed25519 key in PEM; ${REMEDY}`,
      ],
      "a large file": [
        (path) => writeFileSync(path, pemOfPublicKey(key(9)) + "#".repeat(5000)),
        `is larger than 4096 bytes; ${REMEDY}`,
      ],
      "a private key": [
        (path) => writeFileSync(path, "-----BEGIN PRIVATE KEY-----\n"),
        `contains a private key, which must not be stored on a node; remove it, create a new pair, and ${REMEDY}`,
      ],
      "a link": [
        (path) => symlinkSync(join(path, "../b.pub"), path),
        `is not a regular file; ${REMEDY}`,
      ],
      "a directory": [(path) => mkdirSync(path), `is not a regular file; ${REMEDY}`],
    };
  test.each(Object.entries(cases))("%s", (_case, [make, problem]) => {
    put("b.pub", pemOfPublicKey(key(2)));
    const path = join(directory, "a.pub");
    make(path);
    expect(readRootKeys(files, directory)).toEqual({
      keys: [key(2)],
      problems: [`${path} ${problem}`],
    });
  });
});

test("a key under another name is not missed in silence", () => {
  const path = put("root.pem", pemOfPublicKey(key(1)));
  expect(readRootKeys(files, directory)).toEqual({
    keys: [],
    problems: [
      `${path} is ignored, only files *.pub are read; rename it if it is a public key, remove it if it is a private one`,
    ],
  });
});

test("of too many the first count", () => {
  for (let number = 0; number < 66; number += 1)
    put(`${String(number).padStart(3, "0")}.pub`, pemOfPublicKey(key(number)));
  const { keys, problems } = readRootKeys(files, directory);
  expect(keys).toHaveLength(64);
  expect(keys.at(-1)).toEqual(key(63));
  expect(problems).toEqual([
    `${directory} has 66 files *.pub, only the first 64 by name are used; remove some`,
  ]);
});

test("a directory that cannot be read is a problem, and nothing is thrown", () => {
  const broken = {
    ...files,
    list: () => {
      throw new Error(`cannot list ${directory}: permission denied`);
    },
  };
  expect(readRootKeys(broken, directory)).toEqual({
    keys: [],
    problems: [`cannot list ${directory}: permission denied; make ${directory} readable`],
  });
});
