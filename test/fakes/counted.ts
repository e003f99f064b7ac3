// What a meter has counted, as lines of the text format.

import type { Meter } from "../../src/lib/meter.ts";
import { expositionOf } from "../../src/server/metrics/exposition.ts";

/** The samples of this metric, without the buckets of histograms. */
export function counted(meter: Meter | undefined, name: string, matching = /./): readonly string[] {
  return expositionOf(meter?.families() ?? [])
    .split("\n")
    .filter((line) => line.startsWith(name) && !line.includes("_bucket{"))
    .filter((line) => matching.test(line));
}
