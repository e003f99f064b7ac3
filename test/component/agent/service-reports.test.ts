import { expect, test } from "bun:test";

import { reportToManager, type ServiceFacts } from "../../../src/agent/service-reports.ts";
import type { ServiceManager } from "../../../src/host/service-manager.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

interface Scene {
  readonly clock: VirtualClock;
  readonly said: string[];
  readonly facts: { isReconciled: boolean; stuck: string | undefined; summary: string };
  readonly stop: AbortController;
}

function scene(watchdogMs?: number): Scene {
  const clock = new VirtualClock();
  const said: string[] = [];
  const facts: Scene["facts"] = { isReconciled: false, stuck: undefined, summary: "2 pods" };
  const stop = new AbortController();
  const manager: ServiceManager = {
    watchdogMs,
    ready: () => void said.push("ready"),
    status: (text) => void said.push(text),
    stopping: () => void said.push("stopping"),
    alive: () => void said.push("alive"),
  };
  const asked: ServiceFacts = {
    isReconciled: () => facts.isReconciled,
    stuck: () => facts.stuck,
    summary: () => facts.summary,
  };
  void reportToManager(manager, { facts: asked, clock }, stop.signal);
  return { clock, said, facts, stop };
}

const WAITS = "waits for the container runtime and the local manifests";

test("is ready once local facts are reconciled, and alive three times within the watchdog's time", async () => {
  const { clock, said, facts, stop } = scene(180_000);
  await clock.advance(0);
  expect(said).toEqual([WAITS]);
  facts.isReconciled = true;
  await clock.advance(1_000);
  expect(said).toEqual([WAITS, "alive", "ready", "alive", "2 pods"]);
  said.length = 0;
  await clock.advance(180_000);
  expect(said).toEqual(["alive", "alive", "alive"]);
  facts.summary = "3 pods";
  await clock.advance(60_000);
  expect(said.slice(3)).toEqual(["alive", "3 pods"]);
  stop.abort();
  await clock.advance(0);
  expect(said.at(-1)).toBe("stopping");
});

test("a loop that does not turn is named, and nothing says alive until it does", async () => {
  const { clock, said, facts } = scene(180_000);
  facts.isReconciled = true;
  await clock.advance(1_000);
  said.length = 0;
  facts.stuck = "sync loop: has not turned for 121 s";
  await clock.advance(300_000);
  expect(said).toEqual([facts.stuck]);
  facts.stuck = undefined;
  await clock.advance(60_000);
  expect(said.slice(1)).toEqual(["alive", "2 pods"]);
});

test("a runtime that is away holds up the boot for a minute, and is no reason to be ended", async () => {
  const { clock, said } = scene(180_000);
  await clock.advance(59_000);
  expect(said).not.toContain("ready");
  await clock.advance(2_000);
  expect(said).toContain("ready");
  expect(said.filter((one) => one === "alive").length).toBeGreaterThan(50);
});

test("without a watchdog nothing says alive", async () => {
  const { clock, said, facts } = scene();
  facts.isReconciled = true;
  await clock.advance(600_000);
  expect(said).toEqual([WAITS, "ready", "2 pods"]);
});
