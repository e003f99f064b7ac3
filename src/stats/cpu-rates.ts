// Processor time as a rate: what has been used since the reading before.

import type { CgroupUsage } from "../host/usage/cgroup-usage.ts";
import type { Monotonic } from "../lib/clock.ts";
import type { Usage } from "./summary.ts";

interface Reading {
  readonly at: Monotonic;
  readonly nanoSeconds: number;
}

/** Between readings that lie closer together, one tick of the kernel would count too much. */
const SHORTEST_MS = 500;
/** What was not read for so long is gone. */
const FORGOTTEN_MS = 600_000;

export class CpuRates {
  readonly #before = new Map<string, Reading & { readonly nanoCores?: number }>();

  /** Adds the rate, unless `usage` has one; the first reading of a `key` has none. */
  of(key: string, usage: Usage | CgroupUsage, at: Monotonic): Usage {
    const { cpuNanoSeconds: nanoSeconds } = usage;
    if (nanoSeconds === undefined) return usage;
    const before = this.#before.get(key);
    const isSame = before !== undefined && nanoSeconds >= before.nanoSeconds;
    if (isSame && at - before.at < SHORTEST_MS) return withRate(usage, before.nanoCores);
    const nanoCores = isSame
      ? Math.round((nanoSeconds - before.nanoSeconds) / ((at - before.at) / 1000))
      : undefined;
    this.#before.set(key, { at, nanoSeconds, ...(nanoCores === undefined ? {} : { nanoCores }) });
    return withRate(usage, nanoCores);
  }

  forgetUnread(now: Monotonic): void {
    for (const [key, { at }] of this.#before) if (now - at > FORGOTTEN_MS) this.#before.delete(key);
  }
}

function withRate(usage: Usage, nanoCores: number | undefined): Usage {
  return nanoCores === undefined || usage.nanoCores !== undefined ? usage : { ...usage, nanoCores };
}
