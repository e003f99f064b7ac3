import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tailOfLog } from "../../../src/runtime/logs/log-files.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";

const newDirectory = temporaryDirectories();

function aLog(content: Readonly<Record<string, string>>) {
  const directory = newDirectory();
  for (const [name, text] of Object.entries(content)) writeFileSync(join(directory, name), text);
  return (bytes: number): string | undefined => {
    const tail = tailOfLog(realFiles(), join(directory, "0.log"), bytes);
    return tail === undefined ? undefined : new TextDecoder().decode(tail);
  };
}

describe("the last bytes of a log", () => {
  const rotated = { "0.log.20260101-000001.gz": "zz", "0.log.20260101-000002": "cd" };

  test("come from the present file if it has enough", () => {
    expect(aLog({ ...rotated, "0.log": "efgh" })(3)).toBe("fgh");
  });

  test("begin in the file that was rotated last if the present one is short", () => {
    expect(aLog({ ...rotated, "0.log": "ef" })(3)).toBe("def");
    expect(aLog({ ...rotated, "0.log": "ef", "10.log.1": "no" })(9)).toBe("cdef");
  });

  test("are there while a rotation is under way", () => {
    expect(aLog(rotated)(9)).toBe("cd");
  });

  test("are nothing without a log", () => {
    expect(aLog({})(9)).toBeUndefined();
    expect(aLog({ "0.log.1.gz": "zz" })(9)).toBeUndefined();
  });
});
