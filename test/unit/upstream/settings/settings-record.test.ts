import { describe, expect, test } from "bun:test";

import { NO_SETTINGS_RECORD, type SettingsRecord } from "../../../../src/store/settings-file.ts";
import {
  committed,
  dropped,
  hasTooManyStarts,
  nextStep,
  proven,
  started,
  trialFailed,
  trying,
  wentBack,
  type WantedSettings,
} from "../../../../src/upstream/settings/settings-record.ts";

const NOTHING = "nothing";
const WHY = { reason: "Unreachable", message: "no answer" };

function wanted(digest: string, more: Partial<WantedSettings> = {}): WantedSettings {
  const kept = { settings: digest, digest, source: "mqtt:node", generation: 2 };
  return { ...kept, retryFailed: false, ...more };
}

const step = (
  record: SettingsRecord,
  digest?: string,
  more: Partial<WantedSettings> = {},
): string =>
  nextStep(record, digest === undefined ? undefined : wanted(digest, more), NOTHING).type;

const inForce = (digest: string, before = NO_SETTINGS_RECORD): SettingsRecord =>
  proven(committed(before, wanted(digest), 5));

describe("what happens next", () => {
  test.each<[string, SettingsRecord, string | undefined, string]>([
    ["nothing without settings", NO_SETTINGS_RECORD, undefined, "Rest"],
    ["nothing with those of the device", NO_SETTINGS_RECORD, NOTHING, "Rest"],
    ["a trial of new ones", NO_SETTINGS_RECORD, "a", "Try"],
    ["nothing with those in force", inForce("a"), "a", "Rest"],
    ["nothing when they are no longer wanted", inForce("a"), undefined, "Rest"],
    ["a trial of those of the device", inForce("a"), NOTHING, "Try"],
    ["a proof after the change", committed(NO_SETTINGS_RECORD, wanted("a"), 5), "a", "Prove"],
    ["a proof before anything else", committed(NO_SETTINGS_RECORD, wanted("a"), 5), "b", "Prove"],
  ])("%s", (_name, record, digest, expected) => {
    expect(step(record, digest)).toBe(expected);
  });

  test("known bad ones are not tried, but by a newer generation that asks for it, or another source", () => {
    const bad = trialFailed(NO_SETTINGS_RECORD, wanted("a"), { why: WHY, now: 7 });
    expect(step(bad, "a")).toBe("Rest");
    expect(step(bad, "a", { generation: 3 })).toBe("Rest");
    expect(step(bad, "a", { retryFailed: true })).toBe("Rest");
    expect(step(bad, "a", { retryFailed: true, generation: 3 })).toBe("Try");
    expect(step(bad, "b")).toBe("Try");
  });

  test("the fourth start without a proof goes back", () => {
    let record = committed(inForce("a"), wanted("b"), 6);
    for (let starts = 0; starts < 3; starts += 1) record = started(record);
    expect(step(record, "b")).toBe("Prove");
    expect(step(started(record), "b")).toBe("Undo");
  });
});

describe("the record", () => {
  test("keeps what was in force until its successor is taken back or replaced", () => {
    const changed = committed(inForce("a"), wanted("b"), 6);
    expect(changed).toMatchObject({ inForce: { digest: "b" }, previous: { digest: "a" } });
    expect(proven(changed)).toMatchObject({ previous: { digest: "a" } });
    const back = wentBack(changed, { why: WHY, now: 8 });
    expect(back.inForce?.digest).toBe("a");
    expect(back).not.toHaveProperty("previous");
    expect(back).not.toHaveProperty("unproven");
    expect(back.undone).toMatchObject([{ digest: "b", ...WHY, at: 8 }]);
  });

  test("of a failed trial has the same in force as before", () => {
    const tried = trying(inForce("a"), wanted("b"));
    expect(trying(tried, wanted("b"))).toBe(tried);
    const failed = trialFailed(tried, wanted("b"), { why: WHY, now: 8 });
    expect(failed.inForce?.digest).toBe("a");
    expect(failed).not.toHaveProperty("trying");
    expect(dropped(tried)).toEqual(inForce("a"));
  });

  test("counts starts only while something is open", () => {
    expect(started(inForce("a"))).toEqual(inForce("a"));
    let record = trying(NO_SETTINGS_RECORD, wanted("a"));
    for (let starts = 0; starts < 4; starts += 1) record = started(record);
    expect(hasTooManyStarts(record)).toBe(true);
    expect(hasTooManyStarts(trying(record, wanted("b")))).toBe(false);
  });

  test("remembers the last five that were undone, each once", () => {
    let record: SettingsRecord = NO_SETTINGS_RECORD;
    for (const digest of ["a", "b", "a", "c", "d", "e", "f"])
      record = trialFailed(record, wanted(digest), { why: WHY, now: 1 });
    expect(record.undone.map(({ digest }) => digest)).toEqual(["a", "c", "d", "e", "f"]);
    expect(committed(record, wanted("a"), 2).undone.map(({ digest }) => digest)).not.toContain("a");
  });
});
