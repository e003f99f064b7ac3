// The node's conditions about its board, from what the kernel reports. Where there is no sensor there is no condition.

import type { NodeCondition } from "../api/v1/pod-status.ts";
import type { BoardReadings, StorageWear } from "../host/board.ts";
import type { Monotonic } from "../lib/clock.ts";

/** When trouble was last seen; undefined = never. */
export interface BoardTrouble {
  readonly lowVoltageAt: Monotonic | undefined;
  readonly throttledAt: Monotonic | undefined;
}

export const NO_TROUBLE: BoardTrouble = { lowVoltageAt: undefined, throttledAt: undefined };

/** A condition stays true for so long after the last sight of its trouble: under load it comes and goes each second. */
const CALM_MS = 600_000;

/** Bits of Raspberry Pi's get_throttled. */
const LOW_VOLTAGE = 0x1;
const SLOWED = 0x2 | 0x4 | 0x8;
const WAS_LOW_VOLTAGE = 0x1_0000;

/** Tenths of its life that a card has used at least when it counts as worn. */
const WORN_TENTHS = 9;
const SPARE_LOW = 2;

export function noteTrouble(
  readings: BoardReadings,
  before: BoardTrouble,
  now: Monotonic,
): BoardTrouble {
  return {
    lowVoltageAt: isVoltageLow(readings) ? now : before.lowVoltageAt,
    throttledAt: isThrottled(readings) ? now : before.throttledAt,
  };
}

/** `trouble`: with these readings noted. */
export function boardConditions(
  readings: BoardReadings,
  { lowVoltageAt, throttledAt }: BoardTrouble,
  now: Monotonic,
): readonly NodeCondition[] {
  const isRecent = (at: Monotonic | undefined): boolean => at !== undefined && now - at < CALM_MS;
  return [
    ...underVoltage(readings, isRecent(lowVoltageAt)),
    ...thermalThrottling(readings, isRecent(throttledAt)),
    ...storageWear(readings.storage),
  ];
}

function isVoltageLow({ throttled = 0, isVoltageLow: alarm }: BoardReadings): boolean {
  return alarm === true || (throttled & LOW_VOLTAGE) !== 0;
}

function isThrottled({ throttled = 0, cpu }: BoardReadings): boolean {
  const isHot = cpu?.throttlesAt !== undefined && cpu.celsius >= cpu.throttlesAt;
  return isHot || (throttled & SLOWED) !== 0;
}

function underVoltage(
  { throttled, isVoltageLow: alarm }: BoardReadings,
  isLow: boolean,
): readonly NodeCondition[] {
  const type = "UnderVoltage";
  if (throttled === undefined && alarm === undefined) return [];
  if (isLow)
    return [
      {
        type,
        status: "True",
        reason: "VoltageLow",
        message:
          "the supply voltage is too low: the board slows down and may lose data; use a stronger power supply or a shorter cable",
      },
    ];
  if (((throttled ?? 0) & WAS_LOW_VOLTAGE) !== 0)
    return [
      {
        type,
        status: "False",
        reason: "VoltageWasLow",
        message: "the supply voltage was too low at some time since the board started",
      },
    ];
  return [{ type, status: "False", reason: "VoltageOk", message: "the supply voltage is right" }];
}

function thermalThrottling(
  { throttled, cpu }: BoardReadings,
  isSlow: boolean,
): readonly NodeCondition[] {
  const type = "ThermalThrottling";
  if (throttled === undefined && cpu?.throttlesAt === undefined) return [];
  if (!isSlow)
    return [{ type, status: "False", reason: "FullSpeed", message: "the CPU runs at full speed" }];
  // Without the temperature, which would publish the message again with every degree.
  const message =
    "the CPU is slowed down because it is hot or its voltage is low; cool the board, or check its power supply";
  return [{ type, status: "True", reason: "CPUSlowedDown", message }];
}

function storageWear(storage: readonly StorageWear[]): readonly NodeCondition[] {
  const type = "StorageWear";
  if (storage.length === 0) return [];
  const worn = storage.filter(isWorn);
  if (worn.length === 0)
    return [
      { type, status: "False", reason: "StorageOk", message: "no card reports that it is worn" },
    ];
  const names = worn.map(({ device, lifeTime }) => `${device} (${usedLife(lifeTime)})`).join(", ");
  const message = `nearly worn out: ${names}; copy the card to a new one`;
  return [{ type, status: "True", reason: "NearlyWornOut", message }];
}

function isWorn({ lifeTime, endOfLife }: StorageWear): boolean {
  return usedTenths(lifeTime) >= WORN_TENTHS || Number(endOfLife) >= SPARE_LOW;
}

function usedLife(lifeTime: string): string {
  const tenths = usedTenths(lifeTime);
  if (tenths === 0) return "few spare blocks are left";
  return tenths > 10 ? "all of its life used" : `up to ${tenths * 10} % of its life used`;
}

/** The most used kind of memory; 0 = not reported. */
function usedTenths(lifeTime: string): number {
  const all = lifeTime.split(/\s+/).map(Number);
  return Math.max(0, ...all.filter((tenths) => Number.isInteger(tenths)));
}
