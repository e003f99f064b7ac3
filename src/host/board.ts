// Performs: reads what the kernel reports of the board: temperature, voltage, throttling, wear of the storage.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readText } from "./machine.ts";

/** What a machine has no sensor for is absent. */
export interface BoardReadings {
  readonly cpu?: CpuTemperature;
  /** Raspberry Pi's firmware: the bits of `vcgencmd get_throttled`. */
  readonly throttled?: number;
  /** Raspberry Pi's kernel driver `rpi_volt`: whether the voltage is too low at this moment. */
  readonly isVoltageLow?: boolean;
  /** eMMC and SD cards that report their wear. */
  readonly storage: readonly StorageWear[];
}

interface CpuTemperature {
  readonly celsius: number;
  /** At this temperature the kernel slows the CPU down; absent = the kernel names none. */
  readonly throttlesAt?: number;
}

/** JEDEC eMMC registers as the kernel prints them: "0x01 0x02", "0x01"; "" = not reported. */
export interface StorageWear {
  /** `mmcblk0` */
  readonly device: string;
  /** Tenths of the life used, from 0x01 (up to 10 %) to 0x0b (over 100 %), for each kind of memory. */
  readonly lifeTime: string;
  /** Of the spare blocks: 0x01 normal, 0x02 80 % used, 0x03 nearly all used. */
  readonly endOfLife: string;
}

/** Zones of a CPU, best first, by the kernel's type of them. */
const CPU_ZONES = [/^cpu[-_]?(?:0[-_])?thermal$/, /^x86_pkg_temp$/, /^(?:cpu|soc|bigcore)/];
const FIRMWARE = /^(?:soc|platform-)/;

/** Looks for the sensors once; the result reads them. `root` = "/" except in tests. Never throws. */
export function findBoard(root = "/"): () => BoardReadings {
  const zone = cpuZone(root);
  const limit = zone === undefined ? undefined : throttlingLimit(zone);
  const throttled = firmwareFile(root);
  const voltage = voltageAlarm(root);
  const cards = children(join(root, "sys/block")).filter((name) => /^mmcblk\d+$/.test(name));
  const worn = cards.filter((name) =>
    existsSync(join(root, "sys/block", name, "device/life_time")),
  );
  return () => ({
    ...temperature(zone, limit),
    ...(throttled === undefined ? {} : bits(readText(throttled))),
    ...(voltage === undefined ? {} : { isVoltageLow: readText(voltage) === "1" }),
    storage: worn.map((device) => {
      const register = (name: string): string =>
        readText(join(root, "sys/block", device, "device", name));
      return { device, lifeTime: register("life_time"), endOfLife: register("pre_eol_info") };
    }),
  });
}

function cpuZone(root: string): string | undefined {
  const directory = join(root, "sys/class/thermal");
  const zones = children(directory)
    .filter((name) => name.startsWith("thermal_zone"))
    .map((name) => join(directory, name));
  const types = zones.map((zone) => ({ zone, type: readText(join(zone, "type")) }));
  const found = CPU_ZONES.flatMap((form) => types.filter(({ type }) => form.test(type)));
  return found[0]?.zone;
}

/** The lowest trip point at which the kernel cools by slowing down, in degrees. */
function throttlingLimit(zone: string): number | undefined {
  const limits = children(zone)
    .flatMap((name) => /^trip_point_(\d+)_type$/.exec(name)?.[1] ?? [])
    .filter((number) => readText(join(zone, `trip_point_${number}_type`)) === "passive")
    .map((number) => Number(readText(join(zone, `trip_point_${number}_temp`))) / 1000)
    .filter((limit) => limit > 0);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

function temperature(
  zone: string | undefined,
  throttlesAt: number | undefined,
): Pick<BoardReadings, "cpu"> {
  const text = zone === undefined ? "" : readText(join(zone, "temp"));
  if (!/^-?\d+$/.test(text)) return {};
  const limit = throttlesAt === undefined ? {} : { throttlesAt };
  return { cpu: { celsius: Number(text) / 1000, ...limit } };
}

function bits(text: string): Pick<BoardReadings, "throttled"> {
  return /^(?:0x)?[0-9a-f]+$/i.test(text) ? { throttled: Number.parseInt(text, 16) } : {};
}

/** `soc/soc:firmware/get_throttled`; on later boards the names contain an address. */
function firmwareFile(root: string): string | undefined {
  const platform = join(root, "sys/devices/platform");
  for (const soc of children(platform).filter((name) => FIRMWARE.test(name)))
    for (const firmware of children(join(platform, soc)).filter((name) => /firmware/.test(name))) {
      const file = join(platform, soc, firmware, "get_throttled");
      if (existsSync(file)) return file;
    }
  return undefined;
}

function voltageAlarm(root: string): string | undefined {
  const directory = join(root, "sys/class/hwmon");
  const monitor = children(directory)
    .map((name) => join(directory, name))
    .find((path) => readText(join(path, "name")) === "rpi_volt");
  const file = monitor === undefined ? "" : join(monitor, "in0_lcrit_alarm");
  return existsSync(file) ? file : undefined;
}

function children(directory: string): readonly string[] {
  try {
    return readdirSync(directory).toSorted();
  } catch {
    // Absent on this kind of machine.
    return [];
  }
}
