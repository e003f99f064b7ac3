import { describe, expect, test } from "bun:test";
import type { HostPathType } from "../../../src/api/v1/volumes.ts";
import type { EntryKind } from "../../../src/host/bind-mount.ts";
import { hostPathAction } from "../../../src/volume/host-path.ts";

const FOUND: readonly (EntryKind | undefined)[] = [
  undefined,
  "directory",
  "file",
  "socket",
  "charDevice",
  "blockDevice",
  "symlink",
  "other",
];

/** For each of FOUND: U = used, D = directory created, F = file created, - = refused. */
const table: Record<HostPathType, string> = {
  "": "UUUUUUUU",
  DirectoryOrCreate: "DU------",
  Directory: "-U------",
  FileOrCreate: "F-U-----",
  File: "--U-----",
  Socket: "---U----",
  CharDevice: "----U---",
  BlockDevice: "-----U--",
};

const LETTERS = { Use: "U", CreateDirectory: "D", CreateFile: "F" } as const;

function letter(type: HostPathType, found: EntryKind | undefined): string {
  try {
    return LETTERS[hostPathAction("/x", type, found)];
  } catch (error) {
    expect(error).toMatchObject({ reason: "FailedMount" });
    return "-";
  }
}

describe("hostPathAction", () => {
  test.each(Object.entries(table))('type "%s"', (type, expected) => {
    expect(FOUND.map((found) => letter(type as HostPathType, found)).join("")).toBe(expected);
  });

  test("a refusal names the required type and the present one", () => {
    const failed = "hostPath type check failed:";
    expect(() => hostPathAction("/dev/x", "CharDevice", undefined)).toThrow(
      new Error(`${failed} /dev/x is not a character device: it does not exist`),
    );
    expect(() => hostPathAction("/data", "Directory", "file")).toThrow(
      new Error(`${failed} /data is not a directory: it is a file`),
    );
  });
});
