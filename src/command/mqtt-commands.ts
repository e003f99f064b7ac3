// Performs: assembles what obeys commands over MQTT: their topics, the queue, the verbs, the session that logs go to.

import type { AgentConfig, MqttConfig } from "../config/config.ts";
import { parseTopic, topicFor } from "../protocol/mqtt-topics.ts";
import { messageOf } from "../lib/errors.ts";
import type { RecordEvent } from "../api/v1/events.ts";
import { TunnelCommands } from "./tunnel-commands.ts";
import type { MqttMessage, MqttSession } from "../mqtt/mqtt-link.ts";
import type { Runs } from "./run-verb.ts";
import { Commands } from "./command-queue.ts";
import { allowed } from "../upstream/connack-limits.ts";
import { podCommands } from "./pod-commands.ts";
import { LogCommands, type LogOf } from "./log-commands.ts";
import { readCommands, type ReadFacts, type ReadOptions } from "./read-commands.ts";
import type { Edges } from "../edges.ts";
import type { HoldFacts } from "../node/node-api.ts";
import type { FetchImages } from "../podworkers/pod-replacement.ts";
import type { Trust } from "../trust/trust.ts";
import type { Redactor } from "../node/redact.ts";
import type { Pods } from "../podworkers/pods.ts";

export interface NodeCommandsOptions {
  readonly facts: ReadFacts & HoldFacts;
  readonly pods: Pick<Pods, "cache" | "workers">;
  readonly redactor: Pick<Redactor, "secrets">;
  readonly fetchImages: FetchImages;
  readonly podLogsDir: AgentConfig["podLogsDir"];
  /** Decides which commands are obeyed. */
  readonly trust: Pick<Trust, "required" | "judgeCommand" | "signersOf">;
  readonly edges: Edges;
  readonly config: MqttConfig;
  /** Whether every byte counts, as of now. */
  readonly isMetered: () => boolean;
  readonly nodeName: string;
  readonly agentVersion: string;
  readonly groups: () => readonly string[];
  /** A response was added to the outbox. */
  readonly onResponse: () => void;
  /** The topics of sessions have changed. */
  readonly onTopics: () => void;
  readonly record: RecordEvent;
}

interface Live {
  readonly session: MqttSession;
  /** As in its birth message. */
  readonly number: number;
  readonly over: AbortController;
}

export class NodeCommands {
  readonly #options: NodeCommandsOptions;
  readonly #commands: Commands;
  readonly #sessions: TunnelCommands;
  #live: Live | undefined;

  constructor(options: NodeCommandsOptions) {
    const { edges, config, nodeName, groups, pods, podLogsDir, trust, onResponse } = options;
    const { clock, log, store, files } = edges;
    this.#options = options;
    const logs = new LogCommands({
      clock,
      files,
      podLogsDir,
      metered: options.isMetered,
      podOf: (namespace, name) => pods.workers.shown(`${namespace}/${name}`),
      secrets: () => options.redactor.secrets(),
      observed: (uid) => pods.cache.get(uid),
      publish: (of, payload) => this.#publishLog(of, payload),
      session: () => this.#live?.over.signal,
    });
    this.#sessions = new TunnelCommands({
      ...options,
      ...edges,
      serve: edges.serveTunnel,
      keys: edges.nodeKeys,
      node: nodeName,
      topicRoot: config.topicRoot,
      isAllowed: config.allowCommands?.includes("exec") === true,
      podOf: (namespace, name) => pods.workers.shown(`${namespace}/${name}`),
      publish: (topic, payload) => this.#publish({ topic, payload, qos: 0, retain: false }),
    });
    const runs: Runs = {
      ...this.#sessions.runs,
      ...readCommands(() => this.#readOptions()),
      ...podCommands({ facts: options.facts, pods, fetchImages: options.fetchImages, clock }),
      ...logs.runs,
    };
    this.#commands = new Commands({
      clock,
      log,
      taken: store.commands,
      responses: store.responses,
      facts: () => ({
        root: config.topicRoot,
        node: nodeName,
        groups: groups(),
        fleet: config.fleet,
        session: this.#session(),
        now: clock.now(),
        clockTrusted: edges.clockSynchronised(),
        signaturesRequired: () => trust.required(),
        verify: (envelope, group) => trust.judgeCommand(envelope, group),
        signersOf: (envelope) => trust.signersOf(envelope),
      }),
      atomically: (run) => store.database.transaction(run),
      execute: (order) => runs[order.command.verb](order),
      onResponse,
      // A clock that turns out to be behind shows in the next report.
      onIssued: (at) => void edges.clockFloor.raise(at),
    });
  }

  start(): void {
    this.#commands.start();
  }

  stop(): void {
    this.#commands.stop();
  }

  /** Topics of sessions: subscribed to, and to be left. */
  topics(): { readonly wanted: readonly string[]; readonly left: readonly string[] } {
    return this.#sessions.topics();
  }

  /** False = the topic is not one of commands. Never throws. */
  receive(message: MqttMessage): boolean {
    if (this.#sessions.receive(message)) return true;
    const topic = parseTopic(this.#options.config.topicRoot, message.topic);
    if (topic?.type !== "NodeCommand" && topic?.type !== "GroupCommand") return false;
    this.#commands.receive(message);
    return true;
  }

  /** The birth message is out: logs are published in this session, and in no later one. */
  connected(session: MqttSession, number: number): void {
    const over = new AbortController();
    this.#live = { session, number, over };
    this.#commands.sessionBegan(number);
    this.#sessions.connected();
    void session.ended.then(() => over.abort("Disconnected"));
  }

  #session(): number | undefined {
    const live = this.#live;
    return live === undefined || live.over.signal.aborted ? undefined : live.number;
  }

  #readOptions(): ReadOptions {
    const { edges, agentVersion: version, nodeName, facts } = this.#options;
    const session = this.#session();
    return { facts, version, nodeName, session, now: edges.clock.now() };
  }

  #publishLog(of: LogOf, payload: Uint8Array): void {
    const { config, nodeName, edges } = this.#options;
    try {
      const topic = topicFor({
        type: "ContainerLog",
        root: config.topicRoot,
        node: nodeName,
        ...of,
      });
      this.#publish({ topic, payload, qos: 0, retain: false });
    } catch (error) {
      edges.log.warn("a log cannot be published", { error: messageOf(error) });
    }
  }

  /** In the present session, or not at all. */
  #publish(message: MqttMessage): void {
    const live = this.#live;
    if (live === undefined || live.over.signal.aborted) return;
    live.session.publish(allowed(message, live.session.ack)).catch(() => undefined);
  }
}
