// Performs: reads the kernel's table of mounts. Pure.

export interface MountLine {
  readonly point: string;
  /** What is mounted there, as a path inside of its filesystem; `//deleted` behind it = it was removed since. */
  readonly root: string;
}

/** In the order they were mounted, from the text of /proc/self/mountinfo. */
export function parseMounts(mountinfo: string): readonly MountLine[] {
  return mountinfo.split("\n").flatMap((line) => {
    const [, , , root, point] = line.split(" ");
    if (root === undefined || point === undefined) return [];
    return [{ point: unescapeOctal(point), root: unescapeOctal(root) }];
  });
}

/** Mount points alone. */
export function parseMountPoints(mountinfo: string): readonly string[] {
  return parseMounts(mountinfo).map(({ point }) => point);
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
