// The thresholds of eviction in the agent's configuration. kubelet: ParseThresholdConfig, validateKubeletConfiguration

import type { Message } from "../api/decode/field-errors.ts";
import { placeOf, required, type Node, invalidAt } from "../api/decode/field-reader.ts";
import { parseQuantity } from "../api/resource/quantity.ts";
import { boolean, checked, fieldOf, map, mapType } from "../api/schema/codec.ts";
import { between, duration, exactText, MAX_INT32 } from "../api/schema/values.ts";

/** Signals that a threshold can be set for. */
export const EVICTION_SIGNALS = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "containerfs.available",
  "containerfs.inodesFree",
  "pid.available",
] as const;
export type EvictionSignal = (typeof EVICTION_SIGNALS)[number];

/** kubelet: DefaultEvictionHard */
const DEFAULT_EVICTION_HARD: Readonly<Record<string, string>> = {
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "nodefs.inodesFree": "5%",
  "imagefs.available": "15%",
  "imagefs.inodesFree": "5%",
};

const DAY_MS = 86_400_000;
const TRANSITION_MS = 300_000;
const PERCENT = /^(\d+(?:\.\d*)?|\.\d+)%$/;
const signalKeys = { propertyNames: { enum: [...EVICTION_SIGNALS] } };

/** An amount of its own, or a share (0 to 1) of what there is in all. */
export type ThresholdAmount = { readonly units: number } | { readonly share: number };

/** `100Mi`, `5000`, `10%`; undefined = neither. */
export function parseThreshold(written: string): ThresholdAmount | undefined {
  const percent = PERCENT.exec(written.trim());
  if (percent !== null) {
    const share = Number(percent[1]) / 100;
    return share <= 1 ? { share } : undefined;
  }
  const milli = parseQuantity(written.trim());
  return milli === undefined || milli < 0n ? undefined : { units: Number(milli) / 1000 };
}

export function isEvictionSignal(name: string): name is EvictionSignal {
  return EVICTION_SIGNALS.some((signal) => signal === name);
}

function signalError(name: string): Message | undefined {
  return isEvictionSignal(name) ? undefined : `must be one of ${EVICTION_SIGNALS.join(", ")}`;
}

function thresholdError(written: string): Message | undefined {
  if (parseThreshold(written) !== undefined) return undefined;
  return 'must be an amount such as "100Mi" or "5000", or a share such as "10%", at most "100%"';
}

const thresholdText = checked(exactText, thresholdError);

export const EVICTION = {
  evictionHard: fieldOf(mapType(thresholdText, signalError))({
    about:
      "Amounts or shares of memory, disks and process ids: when less is available, pods are evicted at once. Replaces the whole default unless mergeDefaultEvictionSettings is set; 0% turns a signal off.",
    default: DEFAULT_EVICTION_HARD,
    schema: signalKeys,
  }),
  mergeDefaultEvictionSettings: boolean({
    about: "Whether evictionHard keeps the defaults of the signals that it does not name.",
    default: false,
  }),
  evictionSoft: map(exactText, {
    about:
      "The same, when less has been available for the signal's evictionSoftGracePeriod: pods get time to end.",
    key: signalError,
    value: thresholdError,
    schema: signalKeys,
  }),
  evictionSoftGracePeriod: map(duration(1000, 7 * DAY_MS), {
    about: "By signal: how long its soft threshold must be met before pods are evicted.",
    key: signalError,
    schema: signalKeys,
  }),
  evictionMinimumReclaim: map(exactText, {
    about:
      "By signal: how much beyond its threshold has to be available again before eviction ends.",
    key: signalError,
    value: thresholdError,
    schema: signalKeys,
  }),
  evictionPressureTransitionPeriod: fieldOf(duration(1000, DAY_MS))({
    about:
      "How long a pressure condition stays after the last threshold of it was met, and how long evicted pods wait at least.",
    default: TRANSITION_MS,
  }),
  evictionMaxPodGracePeriod: fieldOf(between(0, MAX_INT32))({
    about: "Most seconds that a pod gets to end at a soft threshold.",
    default: 0,
    keep: true,
  }),
};

/** kubelet: mergeDefaultEvictionSettings; only evictionHard has defaults. */
export function hardThresholds(fields: {
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly mergeDefaultEvictionSettings: boolean;
}): Readonly<Record<string, string>> {
  const defaults = fields.mergeDefaultEvictionSettings ? DEFAULT_EVICTION_HARD : {};
  return { ...defaults, ...fields.evictionHard };
}

interface EvictionFields {
  readonly evictionSoft: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod: Readonly<Record<string, number>>;
}

/** What must fit together. */
export function checkEviction(fields: EvictionFields, node: Node): void {
  const { evictionSoft, evictionSoftGracePeriod } = fields;
  const graces = mapNode(node, "evictionSoftGracePeriod");
  for (const signal of Object.keys(evictionSoft))
    if (evictionSoftGracePeriod[signal] === undefined)
      required(graces, signal, `evictionSoft has a threshold for ${signal}`);
  for (const signal of Object.keys(evictionSoftGracePeriod))
    if (evictionSoft[signal] === undefined)
      invalidAt(placeOf(graces, signal), `evictionSoft has no threshold for ${signal}`);
}

function mapNode(node: Node, key: string): Node {
  const { value, ...place } = placeOf(node, key);
  const fields = typeof value === "object" && value !== null ? value : {};
  return { ...place, value: Object.fromEntries(Object.entries(fields)) };
}
