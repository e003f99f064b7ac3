// The lines that differ between two texts, as `diff -u` prints them.

/** Unchanged lines around each change. */
const CONTEXT = 3;
/** Pairs of lines that are compared; of larger texts all between the first and the last change counts as changed. */
const MAX_PAIRS = 4_000_000;

type Line = readonly [sign: " " | "-" | "+", text: string];

/** Hunks with their heads; [] = the texts are equal. */
export function unifiedDiff(before: string, after: string): readonly string[] {
  if (before === after) return [];
  return hunksOf(compared(linesOf(before), linesOf(after)));
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function compared(a: readonly string[], b: readonly string[]): readonly Line[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  const shorter = Math.min(a.length, b.length) - start;
  while (end < shorter && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  return [
    ...a.slice(0, start).map(unchanged),
    ...changes(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(unchanged),
  ];
}

function unchanged(text: string): Line {
  return [" ", text];
}

/** By the longest common subsequence. */
function changes(a: readonly string[], b: readonly string[]): readonly Line[] {
  const width = b.length + 1;
  if ((a.length + 1) * width > MAX_PAIRS)
    return [...a.map((text): Line => ["-", text]), ...b.map((text): Line => ["+", text])];
  // Of the lines from here to both ends, how many are common.
  const common = new Uint32Array((a.length + 1) * width);
  const at = (x: number, y: number): number => common[x * width + y] ?? 0;
  for (let x = a.length - 1; x >= 0; x -= 1)
    for (let y = b.length - 1; y >= 0; y -= 1)
      common[x * width + y] =
        a[x] === b[y] ? at(x + 1, y + 1) + 1 : Math.max(at(x + 1, y), at(x, y + 1));
  const lines: Line[] = [];
  let [x, y] = [0, 0];
  while (x < a.length || y < b.length) {
    const [left, right] = [a[x], b[y]];
    if (left !== undefined && left === right) {
      lines.push(unchanged(left));
      [x, y] = [x + 1, y + 1];
    } else if (left !== undefined && (right === undefined || at(x + 1, y) >= at(x, y + 1))) {
      lines.push(["-", left]);
      x += 1;
    } else {
      lines.push(["+", right ?? ""]);
      y += 1;
    }
  }
  return lines;
}

function hunksOf(lines: readonly Line[]): readonly string[] {
  const changed = lines.flatMap(([sign], index) => (sign === " " ? [] : [index]));
  const hunks: { from: number; to: number }[] = [];
  for (const index of changed) {
    const last = hunks.at(-1);
    const [from, to] = [Math.max(0, index - CONTEXT), Math.min(lines.length, index + CONTEXT + 1)];
    if (last !== undefined && from <= last.to) last.to = to;
    else hunks.push({ from, to });
  }
  return hunks.flatMap(({ from, to }) => {
    const own = lines.slice(from, to);
    const place = (sign: "-" | "+"): string => {
      const isOn = ([one]: Line): boolean => one === " " || one === sign;
      const count = own.filter(isOn).length;
      const first = lines.slice(0, from).filter(isOn).length + (count === 0 ? 0 : 1);
      return count === 1 ? String(first) : `${first},${count}`;
    };
    return [`@@ -${place("-")} +${place("+")} @@`, ...own.map(([sign, text]) => sign + text)];
  });
}
