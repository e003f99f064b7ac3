// Which thresholds are met, for how long, and what pressure the node is under. kubelet: thresholdsMet,
// thresholdsMetGracePeriod, nodeConditionsObservedSince

import {
  parseThreshold,
  type EvictionSignal,
  type ThresholdAmount,
} from "../config/eviction-config.ts";
import type { Room } from "../host/resource-readings.ts";
import type { Monotonic } from "../lib/clock.ts";
import {
  ALL_SIGNALS,
  SIGNALS,
  type Observations,
  type PressureCondition,
  type Signal,
} from "./signals.ts";

export interface Threshold {
  readonly signal: Signal;
  /** undefined = hard: it acts at once. */
  readonly softGraceMs: number | undefined;
  readonly value: ThresholdAmount;
  readonly minReclaim: ThresholdAmount | undefined;
}

interface ThresholdConfig {
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod: Readonly<Record<string, number>>;
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
}

/** In the order in which they are relieved. */
export function thresholdsOf(config: ThresholdConfig): readonly Threshold[] {
  const reclaim = config.evictionMinimumReclaim;
  const parse = (
    written: Readonly<Record<string, string>>,
    grace: (signal: string) => number | undefined,
  ): readonly Threshold[] =>
    ALL_SIGNALS.flatMap((signal) => {
      const source = sourceOf(signal);
      // The pods' own cgroup has a hard threshold only.
      if (source !== signal && grace(source) !== undefined) return [];
      const value = parseThreshold(written[source] ?? "");
      // kubelet: 0% and 100% turn a threshold off.
      if (value === undefined || ("share" in value && (value.share === 0 || value.share === 1)))
        return [];
      const minReclaim = parseThreshold(reclaim[source] ?? "");
      return [{ signal, softGraceMs: grace(source), value, minReclaim }];
    });
  const hard = parse(config.evictionHard, () => undefined);
  const soft = parse(config.evictionSoft, (signal) => config.evictionSoftGracePeriod[signal] ?? 0);
  return [...hard, ...soft].toSorted(byOrder);
}

function sourceOf(signal: Signal): EvictionSignal {
  return signal === "allocatableMemory.available" ? "memory.available" : signal;
}

function byOrder(a: Threshold, b: Threshold): number {
  return ALL_SIGNALS.indexOf(a.signal) - ALL_SIGNALS.indexOf(b.signal);
}

/** What is known from one look to the next. */
export interface PressureState {
  /** Met thresholds, since when. */
  readonly met: ReadonlyMap<Threshold, Monotonic>;
  /** Conditions, when last a threshold of theirs was met. */
  readonly conditions: ReadonlyMap<PressureCondition, Monotonic>;
  readonly lookedAt: Monotonic;
}

export const NO_PRESSURE: PressureState = { met: new Map(), conditions: new Map(), lookedAt: 0 };

export interface LookInput {
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  readonly now: Monotonic;
  /** A condition stays for so long after its last threshold was met. */
  readonly transitionMs: number;
}

/** A threshold that has acted stays met until its minimum reclaim is available too. kubelet: thresholdsNotYetResolved */
export function nextPressure(before: PressureState, input: LookInput): PressureState {
  const { thresholds, observations, now, transitionMs } = input;
  const hasActed = new Set(actingThresholds(before));
  const met = new Map(
    thresholds
      .filter((threshold) => isMet(threshold, observations, hasActed.has(threshold)))
      .map((threshold) => [threshold, before.met.get(threshold) ?? now] as const),
  );
  const recent = [...before.conditions].filter(([, at]) => now - at < transitionMs);
  const current = [...met.keys()].map(({ signal }) => [SIGNALS[signal].condition, now] as const);
  return { met, conditions: new Map([...recent, ...current]), lookedAt: now };
}

/** Met, and a soft one for as long as its grace period. In the order in which they are relieved. */
export function actingThresholds({ met, lookedAt }: PressureState): readonly Threshold[] {
  return [...met]
    .filter(([{ softGraceMs = 0 }, since]) => lookedAt - since >= softGraceMs)
    .map(([threshold]) => threshold)
    .toSorted(byOrder);
}

/** `withReclaim`: the minimum reclaim has to be available beyond the threshold. */
export function isMet(
  { signal, value, minReclaim }: Threshold,
  observed: Observations,
  withReclaim: boolean,
): boolean {
  const room = observed.get(signal);
  if (room === undefined) return false;
  const beyond = withReclaim && minReclaim !== undefined ? amountOf(minReclaim, room) : 0;
  return room.available < amountOf(value, room) + beyond;
}

export function amountOf(amount: ThresholdAmount, { capacity }: Room): number {
  return "units" in amount ? amount.units : Math.floor(amount.share * capacity);
}

/** The node is looked at as often as by the kubelet. kubelet: monitoringInterval */
export const LOOK_MS = { soonest: 1_000, usual: 10_000 } as const;

/** With less than this many times the threshold, or this share of all, memory may run out between two looks. */
const NEAR = { times: 3, share: 0.25 };

export function isMemoryNear(thresholds: readonly Threshold[], observed: Observations): boolean {
  return thresholds.some(({ signal, value }) => {
    const room = observed.get(signal);
    if (SIGNALS[signal].resource !== "memory" || room === undefined) return false;
    const near = Math.max(amountOf(value, room) * NEAR.times, room.capacity * NEAR.share);
    return room.available < near;
  });
}
