import { totalChanges } from "../../fakes/in-the-store.ts";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentConfig, MqttConfig } from "../../../src/config/config.ts";
import type { Rejection } from "../../../src/api/pod/desired-pod.ts";
import { podEvent } from "../../../src/api/v1/events.ts";
import { EventRecorder } from "../../../src/node/event-recorder.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { Store } from "../../../src/store/store.ts";
import { openStore } from "../store/open-store.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

const MQTT: MqttConfig = {
  url: "mqtt://broker",
  topicRoot: "agent/v1",
  keepAliveSeconds: 60,
  reconnectMaxMs: 300_000,
  podStatus: "retained",
  protocolVersion: 5,
  profile: "normal",
  requireSignature: false,
  requireDigest: false,
};
const REJECTION: Rejection = {
  source: "file",
  ref: "/m/web.yaml",
  code: "UnknownField",
  path: "spec.x",
  message: "unknown field",
};

let stateDir: string;
let store: Store;
let clock: VirtualClock;
let flushes: number;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "agent-sink-"));
  clock = new VirtualClock();
  flushes = 0;
});
afterEach(() => {
  store[Symbol.dispose]();
  rmSync(stateDir, { recursive: true, force: true });
});

function sink(config: Pick<AgentConfig, "mqtt"> = { mqtt: MQTT }): EventRecorder {
  store = openStore(stateDir);
  const log = createLogger({ clock, level: "error", write: () => undefined });
  return new EventRecorder({
    edges: { clock, log, store, bootId: "boot-1" },
    config,
    isMetered: () => config.mqtt?.profile === "metered",
    nodeName: "pi-1",
    redact: (text) => text.replaceAll("s3cret", "<hidden>"),
    onFlushed: () => void (flushes += 1),
  });
}

function told(events: EventRecorder): readonly string[] {
  return events.list().map(({ type, reason, object, message }) => {
    return `${type} ${reason} ${object.kind}/${object.name}: ${message}`;
  });
}

const POD = { namespace: "default", name: "web", uid: "u" };
const PULLED = podEvent(POD, { type: "Normal", reason: "Pulled", message: "Pulled image" });

test("what is recorded is shown at once and waits for the broker ten seconds at most", async () => {
  const events = sink();
  events.record(PULLED);
  expect(told(events)).toEqual(["Normal Pulled Pod/web: Pulled image"]);
  expect(store.outbox.nextBatch(10)).toEqual([]);
  await clock.advance(10_000);
  expect(flushes).toBe(1);
  const rows = store.outbox.nextBatch(10);
  expect(rows.map(({ topic }) => topic)).toEqual(["agent/v1/node/pi-1/event"]);
});

test("without a broker nothing is ever written", async () => {
  const events = sink({});
  const before = totalChanges(store.database);
  events.record(PULLED);
  events.connected();
  await clock.advance(3_600_000);
  events[Symbol.dispose]();
  expect(told(events)).toHaveLength(1);
  expect(totalChanges(store.database)).toBe(before);
  expect(clock.pending).toBe(0);
});

test("a clean stop writes down what waits, and afterwards nothing moves", async () => {
  const events = sink();
  events.record(PULLED);
  events[Symbol.dispose]();
  expect(store.outbox.nextBatch(10)).toHaveLength(1);
  const before = totalChanges(store.database);
  events.record({ ...PULLED, message: "too late" });
  await clock.advance(3_600_000);
  expect(totalChanges(store.database)).toBe(before);
});

test("the start of the agent is told, and a database that was damaged", () => {
  writeFileSync(join(stateDir, "agent.db"), "this is no database ".repeat(1_000));
  const events = sink();
  events.started("1.2.3");
  const [starting, recovered, ...rest] = told(events);
  expect(starting).toBe("Normal Starting Node/pi-1: Starting agent 1.2.3.");
  expect(recovered).toStartWith("Warning DatabaseRecovered Node/pi-1: the database was damaged (");
  expect(rest).toEqual([]);
});

test("a refusal is told when it appears, and again when it has gone and come back", () => {
  const events = sink();
  const shadowed = { ...REJECTION, kind: "Pod", name: "web", code: "Shadowed", path: "" };
  events.rejected([REJECTION]);
  events.rejected([REJECTION]);
  events.rejected([REJECTION, { ...shadowed, message: "the file wins" }]);
  events.rejected([]);
  events.rejected([REJECTION]);
  expect(events.list().map(({ reason, count }) => [reason, count])).toEqual([
    ["Shadowed", 1],
    ["Rejected", 2],
  ]);
});

test("the silence of the runtime is told, and its end", () => {
  const events = sink();
  events.runtimeHealth("no connection");
  events.runtimeHealth(undefined);
  expect(told(events)).toEqual([
    "Warning RuntimeNotResponding Node/pi-1: the container runtime: no connection",
    "Normal RuntimeReady Node/pi-1: the container runtime answers again",
  ]);
});

test("a secret in an event is shown nowhere, and a metered line takes Warnings only", async () => {
  const events = sink({ mqtt: { ...MQTT, profile: "metered" } });
  events.record(PULLED);
  const message = "probe failed: s3cret";
  events.record(podEvent(POD, { type: "Warning", reason: "Unhealthy", message }));
  expect(told(events)).toContain("Warning Unhealthy Pod/web: probe failed: <hidden>");
  await clock.advance(10_000);
  const rows = store.outbox.nextBatch(10).map(({ payload }) => new TextDecoder().decode(payload));
  expect(rows).toHaveLength(1);
  expect(rows[0]).toContain("probe failed: <hidden>");
});
