import { describe, expect, test } from "bun:test";

import {
  binaryUrlError,
  decodeAgentRelease,
  MAX_BINARY_BYTES,
  platformOf,
  versionError,
} from "../../../src/protocol/agent-release.ts";

const GOOD = {
  version: "1.4.0+ab",
  platform: "linux-arm64",
  sha256: "a".repeat(64),
  size: 5,
} as const;

function decode(changes: object) {
  const text = JSON.stringify({ ...GOOD, ...changes });
  return decodeAgentRelease(new TextEncoder().encode(text));
}

describe("a release", () => {
  test("is read, also with fields of a newer agent", () => {
    const read = decode({ newer: 1 });
    expect(read.ok && read.value).toEqual(GOOD);
  });

  test.each([
    { version: "" },
    { version: "../../etc" },
    { version: "1 2" },
    { version: "a".repeat(65) },
    { platform: "linux-mips" },
    { platform: undefined },
    { sha256: "A".repeat(64) },
    { sha256: "a".repeat(63) },
    { size: 0 },
    { size: MAX_BINARY_BYTES + 1 },
    { size: 1.5 },
  ])("is refused with %j", (changes) => {
    expect(decode(changes).ok).toBe(false);
  });

  test("is refused if it is no JSON", () => {
    expect(decodeAgentRelease(new Uint8Array([0xff])).ok).toBe(false);
  });
});

test.each([
  ["http://h/agent", undefined],
  ["https://h:1/a?token=x", undefined],
  ["ftp://h/a", "must be an http or https address"],
  ["/agent", "must be an http or https address"],
  ["http://u:p@h/a", "must not contain a user or a password"],
  [`http://h/${"a".repeat(2048)}`, "must have at most 2048 characters"],
])("the address %s", (url, wrong) => {
  expect(binaryUrlError(url)).toBe(wrong);
});

test("a version names a directory, so it contains nothing that leads elsewhere", () => {
  for (const good of ["1.0", "0.1.0+ab12.dirty", "2~rc1"])
    expect(versionError(good)).toBeUndefined();
  for (const bad of ["", ".", "..", "-x", "a/b", "a b", "a\nb"])
    expect(versionError(bad)).toBeString();
});

test("platforms are known by each spelling of the processor", () => {
  expect(["arm64", "aarch64", "x64", "amd64", "x86_64", "arm"].map(platformOf)).toEqual([
    "linux-arm64",
    "linux-arm64",
    "linux-x64",
    "linux-x64",
    "linux-x64",
    undefined,
  ]);
});
