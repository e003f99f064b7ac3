// Jobs on the whole agent: what runs, how often, and what never runs again.

import { expect, test } from "bun:test";

import { job } from "../fakes/job-scene.ts";
import { JobWorld } from "./job-world.ts";

test("a Job runs once, whatever happens to the agent, the machine, the file and the runtime", async () => {
  using world = new JobWorld();
  world.write("once", job("once"));
  await world.start();
  await world.minutes(1);
  expect([world.started(), world.pods()]).toEqual([["once-0"], ["once-0 Succeeded"]]);
  await world.restart();
  await world.reboot();
  world.write("once", job("once"));
  await world.minutes(1);
  expect([world.started(), world.pods()]).toEqual([[], ["once-0 Succeeded"]]);
  await world.kill();
  world.loseEnded();
  await world.start();
  await world.minutes(60);
  expect([world.started(), world.troubles]).toEqual([[], []]);
});

test("a Job that is changed runs again, one that only moves to another file does not", async () => {
  using world = new JobWorld();
  world.write("a", job("once"));
  await world.start();
  await world.minutes(1);
  world.write("a", job("once", { command: "other" }));
  await world.minutes(2);
  expect(world.started()).toEqual(["once-0", "once-0"]);
  world.write("a", job("once", { command: "other", spec: { completions: 2 } }));
  await world.minutes(2);
  expect(world.started()).toEqual(["once-0", "once-1"]);
  world.write("a", job("once", { command: "other", spec: { completions: 2, parallelism: 2 } }));
  world.write("b", job("once", { command: "other", spec: { completions: 2, parallelism: 2 } }));
  world.remove("a");
  await world.minutes(2);
  expect(world.started()).toEqual([]);
});

test("a Job that is deleted and added again runs again", async () => {
  using world = new JobWorld();
  world.write("once", job("once"));
  await world.start();
  await world.minutes(1);
  world.remove("once");
  await world.minutes(1);
  expect(world.pods()).toEqual([]);
  world.write("once", job("once"));
  await world.minutes(1);
  expect(world.started()).toEqual(["once-0", "once-0"]);
});

test("what runs goes on over a restart of the agent, and counts when it ends meanwhile", async () => {
  using world = new JobWorld();
  world.program = { exitsAfterMs: 90_000 };
  world.write("long", job("long", { spec: { completions: 2 } }));
  await world.start();
  await world.restart();
  await world.kill();
  await world.minutes(2);
  await world.start();
  expect(world.started()).toEqual(["long-0", "long-1"]);
  await world.minutes(3);
  expect(world.started()).toEqual([]);
  expect(world.events()).toContain("long Completed");
});

test("a failed pod is tried again after 10 s, 20 s, and the Job fails at its limit", async () => {
  using world = new JobWorld();
  world.program = { exitsAfterMs: 0, exitCode: 1 };
  world.write("bad", job("bad", { spec: { backoffLimit: 2 } }));
  await world.start();
  await world.minutes(30);
  const begun = world.starts.map(({ at }) => at);
  const pauses = begun.slice(1).map((at, index) => Math.round((at - (begun[index] ?? 0)) / 1000));
  expect(pauses).toEqual([10, 20]);
  expect(world.events()).toContain("bad BackoffLimitExceeded");
  expect(world.pods()).toEqual(["bad-0 Failed", "bad-1 Failed", "bad-2 Failed"]);
});

test("restarts in place count too", async () => {
  using world = new JobWorld();
  world.program = { exitsAfterMs: 0, exitCode: 1 };
  world.write("bad", job("bad", { restartPolicy: "OnFailure", spec: { backoffLimit: 2 } }));
  await world.start();
  await world.minutes(30);
  expect(world.starts.length).toBe(3);
  expect(world.pods()).toEqual([]);
  expect(world.events()).toContain("bad BackoffLimitExceeded");
});

test("a pod that the machine takes down is a failure, and another one follows", async () => {
  using world = new JobWorld();
  world.program = {};
  world.write("long", job("long"));
  await world.start();
  world.program = { exitsAfterMs: 1000 };
  await world.reboot();
  await world.minutes(2);
  expect(world.started()).toEqual(["long-0", "long-1"]);
  expect(world.events()).toContain("long Completed");
});

test("no pod starts that the disk cannot record", async () => {
  using world = new JobWorld();
  world.write("warm", job("warm"));
  await world.start();
  await world.minutes(1);
  world.started();
  world.diskFull = true;
  world.write("once", job("once"));
  await world.minutes(5);
  expect(world.started()).toEqual([]);
  world.diskFull = false;
  await world.minutes(5);
  expect(world.started()).toEqual(["once-0"]);
});

test("pods of a Job that is over go after their time, and with a Job that is deleted at once", async () => {
  using world = new JobWorld();
  world.write("brief", job("brief", { spec: { ttlSecondsAfterFinished: 120 } }));
  await world.start();
  await world.minutes(1);
  expect(world.pods()).toEqual(["brief-0 Succeeded"]);
  await world.minutes(3);
  expect(world.pods()).toEqual([]);
  await world.reboot();
  await world.minutes(10);
  expect([world.started(), world.pods()]).toEqual([["brief-0"], []]);
});

test("an indexed Job gives each pod its index", async () => {
  using world = new JobWorld();
  const spec = { completions: 3, parallelism: 2, completionMode: "Indexed" };
  world.write("shards", job("shards", { spec }));
  await world.start();
  await world.minutes(2);
  expect(world.started()).toEqual(["shards-0-0", "shards-1-1", "shards-2-2"]);
  const variables = [...world.machine.runtime.containers.values()].flatMap(({ config }) =>
    config.envs.filter(({ key }) => key === "JOB_COMPLETION_INDEX"),
  );
  expect(variables.map(({ value }) => new TextDecoder().decode(value))).toEqual(["0", "1", "2"]);
  expect(world.events()).toContain("shards Completed");
});

function deployment(command: string): object {
  const labels = { app: "web" };
  const spec = { containers: [{ name: "a", image: "local/busybox:1", command: [command] }] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

test("in documents a Deployment is tried and rolled back as a pod, and a Job runs once", async () => {
  using world = new JobWorld({ hasBroker: true });
  await world.start();
  world.programOf = (pod) => (pod.startsWith("once") ? { exitsAfterMs: 1000 } : {});
  world.publish(1, [deployment("good"), job("once")]);
  await world.minutes(30);
  expect(world.started().toSorted()).toEqual(["once-0", "web-0"]);
  world.programOf = () => ({ exitsAfterMs: 0, exitCode: 1 });
  world.publish(2, [deployment("bad"), job("once")]);
  await world.minutes(2);
  expect(new Set(world.started())).toEqual(new Set(["web-0"]));
  world.programOf = () => ({});
  await world.minutes(60);
  const commands = world.machine.runtime.running().map(({ config }) => config.command);
  expect(commands).toEqual([["good"]]);
  await world.reboot();
  expect(world.started().every((pod) => pod === "web-0")).toBe(true);
  world.publish(3, []);
  await world.minutes(5);
  expect([world.machine.runtime.running().length, world.troubles]).toEqual([1, []]);
});
