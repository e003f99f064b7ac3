// The logs of containers in the agent's configuration: rotation, and how much all of them may take.

import { invalidAt } from "../api/decode/field-reader.ts";
import { converted, fieldOf } from "../api/schema/codec.ts";
import { between, duration, quantity } from "../api/schema/values.ts";
import { parseQuantity, quantityText, wholeUnits } from "../api/resource/quantity.ts";
import type { Type } from "../api/schema/type.ts";

/** A share of the disk, or bytes. */
export type LogsLimit =
  | { readonly type: "Percent"; readonly percent: number }
  | { readonly type: "Bytes"; readonly bytes: number };

const MIB = 1024 * 1024;
const MIN_LOG_BYTES = 4096;
const MIN_TOTAL_BYTES = MIB;
const MOST_FILES = 1000;
const MOST_WORKERS = 64;
const DAY_MS = 86_400_000;

/** A Quantity as a whole number of bytes. */
function bytes(minimum: number): Type<number> {
  return converted(quantity, {
    to: (text, at) => {
      const value = bytesOf(text);
      if (value < minimum) return invalidAt(at, `must be at least ${textOf(minimum)}`);
      return value;
    },
    from: textOf,
  });
}

function bytesOf(text: string): number {
  return Number(wholeUnits(parseQuantity(text) ?? 0n));
}

function textOf(value: number): string {
  return quantityText(BigInt(value) * 1000n, "Binary");
}

/** `10%`, or a Quantity. */
const shareOrBytes: Type<LogsLimit> = {
  name: "string",
  read(at) {
    const percent = typeof at.value === "string" ? /^(\d{1,2})%$/.exec(at.value.trim()) : null;
    if (percent === null) {
      const value = bytes(MIN_TOTAL_BYTES).read(at);
      return value === undefined ? undefined : { type: "Bytes", bytes: value };
    }
    if (Number(percent[1]) === 0) return invalidAt(at, "must be between 1% and 99%");
    return { type: "Percent", percent: Number(percent[1]) };
  },
  write: (limit) => (limit.type === "Percent" ? `${limit.percent}%` : textOf(limit.bytes)),
  schema: () => ({ type: ["string", "number", "null"] }),
};

export const LOGS = {
  containerLogMaxSize: fieldOf(bytes(MIN_LOG_BYTES))({
    about: "Size at which a container's log is rotated, at least 4Ki.",
    default: 10 * MIB,
  }),
  containerLogMaxFiles: fieldOf(between(2, MOST_FILES))({
    about: "Most log files of one container instance, with the one that is written to.",
    default: 5,
  }),
  containerLogMaxWorkers: fieldOf(between(1, MOST_WORKERS))({
    about: "Most logs that are rotated at once.",
    default: 1,
  }),
  containerLogMonitorInterval: fieldOf(duration(3000, DAY_MS))({
    about:
      "How often the sizes of logs are looked at, 3s to 24h; those of fast logs more often, down to 1s.",
    default: 10_000,
  }),
  podLogsMaxSize: fieldOf(bytes(MIN_TOTAL_BYTES))({
    about: "Most bytes of all logs of one pod, at least 1Mi. Default: none.",
  }),
  nodeLogsMaxSize: fieldOf(shareOrBytes)({
    about:
      "Most bytes of all logs of all pods: a quantity of at least 1Mi, or a share of stateDir's file system such as 10%.",
    default: { type: "Percent", percent: 10 },
  }),
};

/** In bytes; `storageBytes` of the file system, undefined = unknown: then a share of it is no limit. */
export function nodeLogsLimit(limit: LogsLimit, storageBytes: number | undefined): number {
  if (limit.type === "Bytes") return limit.bytes;
  if (storageBytes === undefined) return Number.POSITIVE_INFINITY;
  return Math.floor((storageBytes / 100) * limit.percent);
}
