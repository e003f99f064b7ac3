// Performs: wires the commands of the wire to this node: who is asked, who does what is asked, and how the answer
// leaves.

import type { AgentConfig, MqttConfig } from "../config/config.ts";
import type { SignedEnvelope } from "../protocol/dsse.ts";
import { parseTopic, topicFor } from "../protocol/mqtt-topics.ts";
import { podName, type Pod } from "../api/v1/pod.ts";
import { messageOf } from "../lib/errors.ts";
import type { MqttMessage, MqttSession } from "../mqtt/mqtt-link.ts";
import type { Runs } from "./executor.ts";
import { Commands } from "./dispatcher.ts";
import { allowed } from "../upstream/packets.ts";
import { podCommands, type PodDoers } from "./pod-commands.ts";
import { holdCommands } from "./hold-commands.ts";
import { LogCommands, type LogOf } from "./log-commands.ts";
import { readCommands, type ReadFacts, type ReadOptions } from "./read-commands.ts";
import type { Edges } from "../edges.ts";
import type { HoldFacts } from "../node/node-api.ts";
import type { FetchImages } from "../podworkers/pod-replacement.ts";
import type { Pods } from "../podworkers/pods.ts";

/** Whose commands count. */
export interface CommandTrust {
  /** Nothing unsigned counts any more. */
  required(): boolean;
  /** Why the signature does not count; undefined = it does. `group`: it came to that group. */
  judgeCommand(envelope: SignedEnvelope, group?: string): string | undefined;
}

/** What commands may ask of this node. */
export interface CommandWorld {
  readonly facts: ReadFacts & HoldFacts;
  readonly pods: Pick<Pods, "cache" | "workers">;
  readonly fetchImages: FetchImages;
  readonly podLogsDir: AgentConfig["podLogsDir"];
  readonly trust: CommandTrust;
}

export interface NodeCommandsOptions extends CommandWorld {
  readonly edges: Edges;
  readonly config: MqttConfig;
  readonly nodeName: string;
  readonly agentVersion: string;
  readonly groups: () => readonly string[];
  /** An answer waits in the outbox. */
  readonly onResponse: () => void;
}

interface Live {
  readonly session: MqttSession;
  /** Stands in its birth. */
  readonly number: number;
  readonly over: AbortController;
}

export class NodeCommands {
  readonly #options: NodeCommandsOptions;
  readonly #commands: Commands;
  #live: Live | undefined;

  constructor(options: NodeCommandsOptions) {
    const { edges, config, nodeName, groups, podLogsDir, trust, onResponse } = options;
    const { clock, log, store, files } = edges;
    this.#options = options;
    const logs = new LogCommands({
      clock,
      files,
      podLogsDir,
      metered: config.profile === "metered",
      podOf: (namespace, name) => this.#podOf(namespace, name),
      observed: (uid) => options.pods.cache.get(uid),
      publish: (of, payload) => this.#publishLog(of, payload),
      session: () => this.#live?.over.signal,
    });
    const runs: Runs = {
      ...readCommands(() => this.#readOptions()),
      ...podCommands(this.#doers(), clock),
      ...holdCommands(options.facts),
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
      }),
      atomically: (run) => store.database.transaction(run),
      execute: (order) => runs[order.command.verb](order),
      onResponse,
      onIssued: (at) => {
        // Whoever looks at the node next is told.
        edges.clockFloor.raise(at);
      },
    });
  }

  start(): void {
    this.#commands.start();
  }

  stop(): void {
    this.#commands.stop();
  }

  /** False = it is no command. Never throws. */
  receive(message: MqttMessage): boolean {
    const topic = parseTopic(this.#options.config.topicRoot, message.topic);
    if (topic?.type !== "NodeCommand" && topic?.type !== "GroupCommand") return false;
    this.#commands.receive(message);
    return true;
  }

  /** The node is born: logs are published in this session, and in no later one. */
  connected(session: MqttSession, number: number): void {
    const over = new AbortController();
    this.#live = { session, number, over };
    this.#commands.sessionBegan(number);
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

  #doers(): PodDoers {
    const { pods, fetchImages } = this.#options;
    const { cache, workers } = pods;
    return {
      desired: () => workers.entries().map(({ desired }) => desired),
      observed: (uid) => cache.get(uid),
      orderRestart: (uid, ids) => workers.orderRestart(uid, ids),
      withdrawRestart: (uid, ids) => workers.withdrawRestart(uid, ids),
      fetchImages,
    };
  }

  #podOf(namespace: string, name: string): Pod | undefined {
    const entries = this.#options.pods.workers.entries();
    return entries.find(({ desired }) => podName(desired.pod) === `${namespace}/${name}`)?.desired
      .pod;
  }

  #publishLog(of: LogOf, payload: Uint8Array): void {
    const { config, nodeName, edges } = this.#options;
    const live = this.#live;
    if (live === undefined || live.over.signal.aborted) return;
    try {
      const topic = topicFor({
        type: "ContainerLog",
        root: config.topicRoot,
        node: nodeName,
        ...of,
      });
      const message = { topic, payload, qos: 0, retain: false } as const;
      live.session.publish(allowed(message, live.session.ack)).catch(() => undefined);
    } catch (error) {
      edges.log.warn("a log cannot be published", { error: messageOf(error) });
    }
  }
}
