import { describe, expect, test } from "bun:test";
import { join, relative } from "node:path";
import fc from "fast-check";
import { messageOf } from "../../../../src/lib/errors.ts";
import {
  archivedName,
  baseName,
  copyPlace,
  directoryName,
  placedEntry,
} from "../../../../src/cli/stream/copy-places.ts";

describe("a place", () => {
  test.each([
    ["web:/tmp/a", { pod: { namespace: undefined, name: "web" }, path: "/tmp/a" }],
    ["shop/web:a", { pod: { namespace: "shop", name: "web" }, path: "a" }],
    ["a/b", { pod: undefined, path: "a/b" }],
    ["./a:b", { pod: undefined, path: "./a:b" }],
    ["/a:b", { pod: undefined, path: "/a:b" }],
  ])("%s", (written, expected) => {
    expect(copyPlace(written)).toEqual(expected);
  });

  test.each([":/tmp", "a/b/c:/tmp", "/x/:", "shop/:a"].filter((one) => !one.startsWith("/")))(
    "%s is refused",
    (written) => {
      let message = "";
      try {
        copyPlace(written);
      } catch (error) {
        message = messageOf(error);
      }
      expect(message).toContain("canonical format");
    },
  );
});

test.each([
  ["/tmp/a", "a", "/tmp"],
  ["/a", "a", "/"],
  ["a", "a", "."],
  ["a/b/", "b", "a"],
  ["/a/../b/./c", "c", "/b"],
])("%s has the base %s in %s", (path, base, directory) => {
  expect([baseName(path), directoryName(path)]).toEqual([base, directory]);
});

test.each([
  ["/etc/hosts", "etc/hosts"],
  ["../../etc", "etc"],
  ["./a/../b", "b"],
  [".", ""],
  ["..", ""],
])("tar writes %s as %s", (path, name) => {
  expect(archivedName(path)).toBe(name);
});

describe("an entry of an archive", () => {
  test.each([
    ["tmp/a/b", "/tmp/a", { type: "Inside", path: "b" }],
    ["tmp/a/", "/tmp/a", { type: "Inside", path: "" }],
    ["./b", ".", { type: "Inside", path: "b" }],
    ["tmp/ab", "/tmp/a", { type: "Outside" }],
    ["etc/passwd", "/tmp/a", { type: "Outside" }],
    ["tmp/a/../../etc", "/tmp/a", { type: "Outside" }],
    ["/etc/passwd", ".", { type: "Outside" }],
    ["../x", ".", { type: "Outside" }],
  ])("%s of %s", (entry, source, expected) => {
    expect(placedEntry(entry, source)).toEqual(expected as never);
  });

  test("never leaves the destination", () => {
    const part = fc.constantFrom("..", ".", "a", "b", "", "tmp", "..a", "\0");
    const path = fc
      .tuple(fc.boolean(), fc.array(part, { maxLength: 8 }))
      .map(([isAbsolute, parts]) => (isAbsolute ? "/" : "") + parts.join("/"));
    fc.assert(
      fc.property(path, path, (entry, source) => {
        const placed = placedEntry(entry, source);
        if (placed.type === "Outside") return;
        const target = join("/home/me/dest", placed.path);
        expect(relative("/home/me/dest", target).split("/")).not.toContain("..");
        expect(target).not.toContain("\0");
      }),
      { numRuns: 2000 },
    );
  });
});
