// Performs: records the events of every room: in the log, in the ring behind `get events`, and in the outbox.
// kubelet: event recorder

import type { AgentConfig } from "../config/config.ts";
import type { Rejection } from "../api/pod/desired-pod.ts";
import type { RecordedEvent, RecordEvent } from "../api/v1/events.ts";
import { topicFor } from "../protocol/mqtt-topics.ts";
import { Events } from "../status/events.ts";
import { EventUplink } from "../upstream/report/event-uplink.ts";
import type { Edges } from "../edges.ts";
import { nodeEvent, rejectionEvents } from "./node-events.ts";

export interface EventRecorderOptions {
  readonly edges: Pick<Edges, "clock" | "log" | "store" | "bootId">;
  readonly config: Pick<AgentConfig, "mqtt">;
  readonly nodeName: string;
  /** Redacts a text before it leaves the node. */
  readonly redact: (text: string) => string;
  /** Events were added to the outbox. */
  readonly onFlushed: () => void;
}

export class EventRecorder implements Disposable {
  readonly record: RecordEvent;
  readonly #options: EventRecorderOptions;
  readonly #events: Events;
  readonly #uplink: EventUplink | undefined;
  #rejected: readonly Rejection[] = [];

  constructor(options: EventRecorderOptions) {
    const { clock, log } = options.edges;
    this.#options = options;
    this.#uplink = uplinkOf(options);
    this.#events = new Events({ clock, log, onRecorded: (event) => this.#uplink?.add(event) });
    this.record = (event) => this.#events.record(event);
  }

  /** Oldest occurrence first. */
  list(): readonly RecordedEvent[] {
    return this.#events.list();
  }

  /** The agent starts. */
  started(version: string): void {
    const { recovered } = this.#options.edges.store;
    this.#node("Normal", "Starting", `Starting agent ${version}.`);
    if (recovered === undefined) return;
    const { reason, movedTo } = recovered;
    const message = `the database was damaged (${reason}); it was moved to ${movedTo} and a new one was made`;
    this.#node("Warning", "DatabaseRecovered", message);
  }

  /** `rejected`: everything that the sources reject now; only what is new becomes an event. */
  rejected(rejected: readonly Rejection[]): void {
    const { nodeName } = this.#options;
    for (const event of rejectionEvents(this.#rejected, rejected, nodeName)) this.record(event);
    this.#rejected = rejected;
  }

  /** `problem`: why the runtime does not answer; undefined = it answers again. */
  runtimeHealth(problem: string | undefined): void {
    if (problem === undefined)
      this.#node("Normal", "RuntimeReady", "the container runtime answers again");
    else this.#node("Warning", "RuntimeNotResponding", `the container runtime: ${problem}`);
  }

  /** The broker refuses what is published on `topic`. */
  denied(topic: string, why: string): void {
    this.#node("Warning", "PublishDenied", `${topic} ${why}; it is retried in an hour`);
  }

  /** A session with the broker is about to publish what waits. */
  connected(): void {
    this.#uplink?.connected();
  }

  /** Writes what waits for the broker to the outbox. */
  [Symbol.dispose](): void {
    this.#uplink?.[Symbol.dispose]();
  }

  #node(type: "Normal" | "Warning", reason: string, message: string): void {
    this.record(nodeEvent(this.#options.nodeName, { type, reason, message }));
  }
}

/** undefined = no broker is configured: nothing is queued. */
function uplinkOf({
  edges,
  config,
  nodeName,
  redact,
  onFlushed,
}: EventRecorderOptions): EventUplink | undefined {
  if (config.mqtt === undefined) return undefined;
  const { clock, log, store, bootId } = edges;
  const topic = topicFor({ type: "NodeEvent", root: config.mqtt.topicRoot, node: nodeName });
  return new EventUplink({
    clock,
    log,
    outbox: store.outbox,
    topic,
    node: nodeName,
    bootId,
    warningsOnly: config.mqtt.profile === "metered",
    redact,
    onFlushed,
  });
}
