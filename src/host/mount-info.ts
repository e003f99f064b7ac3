// Reads the kernel's table of mounts. Pure.

/** Mount points in the order they were mounted, from the text of /proc/self/mountinfo. */
export function parseMountPoints(mountinfo: string): readonly string[] {
  return mountinfo
    .split("\n")
    .map((line) => line.split(" ")[4])
    .filter((field) => field !== undefined)
    .map(unescapeOctal);
}

/** The kernel writes space, tab, newline and backslash as three octal digits. */
function unescapeOctal(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/** Those strictly below `path`, deepest and newest first: the order in which to unmount them. */
export function mountPointsUnder(points: readonly string[], path: string): readonly string[] {
  const prefix = path.endsWith("/") ? path : `${path}/`;
  return points
    .filter((point) => point.startsWith(prefix) && point !== path)
    .toReversed()
    .toSorted((a, b) => depth(b) - depth(a));
}

function depth(path: string): number {
  return path.split("/").length;
}
