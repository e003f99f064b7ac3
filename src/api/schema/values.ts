// Types of values that several declarations share: numbers within bounds, durations, points in time, anything.

import { invalidAt } from "../decode/field-reader.ts";
import { formatDuration, parseDuration } from "../resource/duration.ts";
import { isTime } from "../validation/time-field.ts";
import { rfc3339 } from "../../lib/clock.ts";
import { checked, converted, number, text } from "./codec.ts";
import type { Type } from "./type.ts";

export const MAX_INT32 = 2 ** 31 - 1;

/** A whole number within bounds, both included. */
export function between(minimum: number, maximum: number): Type<number> {
  const type = checked(number, (value) =>
    value < minimum || value > maximum
      ? `must be between ${minimum} and ${maximum}, inclusive`
      : undefined,
  );
  return { ...type, schema: () => ({ ...number.schema(), minimum, maximum }) };
}

export function atLeast(minimum: number): Type<number> {
  const type = checked(number, (value) =>
    value < minimum ? `must be at least ${minimum}` : undefined,
  );
  return { ...type, schema: () => ({ ...number.schema(), minimum }) };
}

/** Text of which "" is a value as well, and mostly a wrong one. */
export const exactText: Type<string> = { ...text, isEmpty: () => false };

/** A duration such as `1m30s`, in milliseconds, within bounds. */
export function duration(minimum: number, maximum: number): Type<number> {
  const [least, most] = [minimum, maximum].map(formatDuration);
  return {
    name: "Duration",
    read(at) {
      const ms = typeof at.value === "string" ? parseDuration(at.value) : undefined;
      if (ms === undefined) return invalidAt(at, "must be a duration such as 1m30s");
      if (ms < minimum) return invalidAt(at, `must be at least ${least}`);
      if (ms > maximum) return invalidAt(at, `must be at most ${most}`);
      return Math.round(ms);
    },
    write: formatDuration,
    schema: () => ({ type: ["string", "null"] }),
  };
}

/** A time as RFC 3339 writes it, in wall-clock milliseconds. */
export const time: Type<number> = converted(
  checked(exactText, (written) =>
    isTime(written) ? undefined : "must be a time such as 2026-11-21T08:00:00Z",
  ),
  { to: (written) => (isTime(written) ? Date.parse(written) : undefined), from: rfc3339 },
);

/** Any JSON value, null included; judged by others. */
export const anything: Type<unknown> = {
  name: "any",
  read: ({ value }) => value,
  write: (value) => value,
  schema: () => ({}),
};
