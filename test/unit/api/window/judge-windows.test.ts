import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { Findings } from "../../../../src/api/decode/field-errors.ts";
import {
  changesAt,
  judgeWindows,
  whyClosed,
  type WindowVerdict,
} from "../../../../src/api/window/judge-windows.ts";
import {
  MAINTENANCE_WINDOWS,
  type MaintenanceWindow,
  type UpdateStep,
} from "../../../../src/api/window/maintenance-window.ts";

const HOUR = 3_600_000;

function windows(...written: readonly object[]): readonly MaintenanceWindow[] {
  const findings = new Findings();
  const read = MAINTENANCE_WINDOWS.read({ findings, path: [], value: written });
  expect(findings.errors).toEqual([]);
  return read ?? [];
}

const NIGHT = { schedule: "0 2 * * *", duration: "2h", grace: "30m" };
const at = (text: string): number => Date.parse(text);

function judge(
  written: readonly object[],
  now: string,
  more: { step?: UpdateStep; allowedAt?: string } = {},
): WindowVerdict {
  const { step = "update", allowedAt } = more;
  return judgeWindows(windows(...written), step, {
    now: at(now),
    allowedAt: allowedAt === undefined ? undefined : at(allowedAt),
  });
}

const open = (until: string): WindowVerdict => ({ type: "Open", until: at(until) });
const closed = (opensAt: string): WindowVerdict => ({ type: "Closed", opensAt: at(opensAt) });

describe("a window every night from 2 to 4", () => {
  test.each<[string, string, WindowVerdict]>([
    ["is closed right before it opens", "2026-11-21T01:59:59Z", closed("2026-11-21T02:00:00Z")],
    ["is open from its first moment", "2026-11-21T02:00:00Z", open("2026-11-21T04:00:00Z")],
    ["is open to its last moment", "2026-11-21T03:59:59.999Z", open("2026-11-21T04:00:00Z")],
    ["is closed at its end", "2026-11-21T04:00:00Z", closed("2026-11-22T02:00:00Z")],
  ])("%s", (_name, now, verdict) => {
    expect(judge([NIGHT], now)).toEqual(verdict);
  });

  test("lets what it has let begin go on in its grace, and nothing else", () => {
    const now = "2026-11-21T04:10:00Z";
    const grace: WindowVerdict = { type: "Grace", until: at("2026-11-21T04:30:00Z") };
    expect(judge([NIGHT], now, { allowedAt: "2026-11-21T03:59:00Z" })).toEqual(grace);
    expect(judge([NIGHT], now, { allowedAt: "2026-11-20T03:59:00Z" }).type).toBe("Closed");
    expect(judge([NIGHT], now).type).toBe("Closed");
    const late = judge([NIGHT], "2026-11-21T04:30:00Z", { allowedAt: "2026-11-21T03:59:00Z" });
    expect(late).toEqual(closed("2026-11-22T02:00:00Z"));
  });

  test("is neither open nor closed by a clock that is not certain", () => {
    const verdict = judgeWindows(windows(NIGHT), "update", { now: undefined });
    expect(verdict).toEqual({ type: "ClockUntrusted" });
    expect(whyClosed(verdict, "update")).toContain("the clock is not synchronised");
    expect(changesAt(verdict)).toBeUndefined();
  });
});

test("a step that no window names is free, also without a clock", () => {
  const forUpdate = { ...NIGHT, for: ["update"] };
  expect(judge([forUpdate], "2026-11-21T12:00:00Z", { step: "download" })).toEqual({
    type: "Free",
  });
  expect(judge([forUpdate], "2026-11-21T12:00:00Z").type).toBe("Closed");
  expect(judgeWindows([], "update", { now: undefined })).toEqual({ type: "Free" });
});

test("of several windows the one that is open longest counts, and the one that opens next", () => {
  const noon = { schedule: "0 12 * * 6,0", duration: "6h" };
  const evening = { schedule: "0 14 * * *", duration: "30m" };
  const all = [NIGHT, noon, evening];
  expect(judge(all, "2026-11-21T14:10:00Z")).toEqual(open("2026-11-21T18:00:00Z"));
  expect(judge(all, "2026-11-23T13:00:00Z")).toEqual(closed("2026-11-23T14:00:00Z"));
});

