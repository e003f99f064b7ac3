import { describe, expect, test } from "bun:test";
import type { BoardReadings } from "../../../src/host/board.ts";
import { boardConditions, noteTrouble, NO_TROUBLE } from "../../../src/status/board-conditions.ts";

const QUIET: BoardReadings = { storage: [] };
const MINUTE = 60_000;

/** Type, status and reason of each condition after one look. */
function after(readings: BoardReadings): readonly (readonly string[])[] {
  const trouble = noteTrouble(readings, NO_TROUBLE, 0);
  return boardConditions(readings, trouble, 0).map(({ type, status, reason }) => [
    type,
    status,
    reason,
  ]);
}

const card = (lifeTime: string, endOfLife = "0x01") => ({
  storage: [{ device: "mmcblk0", lifeTime, endOfLife }],
});

const cases: Readonly<Record<string, readonly [Partial<BoardReadings>, ...string[][]]>> = {
  "a machine without sensors has none": [{}],
  "a temperature without a limit tells nothing": [{ cpu: { celsius: 99 } }],
  "a Raspberry Pi that is well": [
    { throttled: 0, isVoltageLow: false },
    ["UnderVoltage", "False", "VoltageOk"],
    ["ThermalThrottling", "False", "FullSpeed"],
  ],
  "the firmware reports low voltage": [
    { throttled: 0x5_0001 },
    ["UnderVoltage", "True", "VoltageLow"],
    ["ThermalThrottling", "False", "FullSpeed"],
  ],
  "the kernel reports low voltage, the firmware is not asked": [
    { isVoltageLow: true },
    ["UnderVoltage", "True", "VoltageLow"],
  ],
  "low voltage since the start, and not now": [
    { throttled: 0x5_0000 },
    ["UnderVoltage", "False", "VoltageWasLow"],
    ["ThermalThrottling", "False", "FullSpeed"],
  ],
  "the firmware limits the frequency": [
    { throttled: 0x2 },
    ["UnderVoltage", "False", "VoltageOk"],
    ["ThermalThrottling", "True", "CPUSlowedDown"],
  ],
  "the soft temperature limit is reached": [
    { throttled: 0x8 },
    ["UnderVoltage", "False", "VoltageOk"],
    ["ThermalThrottling", "True", "CPUSlowedDown"],
  ],
  "the CPU is as hot as its passive trip point": [
    { cpu: { celsius: 85, throttlesAt: 85 } },
    ["ThermalThrottling", "True", "CPUSlowedDown"],
  ],
  "a new card": [card("0x01 0x01"), ["StorageWear", "False", "StorageOk"]],
  "a card with 80 % of its life used": [card("0x01 0x08"), ["StorageWear", "False", "StorageOk"]],
  "a card with more than 80 % of its life used": [
    card("0x01 0x09"),
    ["StorageWear", "True", "NearlyWornOut"],
  ],
  "a card with few spare blocks": [
    card("0x00 0x00", "0x02"),
    ["StorageWear", "True", "NearlyWornOut"],
  ],
  "a card that reports nothing of use": [card("", ""), ["StorageWear", "False", "StorageOk"]],
};

test.each(Object.entries(cases))("%s", (_, [readings, ...expected]) => {
  expect(after({ ...QUIET, ...readings })).toEqual(expected);
});

describe("trouble that comes and goes", () => {
  const low: BoardReadings = { storage: [], isVoltageLow: true };
  const well: BoardReadings = { storage: [], isVoltageLow: false };
  const statusAt = (minutes: number): string | undefined => {
    const seen = noteTrouble(low, NO_TROUBLE, 0);
    const now = minutes * MINUTE;
    return boardConditions(well, noteTrouble(well, seen, now), now)[0]?.status;
  };

  test("stays a condition for ten minutes", () => {
    expect([statusAt(1), statusAt(9)]).toEqual(["True", "True"]);
  });

  test("ends after that", () => {
    expect(statusAt(10)).toBe("False");
  });
});

test("a worn card is named with what is left of it", () => {
  const readings: BoardReadings = { ...QUIET, ...card("0x02 0x0b") };
  expect(boardConditions(readings, NO_TROUBLE, 0)[0]?.message).toBe(
    "nearly worn out: mmcblk0 (all of its life used); copy the card to a new one",
  );
});
