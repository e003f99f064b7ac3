// The lock of a real systemd-logind, on a bus of its own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { runPrograms } from "../../../src/host/run-program.ts";
import { systemdLogind } from "../../../src/host/logind/logind.ts";
import { messageOf } from "../../../src/lib/errors.ts";
import { systemClock } from "../../../src/lib/system-clock.ts";
import { eventually } from "../../harness/eventually.ts";
import { testWhenAvailable } from "../../harness/skip-reasons.ts";
import { PrivateBus, whyNoLogind } from "../../harness/private-bus.ts";

const why = whyNoLogind();
const logindTest = why === undefined ? test : testWhenAvailable({ unavailable: why });
const clock = systemClock();
const logind = systemdLogind({ clock, runProgram: runPrograms(clock) });
const NEVER = new AbortController().signal;
const HELD = "shutdown agent delay";
let bus: PrivateBus;
const before = process.env["DBUS_SYSTEM_BUS_ADDRESS"];

beforeAll(async () => {
  if (why !== undefined) return;
  bus = await PrivateBus.started();
  process.env["DBUS_SYSTEM_BUS_ADDRESS"] = bus.address;
}, 60_000);

afterAll(async () => {
  if (why !== undefined) return;
  if (before === undefined) delete process.env["DBUS_SYSTEM_BUS_ADDRESS"];
  else process.env["DBUS_SYSTEM_BUS_ADDRESS"] = before;
  await bus[Symbol.asyncDispose]();
}, 60_000);

logindTest(
  "is held until it is released, and a shutdown is announced, refused meanwhile, and taken back",
  async () => {
    const lock = await logind.lock(NEVER);
    expect(bus.inhibitors()).toContain(HELD);
    bus.powerOff();
    expect(await lock.next()).toBe(true);
    const refusal = await logind.lock(NEVER).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ reason: "NoLock" });
    expect(messageOf(refusal)).toContain("already running");
    lock[Symbol.dispose]();
    await eventually("the lock is free", () => bus.inhibitors().length === 0);
    bus.endJob();
    const again = await eventually("another lock is granted", () =>
      logind.lock(NEVER).catch(() => undefined),
    );
    bus.powerOff();
    expect(await again.next()).toBe(true);
    // logind waits for five seconds at most, and then asks systemd.
    let announced: boolean | undefined;
    void again.next().then((goesOff) => (announced = goesOff));
    await eventually(
      "it is over when systemd says so",
      () => {
        bus.endJob();
        return announced === false;
      },
      { timeout: 20_000 },
    );
    again[Symbol.dispose]();
    await eventually("nothing is held", () => bus.inhibitors().length === 0);
  },
  60_000,
);

logindTest(
  "is lost with logind",
  async () => {
    const other = await PrivateBus.started();
    process.env["DBUS_SYSTEM_BUS_ADDRESS"] = other.address;
    const lock = await logind.lock(NEVER);
    process.env["DBUS_SYSTEM_BUS_ADDRESS"] = bus.address;
    await other[Symbol.asyncDispose]();
    expect(await lock.next()).toBeUndefined();
  },
  60_000,
);

logindTest(
  "ends with the agent, however it ends",
  async () => {
    const code = `
    import { systemdLogind } from "${import.meta.dir}/../../../src/host/logind/logind.ts";
    import { systemClock } from "${import.meta.dir}/../../../src/lib/system-clock.ts";
    import { runPrograms } from "${import.meta.dir}/../../../src/host/run-program.ts";
    const clock = systemClock();
    const logind = systemdLogind({ clock, runProgram: runPrograms(clock) });
    await logind.lock(new AbortController().signal);
    console.log("held");
    await Bun.sleep(60_000);
  `;
    const child = Bun.spawn([process.execPath, "-e", code], {
      stdout: "pipe",
      env: { ...process.env },
    });
    await child.stdout.getReader().read();
    expect(bus.inhibitors()).toContain(HELD);
    child.kill("SIGKILL");
    await eventually("nothing is held", () => bus.inhibitors().length === 0);
  },
  60_000,
);

logindTest("logind says how long it waits, and reads its configuration again", async () => {
  expect(await logind.maxDelayMs(NEVER)).toBe(5000);
  await logind.reload(NEVER);
});
