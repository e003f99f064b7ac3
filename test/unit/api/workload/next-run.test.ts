// When schedules are due, against Kubernetes' own tables and against a model that looks at every minute.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { parseSchedule, type Schedule } from "../../../../src/api/workload/cron-schedule.ts";
import { wallFields } from "../../../../src/api/workload/wall-time.ts";
import { countRuns, lastRun, nextRun } from "../../../../src/api/workload/next-run.ts";

const MINUTE = 60_000;
const at = (text: string): number => Date.parse(text);

function schedule(text: string): Schedule {
  const parsed = parseSchedule(text);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

function runs(
  text: string,
  zone: string,
  [from, to]: readonly [string, string],
): readonly string[] {
  const timetable = { schedule: schedule(text), zone };
  const found: string[] = [];
  let next = nextRun(timetable, at(from) - 1, at(to));
  while (next !== undefined) {
    found.push(new Date(next).toISOString().slice(0, 16));
    next = nextRun(timetable, next, at(to));
  }
  return found;
}

describe("a schedule", () => {
  const cases: Readonly<
    Record<string, readonly [string, readonly [string, string], readonly string[]]>
  > = {
    "comes every quarter of an hour": [
      "*/15 * * * *",
      ["2026-01-01T00:00Z", "2026-01-01T00:50Z"],
      ["2026-01-01T00:00", "2026-01-01T00:15", "2026-01-01T00:30", "2026-01-01T00:45"],
    ],
    "goes on to the end after a number with a step": [
      "40/10 0 1 1 *",
      ["2026-01-01T00:00Z", "2026-01-02T00:00Z"],
      ["2026-01-01T00:40", "2026-01-01T00:50"],
    ],
    "comes where one of two days matches, if neither is a star": [
      "0 0 13 * FRI",
      ["2026-02-10T00:00Z", "2026-02-21T00:00Z"],
      ["2026-02-13T00:00", "2026-02-20T00:00"],
    ],
    "comes on the weekdays where the other day is a star": [
      "0 0 * * mon-tue",
      ["2026-02-01T00:00Z", "2026-02-08T00:00Z"],
      ["2026-02-02T00:00", "2026-02-03T00:00"],
    ],
    "waits for a leap year": [
      "0 0 29 feb ?",
      ["2096-03-01T00:00Z", "2104-03-01T00:00Z"],
      ["2104-02-29T00:00"],
    ],
    "is a macro": ["@monthly", ["2026-01-02T00:00Z", "2026-02-02T00:00Z"], ["2026-02-01T00:00"]],
    "never comes on a day that no month has": [
      "0 0 31 2 *",
      ["2026-01-01T00:00Z", "2034-01-01T00:00Z"],
      [],
    ],
  };
  test.each(Object.entries(cases))("%s", (_name, [text, span, expected]) => {
    expect(runs(text, "Etc/UTC", span)).toEqual([...expected]);
  });
});

// robfig/cron, TestNextWithTz: New York, 2012.
describe("in a time zone", () => {
  const zone = "America/New_York";
  test("a minute that summer time skips does not come", () => {
    expect(runs("30 2 * * *", zone, ["2012-03-10T05:00Z", "2012-03-13T05:00Z"])).toEqual([
      "2012-03-10T07:30",
      "2012-03-12T06:30",
    ]);
  });
  test("a minute that comes twice is due twice", () => {
    expect(runs("0 1 * * *", zone, ["2012-11-04T04:00Z", "2012-11-05T05:00Z"])).toEqual([
      "2012-11-04T05:00",
      "2012-11-04T06:00",
    ]);
  });
  test("an hourly one comes in every hour that there is", () => {
    expect(runs("0 * * * *", zone, ["2012-03-11T05:00Z", "2012-03-11T09:00Z"])).toHaveLength(4);
  });
  test("a day without a midnight begins later", () => {
    // Cairo, where summer time begins at midnight.
    expect(runs("0 1 26 4 *", "Africa/Cairo", ["2024-04-20T00:00Z", "2024-04-30T00:00Z"])).toEqual([
      "2024-04-25T22:00",
    ]);
  });
});

describe("what Kubernetes refuses", () => {
  test.each([
    "",
    "* * * *",
    "* * * * * *",
    "60 * * * *",
    "* 24 * * *",
    "* * 0 * *",
    "* * * 13 *",
    "* * * * 7",
    "5-1 * * * *",
    "*/0 * * * *",
    "1-2-3 * * * *",
    "* * * foo *",
    "@every",
    "@every 1 hour",
    "@every -1h",
    "@sometimes",
    "TZ=UTC * * * * *",
    "a * * * *",
    "-1 * * * *",
    "*-3 * * * *",
    "1,, * * * *",
    "1/2/3 * * * *",
  ])("%s", (text) => {
    expect(typeof parseSchedule(text)).toBe("string");
  });
});

test("less than a minute after @every is refused: two Jobs would have the same name", () => {
  expect(parseSchedule("@every 59s")).toBe("must name at least one minute after @every");
  expect(parseSchedule("@every 1m0.9s")).toEqual({ everyMs: MINUTE });
});

describe("@every", () => {
  const origin = at("2026-01-01T00:00:30Z");
  const timetable = { schedule: schedule("@every 1h30m"), origin };
  const shown = (instant: number | undefined): string | undefined =>
    instant === undefined ? undefined : new Date(instant).toISOString().slice(11, 19);

  test("counts from its last start, wherever one looks from", () => {
    expect(shown(nextRun(timetable, origin))).toBe("01:30:30");
    expect(shown(nextRun(timetable, at("2026-01-01T01:30:30Z")))).toBe("03:00:30");
    expect(shown(nextRun(timetable, at("2026-01-01T01:00:00Z")))).toBe("01:30:30");
    // A clock that was set back.
    expect(shown(nextRun(timetable, at("2025-12-31T20:00:00Z")))).toBe("01:30:30");
    expect(nextRun(timetable, origin, at("2026-01-01T01:30:30Z"))).toBeUndefined();
  });

  test("has a last time after a moment, and as many as fit", () => {
    const now = at("2026-01-01T05:00:00Z");
    expect(shown(lastRun(timetable, origin, now))).toBe("04:30:30");
    expect(lastRun(timetable, at("2026-01-01T04:30:30Z"), now)).toBeUndefined();
    expect(lastRun(timetable, origin, at("2026-01-01T01:30:29Z"))).toBeUndefined();
    expect(countRuns(timetable, { after: origin, now, most: 101 })).toBe(3);
  });
});

const field = (low: number, high: number): fc.Arbitrary<string> => {
  const number = fc.integer({ min: low, max: high });
  const range = fc.tuple(number, number).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const step = fc.integer({ min: 2, max: 20 });
  const entry = fc.oneof(
    number.map(String),
    range,
    fc.tuple(range, step).map(([span, by]) => `${span}/${by}`),
    step.map((by) => `*/${by}`),
  );
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant("*") },
    fc.array(entry, { minLength: 1, maxLength: 2 }).map((all) => all.join(",")),
  );
};
const written = fc
  .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6))
  .map((all) => all.join(" "));