describe("summer time in Berlin", () => {
  const berlin = { timeZone: "Europe/Berlin" };
  test("moves a window that names the wall clock", () => {
    const night = [{ ...NIGHT, ...berlin }];
    expect(judge(night, "2026-07-01T00:30:00Z")).toEqual(open("2026-07-01T02:00:00Z"));
    expect(judge(night, "2026-12-01T00:30:00Z")).toEqual(closed("2026-12-01T01:00:00Z"));
  });

  test("skips a window whose minute does not come, and opens one twice whose minute comes twice", () => {
    const half = [{ schedule: "30 2 * * *", duration: "20m", ...berlin }];
    // 29 March 2026: 02:00 becomes 03:00.
    expect(judge(half, "2026-03-28T12:00:00Z")).toEqual(closed("2026-03-30T00:30:00Z"));
    // 25 October 2026: 03:00 becomes 02:00.
    expect(judge(half, "2026-10-25T00:35:00Z")).toEqual(open("2026-10-25T00:50:00Z"));
    expect(judge(half, "2026-10-25T00:55:00Z")).toEqual(closed("2026-10-25T01:30:00Z"));
    expect(judge(half, "2026-10-25T01:35:00Z")).toEqual(open("2026-10-25T01:50:00Z"));
  });

  test("does not shorten a window that is open meanwhile", () => {
    const late = [{ schedule: "0 1 * * *", duration: "3h", ...berlin }];
    expect(judge(late, "2026-03-29T02:59:00Z")).toEqual(open("2026-03-29T03:00:00Z"));
    expect(judge(late, "2026-10-25T01:59:00Z")).toEqual(open("2026-10-25T02:00:00Z"));
  });
});

test("a closed window opens exactly when it says, and an open one ends then, wherever one looks from", () => {
  const zones = ["Etc/UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns"];
  fc.assert(
    fc.property(
      fc.integer({ min: at("2026-01-01T00:00:00Z"), max: at("2027-12-31T00:00:00Z") }),
      fc.integer({ min: 0, max: 59 }),
      fc.integer({ min: 0, max: 23 }),
      fc.integer({ min: 1, max: 200 }),
      fc.constantFrom(...zones),
      (now, minute, hour, minutes, timeZone) => {
        const all = windows({
          schedule: `${minute} ${hour} * * *`,
          duration: `${minutes}m`,
          timeZone,
        });
        const verdict = judgeWindows(all, "update", { now });
        const next = changesAt(verdict);
        expect(next).toBeGreaterThan(now);
        const before = judgeWindows(all, "update", { now: (next ?? 0) - 1 });
        const after = judgeWindows(all, "update", { now: next });
        expect(before.type).toBe(verdict.type);
        // A repeated hour may open it again at once.
        if (verdict.type === "Closed") expect(after.type).toBe("Open");
      },
    ),
  );
});

describe("a list of windows", () => {
  const errors = (value: unknown): readonly string[] => {
    const findings = new Findings();
    MAINTENANCE_WINDOWS.read({ findings, path: ["maintenanceWindows"], value });
    return findings.errors.map(({ path, message }) => `${path} ${message}`);
  };
  test.each<[string, unknown, string]>([
    ["an interval", [{ ...NIGHT, schedule: "@every 2h" }], "must name times of the day"],
    [
      "a day that never comes",
      [{ ...NIGHT, schedule: "0 2 31 2 *" }],
      "names a day that no year has",
    ],
    ["an unknown zone", [{ ...NIGHT, timeZone: "Europe/Nowhere" }], "unknown time zone"],
    ["no duration", [{ schedule: "@daily" }], "for how long the window is open"],
    ["no schedule", [{ duration: "1h" }], "when the window opens"],
    ["a duration of nothing", [{ ...NIGHT, duration: "10s" }], "must be at least 1m"],
    ["more than a week", [{ ...NIGHT, duration: "169h" }], "must be at most 168h"],
    ["a long grace", [{ ...NIGHT, grace: "25h" }], "must be at most 24h"],
    ["another step", [{ ...NIGHT, for: ["reboot"] }], "supported values"],
    ["an unknown field", [{ ...NIGHT, days: "Mon" }], "unknown field"],
    ["more than 16", Array.from({ length: 17 }, () => NIGHT), "must have at most 16 items"],
  ])("with %s is refused", (_name, value, message) => {
    expect(errors(value)).toEqual([expect.stringContaining(message)]);
  });

  test("has its defaults, and is written as it was read", () => {
    const [one] = windows({ schedule: "@daily", duration: "1h" });
    expect(one).toMatchObject({ duration: HOUR, grace: 0, for: ["download", "update"] });
    expect(MAINTENANCE_WINDOWS.write(windows(NIGHT))).toEqual([
      { ...NIGHT, for: ["download", "update"] },
    ]);
  });
});
