// Performs: where every room's events go: into the log, the ring that `get events` shows, and the outbox.

import type { AgentConfig } from "../config/config.ts";
import type { Rejection } from "../api/pod/desired-pod.ts";
import type { RecordedEvent, RecordEvent } from "../api/v1/events.ts";
import { topicFor } from "../protocol/mqtt-topics.ts";
import { Events } from "../status/events.ts";
import { EventUplink } from "../upstream/report/event-uplink.ts";
import type { Edges } from "../edges.ts";
import { nodeEvent, rejectionEvents } from "../node/node-events.ts";

export interface EventSinkOptions {
  readonly edges: Pick<Edges, "clock" | "log" | "store" | "bootId">;
  readonly config: Pick<AgentConfig, "mqtt">;
  readonly nodeName: string;
  /** An event's text as it may leave the node. */
  readonly hush: (text: string) => string;
  /** Events wait in the outbox. */
  readonly onFlushed: () => void;
}

export class EventSink implements Disposable {
  readonly record: RecordEvent;
  readonly #options: EventSinkOptions;
  readonly #events: Events;
  readonly #uplink: EventUplink | undefined;
  #rejected: readonly Rejection[] = [];

  constructor(options: EventSinkOptions) {
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

  /** The agent begins its work. */
  started(version: string): void {
    const { recovered } = this.#options.edges.store;
    this.#node("Normal", "Starting", `Starting agent ${version}.`);
    if (recovered === undefined) return;
    const { reason, movedTo } = recovered;
    const message = `the database was damaged (${reason}); it lies in ${movedTo} and a new one was made`;
    this.#node("Warning", "DatabaseRecovered", message);
  }

  /** All that the sources refuse now. */
  rejected(rejected: readonly Rejection[]): void {
    const { nodeName } = this.#options;
    for (const event of rejectionEvents(this.#rejected, rejected, nodeName)) this.record(event);
    this.#rejected = rejected;
  }

  /** The runtime has become silent (why), or answers again. */
  runtimeHealth(problem: string | undefined): void {
    if (problem === undefined)
      this.#node("Normal", "RuntimeReady", "the container runtime answers again");
    else this.#node("Warning", "RuntimeNotResponding", `the container runtime: ${problem}`);
  }

  /** The broker does not take what is said on `topic`. */
  denied(topic: string, why: string): void {
    this.#node("Warning", "PublishDenied", `${topic} ${why}; it is tried again in an hour`);
  }

  /** A session with the broker is about to publish what waits. */
  connected(): void {
    this.#uplink?.connected();
  }

  /** Writes down what waits for the broker. */
  [Symbol.dispose](): void {
    this.#uplink?.[Symbol.dispose]();
  }

  #node(type: "Normal" | "Warning", reason: string, message: string): void {
    this.record(nodeEvent(this.#options.nodeName, { type, reason, message }));
  }
}

/** Without a broker nothing is written down. */
function uplinkOf({
  edges,
  config,
  nodeName,
  hush,
  onFlushed,
}: EventSinkOptions): EventUplink | undefined {
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
    hush,
    onFlushed,
  });
}
