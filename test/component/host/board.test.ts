import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { findBoard } from "../../../src/host/board.ts";
import { temporaryDirectories, writeTree } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const aRoot = (content: Readonly<Record<string, string>>): string =>
  writeTree(newDirectory(), content);

test("a Raspberry Pi 4 with Raspberry Pi OS", () => {
  const root = aRoot({
    "sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
    "sys/class/thermal/thermal_zone0/temp": "48692\n",
    "sys/class/thermal/thermal_zone0/trip_point_0_type": "critical\n",
    "sys/class/thermal/thermal_zone0/trip_point_0_temp": "110000\n",
    "sys/devices/platform/soc/soc:firmware/get_throttled": "50005\n",
    "sys/class/hwmon/hwmon0/name": "cpu_thermal\n",
    "sys/class/hwmon/hwmon1/name": "rpi_volt\n",
    "sys/class/hwmon/hwmon1/in0_lcrit_alarm": "1\n",
    "sys/block/mmcblk0/size": "62333952\n",
    "sys/block/mmcblk0/device/name": "SD32G\n",
  });
  expect(findBoard(root)()).toEqual({
    cpu: { celsius: 48.692 },
    throttled: 0x5_0005,
    isVoltageLow: true,
    storage: [],
  });
});

test("a later board, whose platform names contain addresses, with an eMMC", () => {
  const root = aRoot({
    "sys/class/thermal/thermal_zone0/type": "gpu-thermal\n",
    "sys/class/thermal/thermal_zone0/temp": "51000\n",
    "sys/class/thermal/thermal_zone1/type": "soc-thermal\n",
    "sys/class/thermal/thermal_zone1/temp": "61111\n",
    "sys/class/thermal/thermal_zone1/trip_point_0_type": "passive\n",
    "sys/class/thermal/thermal_zone1/trip_point_0_temp": "85000\n",
    "sys/class/thermal/thermal_zone1/trip_point_1_type": "passive\n",
    "sys/class/thermal/thermal_zone1/trip_point_1_temp": "75000\n",
    "sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled": "0x0\n",
    "sys/block/mmcblk1/device/life_time": "0x01 0x02\n",
    "sys/block/mmcblk1/device/pre_eol_info": "0x01\n",
    "sys/block/mmcblk1boot0/size": "8192\n",
  });
  expect(findBoard(root)()).toEqual({
    cpu: { celsius: 61.111, throttlesAt: 75 },
    throttled: 0,
    storage: [{ device: "mmcblk1", lifeTime: "0x01 0x02", endOfLife: "0x01" }],
  });
});

test("a machine without sensors", () => {
  expect(findBoard(newDirectory())()).toEqual({ storage: [] });
});

test("a sensor that no longer answers is left out", () => {
  const root = aRoot({
    "sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
    "sys/class/thermal/thermal_zone0/temp": "48692\n",
  });
  const read = findBoard(root);
  expect(read().cpu?.celsius).toBe(48.692);
  writeFileSync(join(root, "sys/class/thermal/thermal_zone0/temp"), "");
  expect(read()).toEqual({ storage: [] });
});
