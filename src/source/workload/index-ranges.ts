// Sets of completion indexes as text, as Kubernetes shows them: `0-3,7`.

type Range = readonly [from: number, to: number];

function rangesOf(text: string): readonly Range[] {
  if (text === "") return [];
  return text.split(",").map((part): Range => {
    const [from = "0", to = from] = part.split("-");
    return [Number(from), Number(to)];
  });
}

function textOf(ranges: readonly Range[]): string {
  return ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(",");
}

export function addIndex(text: string, index: number): string {
  const sorted = [...rangesOf(text), [index, index] as const].toSorted((a, b) => a[0] - b[0]);
  const merged: Range[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && range[0] <= last[1] + 1)
      merged[merged.length - 1] = [last[0], Math.max(last[1], range[1])];
    else merged.push(range);
  }
  return textOf(merged);
}

export function sizeOf(text: string): number {
  return rangesOf(text).reduce((sum, [from, to]) => sum + to - from + 1, 0);
}

interface Wanted {
  readonly below: number;
  readonly without: ReadonlySet<number>;
  readonly count: number;
}

/** The lowest indexes that are neither in the set nor left out. */
export function firstIndexes(text: string, { below, without, count }: Wanted): readonly number[] {
  const ranges = rangesOf(text);
  const found: number[] = [];
  for (let index = 0; index < below && found.length < count; index += 1) {
    const range = ranges.find(([from, to]) => from <= index && index <= to);
    if (range !== undefined) index = range[1];
    else if (!without.has(index)) found.push(index);
  }
  return found;
}
