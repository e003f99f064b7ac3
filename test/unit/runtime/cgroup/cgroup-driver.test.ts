import { expect, test } from "bun:test";
import { driverOfStatus } from "../../../../src/runtime/cgroup/cgroup-driver.ts";

const config = (systemd: unknown): string =>
  JSON.stringify({
    containerd: {
      defaultRuntimeName: "runc",
      runtimes: { runc: { options: { SystemdCgroup: systemd } }, other: { options: {} } },
    },
  });

test.each([
  ["the default runtime uses systemd", config(true), "systemd"],
  ["the default runtime does not", config(false), "cgroupfs"],
  ["the runtime reports no driver", config(undefined), "cgroupfs"],
  ["the runtime reports no configuration", undefined, "cgroupfs"],
  ["the configuration is no JSON", "runc: {}", "cgroupfs"],
  ["the configuration is something else", "[]", "cgroupfs"],
] as const)("%s", (_, text, driver) => {
  expect(driverOfStatus(text)).toBe(driver);
});
