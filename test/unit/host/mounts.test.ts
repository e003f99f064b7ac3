import { expect, test } from "bun:test";
import fc from "fast-check";
import { mountsBelow, parseMounts } from "../../../src/host/mounts.ts";

function line(point: string): string {
  const escaped = point.replace(
    /[ \t\n\\]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
  return `36 35 98:0 / ${escaped} rw,noatime master:1 - ext4 /dev/root rw,errors=continue`;
}

test("every path comes back from the kernel's way of writing it", () => {
  const path = fc.string().map((text) => `/${text.replaceAll("\0", "")}`);
  fc.assert(
    fc.property(fc.array(path), (points) => {
      expect(parseMounts(points.map(line).join("\n"))).toEqual(
        points.map((point) => ({ point, root: "/" })),
      );
    }),
  );
});

function mountPointsUnder(points: readonly string[], path: string): readonly string[] {
  const mounts = points.map((point) => ({ point, root: "/" }));
  return mountsBelow(mounts, path).map(({ point }) => point);
}

test("only those strictly below count, a common beginning of the name does not", () => {
  const points = ["/", "/pods", "/pods/a", "/pods-b", "/pods/a/c"];
  expect(mountPointsUnder(points, "/pods")).toEqual(["/pods/a/c", "/pods/a"]);
  expect(mountPointsUnder(points, "/")).toEqual(["/pods/a/c", "/pods/a", "/pods-b", "/pods"]);
});

test("what was mounted last on the same place goes first", () => {
  expect(mountPointsUnder(["/p/a", "/p/b", "/p/a"], "/p")).toEqual(["/p/a", "/p/b", "/p/a"]);
});
