import { expect, test } from "bun:test";
import fc from "fast-check";
import { hangable, mountsBelow, parseMounts } from "../../../src/host/mount-table.ts";

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
        points.map((point) => ({ point, root: "/", type: "ext4", isShared: false })),
      );
    }),
  );
});

function mountPointsUnder(points: readonly string[], path: string): readonly string[] {
  const mounts = points.map((point) => ({ point, root: "/", type: "ext4", isShared: false }));
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

test("only what waits for another program may hang, and what is mounted over it hides it", () => {
  const mounts = [
    "21 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw",
    "22 21 0:30 / /mnt/nas rw shared:2 - nfs4 server:/x rw",
    "23 21 0:31 / /mnt/ssh rw - fuse.sshfs user@host: rw",
    "24 21 0:32 / /mnt/auto rw - autofs systemd-1 rw",
    "25 24 8:2 / /mnt/auto rw - xfs /dev/sdb1 rw",
  ];
  const parsed = parseMounts(mounts.join("\n"));
  expect([...hangable(parsed)]).toEqual([
    ["/mnt/nas", "nfs4"],
    ["/mnt/ssh", "fuse.sshfs"],
  ]);
  expect(parsed.map(({ isShared }) => isShared)).toEqual([true, true, false, false, false]);
});
