// CronJobs on the whole agent over virtual days, with reboots, clock jumps and missed schedules: what ran and what did not,
// as Kubernetes documents it. The wall clock begins at 08:00 UTC on the 21st.

import { expect, test } from "bun:test";

import { cronJob } from "../fakes/job-scene.ts";
import { JobWorld } from "./job-world.ts";

const HOUR = 60;
const DAY = 24 * HOUR;

async function worldWith(schedule: string, more: object = {}): Promise<JobWorld> {
  const world = new JobWorld();
  world.write("cron", cronJob("nightly", schedule, more));
  await world.start();
  return world;
}

test("a Job runs at each of its minutes over two days, and the history has its limit", async () => {
  using world = await worldWith("30 3,15 * * *", { successfulJobsHistoryLimit: 2 });
  await world.minutes(2 * DAY);
  expect(world.startedAt()).toEqual(["21T15:30", "22T03:30", "22T15:30", "23T03:30"]);
  expect(world.pods()).toHaveLength(2);
  expect([world.troubles, world.rejected()]).toEqual([[], []]);
});

test("a time zone shifts the schedule", async () => {
  using world = await worldWith("0 3 * * *", { timeZone: "Asia/Kathmandu" });
  await world.minutes(14 * HOUR);
  expect(world.startedAt()).toEqual(["21T21:15"]);
});

test("of what was missed while the node was off only the last is made up for, over restarts and reboots", async () => {
  using world = await worldWith("0 * * * *");
  await world.minutes(2 * HOUR + 30);
  expect(world.startedAt()).toEqual(["21T09:00", "21T10:00"]);
  await world.restart();
  await world.reboot();
  await world.minutes(5);
  expect(world.startedAt()).toEqual([]);
  await world.kill();
  await world.minutes(4 * HOUR);
  await world.reboot();
  await world.minutes(10);
  const [late, ...others] = world.startedAt();
  expect([late, others]).toEqual(["21T14:35", []]);
  expect(world.pods().at(-1)).toMatch(/^nightly-\d{8}-0 Succeeded$/);
});

test("a missed start after its deadline is no start", async () => {
  using world = await worldWith("0 * * * *", { startingDeadlineSeconds: 600 });
  await world.kill();
  await world.minutes(HOUR + 30);
  await world.start();
  await world.minutes(10);
  expect(world.startedAt()).toEqual([]);
  expect(world.events()).toContain("nightly MissSchedule");
  await world.minutes(30);
  expect(world.startedAt()).toEqual(["21T10:00"]);
});

test("more than a hundred missed starts are one start and a warning", async () => {
  using world = await worldWith("*/5 * * * *");
  await world.minutes(6);
  expect(world.startedAt()).toEqual(["21T08:05"]);
  await world.kill();
  await world.minutes(10 * HOUR);
  await world.start();
  expect(world.startedAt()).toHaveLength(1);
  expect(world.events()).toContain("nightly TooManyMissedTimes");
});

test("nothing starts while the clock is not synchronised, and the status shows why", async () => {
  using world = new JobWorld();
  world.machine.clockSynchronised = false;
  world.write("cron", cronJob("nightly", "0 * * * *"));
  await world.start();
  await world.minutes(3 * HOUR);
  expect(world.started()).toEqual([]);
  expect(world.rejected()).toEqual([
    expect.stringContaining(
      "CronJob nightly: NotStarted: no Job starts while the wall clock is not synchronised",
    ) as string,
  ]);
  // Where time begins is known from here on.
  world.machine.clockSynchronised = true;
  world.jump(2 * DAY);
  await world.minutes(HOUR + 5);
  expect(world.startedAt()).toEqual(["23T12:00"]);
  expect(world.rejected()).toEqual([]);
});

test("a clock that loses its trust stops the schedule; what was missed is made up for once", async () => {
  using world = await worldWith("0 * * * *");
  await world.minutes(HOUR + 30);
  expect(world.startedAt()).toEqual(["21T09:00"]);
  world.machine.clockSynchronised = false;
  world.jump(-30 * DAY);
  await world.minutes(3 * HOUR);
  expect(world.startedAt()).toEqual([]);
  world.jump(30 * DAY);
  world.machine.clockSynchronised = true;
  await world.minutes(10);
  expect(world.startedAt()).toEqual(["21T12:30"]);
});

test("a jump back runs no minute twice, a jump forward no hundred", async () => {
  using world = await worldWith("*/10 * * * *");
  await world.minutes(25);
  expect(world.startedAt()).toEqual(["21T08:10", "21T08:20"]);
  world.jump(-20);
  await world.minutes(20);
  expect(world.startedAt()).toEqual([]);
  await world.minutes(6);
  expect(world.startedAt()).toEqual(["21T08:30"]);
  world.jump(20 * HOUR);
  await world.minutes(5);
  const [first, ...others] = world.startedAt();
  expect([first?.slice(0, 5), others]).toEqual(["22T04", []]);
});

test("Forbid waits for the last Job, Replace ends it, Allow runs beside it", async () => {
  for (const [concurrencyPolicy, expected] of [
    ["Forbid", { starts: 3, running: 1 }],
    ["Replace", { starts: 6, running: 1 }],
    ["Allow", { starts: 6, running: 2 }],
  ] as const) {
    using world = new JobWorld();
    world.program = { exitsAfterMs: 15 * 60_000 };
    world.write("cron", cronJob("slow", "*/10 * * * *", { concurrencyPolicy }));
    await world.start();
    await world.minutes(61);
    const { starts, running } = expected;
    expect([concurrencyPolicy, world.starts.length]).toEqual([
      concurrencyPolicy,
      starts + (concurrencyPolicy === "Forbid" ? 1 : 0),
    ]);
    expect([concurrencyPolicy, world.machine.runtime.running().length]).toEqual([
      concurrencyPolicy,
      running,
    ]);
  }
});

test("an edit of the CronJob changes no Job that runs, and keeps what has run", async () => {
  using world = await worldWith("0 * * * *");
  world.program = { exitsAfterMs: 20 * 60_000 };
  await world.minutes(HOUR + 5);
  world.write("cron", cronJob("nightly", "0 * * * *", {}, { command: "other" }));
  await world.minutes(5);
  expect(world.startedAt()).toEqual(["21T09:00"]);
  expect(world.machine.runtime.running()).toHaveLength(1);
  await world.minutes(HOUR);
  expect(world.startedAt()).toEqual(["21T10:00"]);
});

test("one that is suspended starts nothing, and makes up for the last when it goes on", async () => {
  using world = await worldWith("0 * * * *", { suspend: true });
  await world.minutes(3 * HOUR + 10);
  expect(world.started()).toEqual([]);
  world.write("cron", cronJob("nightly", "0 * * * *"));
  await world.minutes(5);
  expect(world.startedAt()).toEqual(["21T11:10"]);
});

test("one that is deleted ends its Jobs, and has run nothing when it comes back", async () => {
  using world = await worldWith("0 * * * *");
  world.program = {};
  await world.minutes(HOUR + 5);
  world.remove("cron");
  await world.minutes(5);
  expect([world.pods(), world.machine.runtime.running()]).toEqual([[], []]);
  world.write("cron", cronJob("nightly", "0 * * * *"));
  await world.minutes(30);
  expect(world.startedAt()).toEqual(["21T09:00"]);
});