const zone = fc.constantFrom(
  "Etc/UTC",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "Africa/Cairo",
  "America/Santiago",
);
const moment = fc
  .integer({ min: at("2023-01-01T00:00Z") / MINUTE, max: at("2027-01-01T00:00Z") / MINUTE })
  .map((minute) => minute * MINUTE);

/** Whether the minute matches, as the manual of cron words it. */
function matches(text: string, minute: number, inZone: string): boolean {
  const [minutes = "", hours = "", days = "", months = "", weekdays = ""] = text.split(" ");
  const wall = wallFields(minute, inZone);
  const has = (list: string, value: number, low: number): boolean =>
    list.split(",").some((entry) => {
      const [span = "", step = "1"] = entry.split("/");
      const [from, to] = span === "*" ? [low, Infinity] : span.split("-").map(Number);
      const last = to ?? (entry.includes("/") ? Infinity : from);
      return (
        value >= (from ?? 0) && value <= (last ?? 0) && (value - (from ?? 0)) % Number(step) === 0
      );
    });
  const isDay = has(days, wall.day, 1);
  const isWeekday = has(weekdays, wall.weekday, 0);
  const either = days === "*" || weekdays === "*" ? isDay && isWeekday : isDay || isWeekday;
  return (
    has(minutes, wall.minute, 0) && has(hours, wall.hour, 0) && has(months, wall.month, 1) && either
  );
}

test("next, last and count are those of a model that looks at every minute", () => {
  fc.assert(
    fc.property(
      written,
      zone,
      moment,
      fc.integer({ min: 1, max: 3000 }),
      (text, inZone, from, minutes) => {
        const timetable = { schedule: schedule(text), zone: inZone };
        const due: number[] = [];
        for (let minute = from + MINUTE; minute <= from + minutes * MINUTE; minute += MINUTE)
          if (matches(text, minute, inZone)) due.push(minute);
        const now = from + minutes * MINUTE;
        expect(nextRun(timetable, from, now + 1)).toBe(due[0]);
        expect(lastRun(timetable, from, now)).toBe(due.at(-1));
        expect(countRuns(timetable, { after: from, now, most: 101 })).toBe(
          Math.min(101, due.length),
        );
      },
    ),
    { numRuns: 60 },
  );
});
