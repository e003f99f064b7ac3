import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  logDirectory,
  nextSuffix,
  planRotation,
} from "../../../../src/runtime/logs/rotated-logs.ts";

const NOW = Date.parse("2026-03-04T05:06:07Z");

function plan(names: readonly string[], maxFiles = 5, now = NOW) {
  const entries = names.map((name) => ({ name }));
  return planRotation("3.log", logDirectory("3.log", entries), { maxFiles, now });
}

describe("one rotation", () => {
  test("gives the log a name with the present time", () => {
    expect(plan(["3.log"])).toEqual({
      remove: [],
      rotateTo: "3.log.20260304-050607",
      compress: [],
    });
  });

  test("compresses older logs, and removes the oldest beyond the limit", () => {
    const names = ["3.log", "3.log.20260101-000003", "3.log.20260101-000001.gz"];
    expect(plan([...names, "3.log.20260101-000002.gz", "3.log.20260101-000004"], 4)).toEqual({
      remove: ["3.log.20260101-000001.gz", "3.log.20260101-000002.gz"],
      rotateTo: "3.log.20260304-050607",
      compress: ["3.log.20260101-000003", "3.log.20260101-000004"],
    });
  });

  test("keeps no rotated log beside the new one with two files", () => {
    const { remove, compress } = plan(["3.log", "3.log.20260101-000001"], 2);
    expect(remove).toEqual(["3.log.20260101-000001"]);
    expect(compress).toEqual([]);
  });

  test("removes what a compression left that did not end, and the original of one that did", () => {
    const names = ["3.log", "3.log.20260101-000001.tmp", "3.log.20260101-000001"];
    expect(plan(names).remove).toEqual(["3.log.20260101-000001.tmp"]);
    const { remove, compress } = plan([...names, "3.log.20260101-000001.gz"]);
    expect(remove).toEqual(["3.log.20260101-000001.tmp", "3.log.20260101-000001"]);
    expect(compress).toEqual([]);
  });

  test("leaves other instances' logs and files of others alone", () => {
    const others = ["13.log.20260101-000001", "3.log.1", "3.log.20260199-000001", "3.log.bak.tmp"];
    expect(plan(["3.log", ...others], 2)).toEqual({
      remove: [],
      rotateTo: "3.log.20260304-050607",
      compress: [],
    });
  });
});

describe("the suffix of a rotated log", () => {
  test("is above the newest one when the clock was set back", () => {
    expect(nextSuffix("20260304-235959", Date.parse("1970-01-01T00:00:10Z"))).toBe(
      "20260305-000000",
    );
  });

  test("is above the newest one within the same second", () => {
    expect(nextSuffix("20260304-050607", NOW + 400)).toBe("20260304-050608");
  });

  test("follows the order of rotations, whatever the clock shows", () => {
    const clocks = fc.array(fc.integer({ min: 0, max: 4e12 }), { minLength: 2, maxLength: 30 });
    fc.assert(
      fc.property(clocks, (times) => {
        const names: string[] = [];
        for (const now of times) {
          const entries = names.map((name) => ({ name }));
          const found = logDirectory("0.log", entries);
          expect(found.rotated.map(({ name }) => name)).toEqual(names);
          names.push(planRotation("0.log", found, { maxFiles: 1000, now }).rotateTo);
        }
      }),
    );
  });
});
