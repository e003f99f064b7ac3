// Performs: records the events of every room: in the log, in the ring behind `get events`, and in the outbox.
// kubelet: event recorder

import type { AgentConfig } from "../config/config.ts";
import type { Rejection } from "../api/pod/desired-pod.ts";
import type {
  RecordedEvent,
  RecordEvent,
  NewEvent,
  EventType,
  EventObject,
} from "../api/v1/events.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import { topicFor } from "../protocol/mqtt-topics.ts";
import { Events } from "../status/event-correlator.ts";
import { EventUplink } from "../upstream/report/publish-events.ts";
import type { Edges } from "../edges.ts";
import { noticesOf, type ProvisionReport } from "../provision/report.ts";
import type { Hand } from "../store/start-guard/hand.ts";
import { START_GUARD } from "../store/start-guard/start-guard.ts";

/** About one provisioning directory; its log has all. */
const MAX_NOTICES = 20;

export interface EventRecorderOptions {
  readonly edges: Pick<Edges, "clock" | "log" | "store" | "bootId">;
  readonly config: Pick<AgentConfig, "mqtt">;
  /** Only warnings are published, as of now. */
  readonly isMetered: () => boolean;
  readonly nodeName: string;
  /** Takes the values of Secrets out of a message: programs and the runtime may have quoted one. */
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
    const { redact, edges } = options;
    const { clock, log } = edges;
    this.#options = options;
    this.#uplink = uplinkOf(options);
    this.#events = new Events({ clock, log, onRecorded: (event) => this.#uplink?.add(event) });
    this.record = (event) => this.#events.record({ ...event, message: redact(event.message) });
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

  /** What became of a provisioning directory at this start. */
  provisioned(report: ProvisionReport): void {
    const { directory, taken } = report;
    const files = taken.length === 1 ? "1 file" : `${taken.length} files`;
    if (taken.length > 0) this.#node("Normal", "Provisioned", `took over ${files} of ${directory}`);
    const problems = noticesOf(report).filter(({ level }) => level !== "info");
    for (const { reason, message, remedy } of problems.slice(0, MAX_NOTICES))
      this.#node("Warning", reason, remedy === undefined ? message : `${message}; ${remedy}`);
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

  /** The board has a trouble that it did not have before. */
  board({ reason, message }: NodeCondition): void {
    this.#node("Warning", reason, message);
  }

  /** The broker refuses what is published on `topic`. */
  denied(topic: string, why: string): void {
    this.#node("Warning", "PublishDenied", `${topic} ${why}; it is retried in an hour`);
  }

  /** Work in whose hand the agent has ended twice waits. */
  waits({ kind, id, name }: Hand, message: string): void {
    const isOfPod = kind === "Pod" || kind === "Removal";
    if (!isOfPod) return this.#node("Warning", START_GUARD, message);
    const [namespace = "", pod = ""] = name.split("/");
    const object = { kind: "Pod", namespace, name: pod, uid: id };
    this.record({ type: "Warning", reason: START_GUARD, message, object });
  }

  /** A session with the broker is about to publish the outbox. */
  connected(): void {
    this.#uplink?.connected();
  }

  /** Writes pending events to the outbox. */
  [Symbol.dispose](): void {
    this.#uplink?.[Symbol.dispose]();
  }

  #node(type: "Normal" | "Warning", reason: string, message: string): void {
    this.record({ type, reason, message, object: { kind: "Node", name: this.#options.nodeName } });
  }
}

/** undefined = no broker is configured: nothing is queued. */
function uplinkOf(options: EventRecorderOptions): EventUplink | undefined {
  const { edges, config, isMetered, nodeName: node } = options;
  if (config.mqtt === undefined) return undefined;
  return new EventUplink({
    ...options,
    ...edges,
    outbox: edges.store.outbox.events,
    topic: topicFor({ type: "NodeEvent", root: config.mqtt.topicRoot, node }),
    node,
    warningsOnly: isMetered,
  });
}

/** One event for each new rejection; none for what stays or goes. */
export function rejectionEvents(
  before: readonly Rejection[],
  after: readonly Rejection[],
  node: string,
): readonly NewEvent[] {
  const known = new Set(before.map(keyOf));
  const fresh = new Map(after.map((rejection) => [keyOf(rejection), rejection] as const));
  return [...fresh]
    .filter(([key]) => !known.has(key))
    .map(([, rejection]) => rejectionEvent(rejection, node));
}

function keyOf({ ref, path, code, message }: Rejection): string {
  return JSON.stringify([ref, path, code, message]);
}

function rejectionEvent(rejection: Rejection, node: string): NewEvent {
  const { ref, line, path, message } = rejection;
  const where = [line === undefined ? ref : `${ref}:${line}`, path].filter((part) => part !== "");
  const event = { ...verdictOn(rejection), message: `${where.join(": ")}: ${message}` };
  return { ...event, object: objectOf(rejection, node) };
}

/** A warning only for what does not run as written. */
function verdictOn({ code }: Rejection): { readonly type: EventType; readonly reason: string } {
  if (code === "Shadowed" || code === "Ignored") return { type: "Normal", reason: code };
  return { type: "Warning", reason: "Rejected" };
}

/** The pod, if the manifest could be read so far. */
function objectOf({ kind, namespace, name }: Rejection, node: string): EventObject {
  if (kind !== "Pod" || name === undefined) return { kind: "Node", name: node };
  return { kind, namespace: namespace ?? "default", name };
}
