// What the bench says about a row of numbers.

export interface Spread {
  readonly n: number;
  readonly min: number;
  readonly q1: number;
  readonly median: number;
  readonly q3: number;
  readonly max: number;
}

/** Throws for an empty row. */
export function spread(values: readonly number[]): Spread {
  if (values.length === 0) throw new Error("nothing was measured");
  const sorted = values.toSorted((a, b) => a - b);
  return {
    n: sorted.length,
    min: quantile(sorted, 0),
    q1: quantile(sorted, 0.25),
    median: quantile(sorted, 0.5),
    q3: quantile(sorted, 0.75),
    max: quantile(sorted, 1),
  };
}

export function median(values: readonly number[]): number {
  return spread(values).median;
}

/** Of a row in any order; NaN of an empty one. */
export function quantileOf(values: readonly number[], part: number): number {
  if (values.length === 0) return Number.NaN;
  return quantile(
    values.toSorted((a, b) => a - b),
    part,
  );
}

/** Linear between the two neighbours. */
function quantile(sorted: readonly number[], part: number): number {
  const place = (sorted.length - 1) * part;
  const below = sorted[Math.floor(place)] ?? 0;
  const above = sorted[Math.ceil(place)] ?? below;
  return below + (above - below) * (place - Math.floor(place));
}
