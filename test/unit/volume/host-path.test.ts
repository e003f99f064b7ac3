import { describe, expect, test } from "bun:test";
import type { HostPathType } from "../../../src/api/v1/volumes.ts";
import { hostPathAction, type HostPathFound } from "../../../src/volume/host-path.ts";

const FOUND: readonly (HostPathFound | undefined)[] = [
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

const LETTERS = { Use: "U", CreateDirectory: "D", CreateFile: "F", Refuse: "-" } as const;

describe("hostPathAction", () => {
  test.each(Object.entries(table))('type "%s"', (type, expected) => {
    const actions = FOUND.map((found) => hostPathAction("/x", type as HostPathType, found));
    expect(actions.map((action) => LETTERS[action.type]).join("")).toBe(expected);
  });

  test("a refusal names the required type and the present one", () => {
    expect(hostPathAction("/dev/x", "CharDevice", undefined)).toEqual({
      type: "Refuse",
      message: "hostPath type check failed: /dev/x is not a character device: it does not exist",
    });
    expect(hostPathAction("/data", "Directory", "file")).toEqual({
      type: "Refuse",
      message: "hostPath type check failed: /data is not a directory: it is a file",
    });
  });
});
