// Wall-clock fields of an instant in a time zone. Instants are wall-clock milliseconds, given by the caller.

/** A wall-clock time in ms since 1970: schedules are about the wall clock, and nothing else is. */
export type Instant = number;

export interface WallFields {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  /** 0 = Sunday. */
  readonly weekday: number;
}

const UTC = "Etc/UTC";
const formats = new Map<string, Intl.DateTimeFormat>();
/** More zones than CronJobs of one node use. Documents choose the names, and a name in other letters is another entry. */
const MAX_FORMATS = 32;

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  if (formats.size >= MAX_FORMATS) formats.clear();
  formats.set(zone, format);
  return format;
}

/** Whether the name is one of the IANA time zones that this program knows. */
export function isTimeZone(zone: string): boolean {
  // Offsets such as +02:00 are no names.
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(zone) || zone === "Local") return false;
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** `zone`: absent = UTC. */
export function wallFields(at: Instant, zone = UTC): WallFields {
  if (zone === UTC || zone === "UTC") {
    const date = new Date(at);
    return {
      year: date.getUTCFullYear(),
      month: date.getUTCMonth() + 1,
      day: date.getUTCDate(),
      hour: date.getUTCHours(),
      minute: date.getUTCMinutes(),
      weekday: date.getUTCDay(),
    };
  }
  const parts: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(at)) parts[type] = Number(value);
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = parts;
  const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay();
  return { year, month, day, hour, minute, weekday };
}
