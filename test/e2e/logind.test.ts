// A shutdown by systemd-logind waits until the pods have ended in order: the compiled agent and a real logind on a bus of
// its own, beside a systemd that pretends to shut down.

import { afterAll, beforeAll, expect } from "bun:test";

import { eventually } from "../harness/eventually.ts";
import { PrivateBus, whyNoLogind } from "../harness/private-bus.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { podManifest } from "./support-a-pods.ts";
import { Stage } from "./support-a-stage.ts";
import { findPod, READY, untilPod } from "./support-c-views.ts";

const stage = await Stage.open();
const why = whyNoLogind();
const e2e = why === undefined ? stage.test : testWhenAvailable({ unavailable: why });
const isAvailable = stage.available && why === undefined;
const LIMIT = 120_000;
const LOCK = "shutdown agent delay";
let bus: PrivateBus;

beforeAll(async () => {
  if (isAvailable) bus = await PrivateBus.started();
}, LIMIT);

afterAll(async () => {
  if (isAvailable) await bus[Symbol.asyncDispose]();
  stage.close();
}, LIMIT);

e2e(
  "the machine goes off after the pods, and runs them again when it does not",
  async () => {
    const agent = stage.agent({
      config: { shutdownGracePeriod: "4s", shutdownGracePeriodCriticalPods: "2s" },
      env: { DBUS_SYSTEM_BUS_ADDRESS: bus.address },
    });
    await agent.startReady();
    const critical = podManifest(stage.journals, { name: "critical" }) as { spec: object };
    critical.spec = { ...critical.spec, priorityClassName: "system-node-critical" };
    agent.writeManifest("critical.yaml", critical);
    agent.writeManifest("plain.yaml", podManifest(stage.journals, { name: "plain" }));
    for (const name of ["plain", "critical"]) await untilPod(agent, name, READY);
    await eventually("the lock is held", () => bus.inhibitors().includes(LOCK));

    // Another process takes its own lock, and none is left of the one before.
    await agent.restart("SIGKILL");
    await eventually("one lock is held", () => bus.inhibitors().join() === LOCK);
    expect((await findPod(agent, "plain"))?.status.phase).toBe("Running");

    bus.powerOff();
    await eventually("the lock is released", () => bus.inhibitors().length === 0);
    for (const name of ["plain", "critical"]) {
      expect((await findPod(agent, name))?.status.reason).toBe("Terminated");
      expect(await stage.containersOf(name)).toEqual([]);
    }

    bus.endJob();
    for (const name of ["plain", "critical"]) await untilPod(agent, name, READY);
    await eventually("the lock is held again", () => bus.inhibitors().includes(LOCK));
    await agent.kill("SIGTERM");
    await eventually("it ends with the agent", () => bus.inhibitors().length === 0);
    expect((await stage.containersOf("plain")).length).toBeGreaterThan(0);
  },
  LIMIT,
);
