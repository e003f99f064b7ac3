import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { clockSynchronised, sinceBoot } from "../../../src/host/libc.ts";
import { bootId } from "../../../src/host/machine.ts";
import { systemClock } from "../../../src/lib/system-clock.ts";

test("the system clock counts from the boot", () => {
  const clock = systemClock(sinceBoot);
  const uptime = Number.parseFloat(readFileSync("/proc/uptime", "utf8")) * 1000;
  expect(Math.abs(clock.monotonic() - uptime)).toBeLessThan(100);
});

test("the boot id is a UUID and stays the same", () => {
  expect(bootId()).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(bootId()).toBe(bootId());
});

test("the kernel says whether the wall clock is synchronised", () => {
  expect(clockSynchronised()).toBeBoolean();
});
