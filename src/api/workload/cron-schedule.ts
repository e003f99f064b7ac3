// The schedule of a CronJob, as Kubernetes reads it (robfig/cron ParseStandard): five fields, a macro, or `@every 1h30m`.

import { parseDuration } from "../resource/duration.ts";

export type Schedule = Calendar | Interval;

/** Every so often, counted from the last start. */
export interface Interval {
  readonly everyMs: number;
}

/** Minutes of the wall clock. */
export interface Calendar {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 = Sunday. */
  readonly weekdays: ReadonlySet<number>;
  /** A day has to match both fields of days; otherwise, where neither is a star, one of them is enough. */
  readonly needsBoth: boolean;
}

/** No moment matches it. */
export const NEVER: Calendar = {
  minutes: new Set(),
  hours: new Set(),
  days: new Set(),
  months: new Set(),
  weekdays: new Set(),
  needsBoth: true,
};

const MACROS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};
const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const WEEKDAYS = "sun mon tue wed thu fri sat".split(" ");

interface FieldRange {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  /** Words for the values, from `low` on. */
  readonly words?: readonly string[];
}

const MINUTES: FieldRange = { name: "minute", low: 0, high: 59 };
const HOURS: FieldRange = { name: "hour", low: 0, high: 23 };
const DAYS: FieldRange = { name: "day of the month", low: 1, high: 31 };
const MONTH: FieldRange = { name: "month", low: 1, high: 12, words: MONTHS };
const WEEKDAY: FieldRange = { name: "day of the week", low: 0, high: 6, words: WEEKDAYS };

/** In the order in which they are written. */
const FIELDS = [MINUTES, HOURS, DAYS, MONTH, WEEKDAY] as const;

/** Longer than any schedule that a person writes. */
const MAX_SCHEDULE = 256;

/** A Job is named after its minute. */
const MIN_INTERVAL_MS = 60_000;

/** The schedule, or what is wrong with it. */
export function parseSchedule(text: string): Schedule | string {
  if (text.length > MAX_SCHEDULE) return `must have at most ${MAX_SCHEDULE} characters`;
  if (/^(CRON_)?TZ=/.test(text)) return "must not name a time zone; write it into timeZone";
  const trimmed = text.trim();
  if (trimmed.startsWith("@every ")) return intervalOf(trimmed.slice("@every ".length));
  if (trimmed.startsWith("@") && !Object.hasOwn(MACROS, trimmed))
    return `must be five fields, "@every 1h30m", or one of ${Object.keys(MACROS).join(", ")}`;
  const words = (MACROS[trimmed] ?? trimmed).split(/\s+/);
  if (words.length !== FIELDS.length) return FIVE;
  return scheduleOf(
    words,
    FIELDS.map((range, index) => parseField(words[index] ?? "", range)),
  );
}

/** Parts of a second do not count. */
function intervalOf(written: string): Interval | string {
  const ms = parseDuration(written.trim());
  if (ms === undefined) return "must name a duration after @every, such as 1h30m";
  if (ms < MIN_INTERVAL_MS) return "must name at least one minute after @every";
  return { everyMs: Math.floor(ms / 1000) * 1000 };
}

function scheduleOf(
  words: readonly string[],
  sets: readonly (ReadonlySet<number> | string)[],
): Schedule | string {
  const wrong = sets.find((set) => typeof set === "string");
  if (typeof wrong === "string") return wrong;
  const [minutes = NONE, hours = NONE, days = NONE, months = NONE, weekdays = NONE] = sets.filter(
    (set) => typeof set !== "string",
  );
  const needsBoth = isStar(words[2] ?? "") || isStar(words[4] ?? "");
  return { minutes, hours, days, months, weekdays, needsBoth };
}

const NONE: ReadonlySet<number> = new Set();
const FIVE =
  'must have five fields: minute, hour, day of the month, month, day of the week, such as "30 3 * * 1-5"';

/** A star, also as one of several; a star with a step counts as a list. */
function isStar(field: string): boolean {
  return field.split(",").some((entry) => /^[*?](\/1)?$/.test(entry));
}

function parseField(field: string, range: FieldRange): ReadonlySet<number> | string {
  const values = new Set<number>();
  for (const entry of field.split(",")) {
    const read = parseEntry(entry, range);
    if (typeof read === "string") return read;
    for (const value of read) values.add(value);
  }
  return values;
}

/** `*`, `5`, `5-9`, a star with a step, `5-9/2`, and `5/15`, which goes on to the end. */
function parseEntry(entry: string, range: FieldRange): readonly number[] | string {
  const { name, low, high } = range;
  const wrong = (why: string): string => `${JSON.stringify(entry)} is no ${name}: ${why}`;
  const [span = "", written, ...deeper] = entry.split("/");
  if (deeper.length > 0) return wrong("too many slashes");
  const step = written === undefined ? 1 : numberOf(written);
  if (step === undefined || step < 1) return wrong("the step must be a number above zero");
  const bounds = boundsOf(span, range, written !== undefined);
  if (typeof bounds === "string") return wrong(bounds);
  const [from, to] = bounds;
  if (from < low || to > high) return wrong(`it must be between ${low} and ${high}`);
  if (from > to) return wrong("the range ends before it begins");
  const count = Math.floor((to - from) / step) + 1;
  return Array.from({ length: count }, (_, index) => from + index * step);
}

/** The first and the last value, or what is wrong. */
function boundsOf(
  span: string,
  range: FieldRange,
  hasStep: boolean,
): readonly [from: number, to: number] | string {
  const { low, high } = range;
  if (span === "*" || span === "?") return [low, high];
  const [first = "", last, ...others] = span.split("-");
  if (others.length > 0) return "too many hyphens";
  const from = valueOf(first, range);
  const to = last === undefined ? from : valueOf(last, range);
  if (from === undefined || to === undefined) return "it must be a number or a name";
  return [from, last === undefined && hasStep ? high : to];
}

function valueOf(written: string, { low, words = [] }: FieldRange): number | undefined {
  const index = words.indexOf(written.toLowerCase());
  return index === -1 ? numberOf(written) : low + index;
}

function numberOf(written: string): number | undefined {
  return /^\d{1,4}$/.test(written) ? Number(written) : undefined;
}
