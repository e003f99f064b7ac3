// Garbage collection of images and containers in the agent's configuration.

import { formatDuration } from "../api/resource/duration.ts";
import { fieldOf, integer, objectType, type Decoded } from "../api/schema/codec.ts";
import { between, duration, MAX_INT32 } from "../api/schema/values.ts";
import { invalid, isUnwritten, type Node } from "../api/decode/field-reader.ts";

const LONGEST_MS = 10 * 365 * 86_400_000;
const HIGH_PERCENT = 85;
const LOW_PERCENT = 80;
const MIN_AGE_MS = 120_000;
const HIGH_FIELD = "imageGCHighThresholdPercent";
const LOW_FIELD = "imageGCLowThresholdPercent";
const NO_LIMIT = -1;
const DEAD_PER_CONTAINER = 1;
const MOST_KEPT = 1000;

const CONTAINER_GC = objectType("ContainerGCConfig", {
  minAge: fieldOf(duration(0, LONGEST_MS))({
    about: "How long a dead container stays before it may be removed.",
    default: 0,
  }),
  maxPerPodContainer: fieldOf(between(0, MOST_KEPT))({
    about: "Most dead instances of each container that stay beside its newest one.",
    default: DEAD_PER_CONTAINER,
    keep: true,
  }),
  maxContainers: integer({
    about:
      "Most dead instances of the whole node that stay beside the newest ones; -1 is no limit.",
    default: NO_LIMIT,
    keep: true,
    schema: { minimum: NO_LIMIT, maximum: MAX_INT32 },
    check: (limit) =>
      limit >= NO_LIMIT && limit <= MAX_INT32
        ? undefined
        : `must be between 0 and ${MAX_INT32}, or -1 for no limit`,
  }),
});

export const GARBAGE = {
  imageGCHighThresholdPercent: fieldOf(between(0, 100))({
    about:
      "Percent of the images' file system in use at which unused images are removed; 100 is never.",
    default: HIGH_PERCENT,
    keep: true,
  }),
  imageGCLowThresholdPercent: fieldOf(between(0, 100))({
    about:
      "Percent down to which unused images are removed; less than imageGCHighThresholdPercent.",
    default: LOW_PERCENT,
    keep: true,
  }),
  imageMinimumGCAge: fieldOf(duration(0, LONGEST_MS))({
    about: "How long an image must have been unused before it may be removed.",
    default: MIN_AGE_MS,
    keep: true,
  }),
  imageMaximumGCAge: fieldOf(duration(0, LONGEST_MS))({
    about:
      "An image that has been unused for longer is removed however empty the disk is; 0s is never.",
    default: 0,
    keep: true,
  }),
  containerGC: fieldOf(CONTAINER_GC)({ about: "Which dead containers of wanted pods stay." }),
};

type ContainerGCFields = Decoded<typeof CONTAINER_GC>;

interface GarbageFields {
  readonly imageGCHighThresholdPercent: number;
  readonly imageGCLowThresholdPercent: number;
  readonly imageMinimumGCAge: number;
  readonly imageMaximumGCAge: number;
  readonly containerGC?: ContainerGCFields | undefined;
}

/** As the kubelet validates them. */
export function checkGarbage(fields: GarbageFields, node: Node): void {
  const { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low } = fields;
  if (low >= high) {
    if (isUnwritten(node, LOW_FIELD))
      invalid(node, HIGH_FIELD, `must be greater than ${LOW_FIELD}, which is ${low}`);
    else invalid(node, LOW_FIELD, `must be less than ${HIGH_FIELD}, which is ${high}`);
  }
  const { imageMinimumGCAge: least, imageMaximumGCAge: most } = fields;
  if (most === 0 || least <= most) return;
  const message = `must be 0s or at least imageMinimumGCAge, which is ${formatDuration(least)}`;
  invalid(node, "imageMaximumGCAge", message);
}

/** The same in the words of the rooms that use them; durations in milliseconds. */
export function garbagePolicies(fields: GarbageFields) {
  const { minAge, maxPerPodContainer, maxContainers } = fields.containerGC ?? {};
  return {
    imageGC: {
      highPercent: fields.imageGCHighThresholdPercent,
      lowPercent: fields.imageGCLowThresholdPercent,
      minAgeMs: fields.imageMinimumGCAge,
      maxAgeMs: fields.imageMaximumGCAge,
    },
    containerGC: {
      minAgeMs: minAge ?? 0,
      maxPerPodContainer: maxPerPodContainer ?? DEAD_PER_CONTAINER,
      maxContainers: maxContainers ?? NO_LIMIT,
    },
  };
}
