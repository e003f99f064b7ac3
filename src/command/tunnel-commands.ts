// Performs: the command `exec`: a session of an operator with one pod, over topics of its own, encrypted from end to end.

import type { EventObject, RecordEvent } from "../api/v1/events.ts";
import type { NodeKeysEdge } from "../edges.ts";
import { TunnelCipher, tunnelKey } from "../host/tunnel/tunnel-cipher.ts";
import type { ServeTunnel } from "../host/tunnel/serve-tunnel.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { podName } from "../api/v1/pod.ts";
import type { Random } from "../lib/random.ts";
import type { MqttMessage } from "../mqtt/mqtt-link.ts";
import { parseTopic, topicFor } from "../protocol/mqtt-topics.ts";
import { handshakeMessage, TUNNEL_ANSWER, tunnelName } from "../protocol/tunnel/handshake.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { unknownPod } from "./read-commands.ts";
import { failure, refusedArgs, type CommandOutcome } from "./response.ts";
import { running, type CommandOrder, type Runs } from "./run-verb.ts";
import { VERBS, type ArgumentsOf } from "./verbs.ts";

export interface TunnelCommandsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  /** Absent = this agent serves none. */
  readonly serve: ServeTunnel | undefined;
  readonly keys: Pick<NodeKeysEdge, "sign"> | undefined;
  readonly node: string;
  readonly topicRoot: string;
  /** `mqtt.allowCommands` names `exec`. */
  readonly isAllowed: boolean;
  readonly podOf: (namespace: string, name: string) => DesiredPod | undefined;
  /** Publishes with QoS 0 in the present session, or drops; never throws. */
  readonly publish: (topic: string, payload: Uint8Array) => void;
  /** The topics that are subscribed to have changed. */
  readonly onTopics: () => void;
  readonly record: RecordEvent;
}

/** Sessions at the same time. */
const MAX_SESSIONS = 10;
/** Without bytes either way for so long, a session ends. */
const IDLE_MS = 15 * 60_000;
const TOTAL_MS = 4 * 3_600_000;
/** Topics that are left are unsubscribed from at the next chance; so many are remembered. */
const REMEMBERED_TOPICS = 16;

type Served = ReturnType<ServeTunnel>;

export class TunnelCommands {
  readonly #options: TunnelCommandsOptions;
  /** By the topic that the operator publishes to. */
  readonly #served = new Map<string, Served>();
  #left: readonly string[] = [];

  constructor(options: TunnelCommandsOptions) {
    this.#options = options;
  }

  get runs(): Pick<Runs, "exec"> {
    return { exec: running(VERBS.exec, (args, order) => this.#exec(args, order)) };
  }

  /** Topics of the sessions that run, and of those that have ended. */
  topics(): { readonly wanted: readonly string[]; readonly left: readonly string[] } {
    return { wanted: [...this.#served.keys()], left: this.#left };
  }

  /** False = the topic is not one of sessions. */
  receive({ topic, payload }: MqttMessage): boolean {
    if (parseTopic(this.#options.topicRoot, topic)?.type !== "NodeSession") return false;
    this.#served.get(topic)?.receive(payload);
    return true;
  }

  /** The broker is there again. */
  connected(): void {
    for (const served of this.#served.values()) served.resumed();
  }

  async #exec(args: ArgumentsOf<"exec">, order: CommandOrder): Promise<CommandOutcome> {
    const { serve, keys, podOf } = this.#options;
    const { namespace, pod, key: operatorKey } = args;
    const denial = this.#denial(order);
    if (denial !== undefined) return denial;
    if (serve === undefined || keys === undefined)
      return failure(501, "NotImplemented", "this agent serves no sessions");
    const desired = podOf(namespace, pod);
    if (desired === undefined) return unknownPod(namespace, pod);
    const agreed = this.#agree(order.command.id, operatorKey);
    if (agreed === undefined) return refusedArgs("args.key", "must be an X25519 public key");
    const { cipher, answer } = agreed;
    return this.#run(order, {
      desired,
      answer,
      open: (send) =>
        serve({ cipher, send, scope: { namespace, pod }, idleMs: IDLE_MS, totalMs: TOTAL_MS }),
    });
  }

  /** Why there is no session; undefined = there may be one. */
  #denial({ by }: CommandOrder): CommandOutcome | undefined {
    if (!this.#options.isAllowed)
      return failure(
        403,
        "Forbidden",
        "this node allows no sessions; write mqtt.allowCommands: [exec] into its configuration",
      );
    if (by.length === 0)
      return failure(
        401,
        "Unauthorized",
        "a session needs a signed command: put a root key into the trust directory of the node and sign it",
      );
    if (this.#served.size >= MAX_SESSIONS)
      return failure(
        429,
        "TooManyRequests",
        `${MAX_SESSIONS} sessions run already; try again when one has ended`,
      );
    return undefined;
  }

  #agree(
    id: string,
    operatorKey: Uint8Array,
  ):
    | { readonly cipher: TunnelCipher; readonly answer: Readonly<Record<string, unknown>> }
    | undefined {
    const { random, node, keys } = this.#options;
    const own = tunnelKey(random);
    const facts = { node, id, operatorKey, nodeKey: own.publicKey };
    const cipher = TunnelCipher.agree("node", own, facts);
    if (cipher === undefined || keys === undefined) return undefined;
    const sig = keys.sign(handshakeMessage(facts));
    const written = TUNNEL_ANSWER.write({ key: own.publicKey, sig });
    return { cipher, answer: { ...(written as object) } };
  }

  async #run(
    { command, by, signal, progress, release }: CommandOrder,
    session: {
      readonly desired: DesiredPod;
      readonly answer: Readonly<Record<string, unknown>>;
      readonly open: (send: (packet: Uint8Array) => void) => Served;
    },
  ): Promise<CommandOutcome> {
    const { node, topicRoot: root, publish, record, log } = this.#options;
    const name = tunnelName(command.id);
    const topic = topicFor({ type: "NodeSession", root, node, session: name });
    const answers = `${topicFor({ type: "NodeResponse", root, node })}/${name}`;
    const served = session.open((packet) => publish(answers, packet));
    this.#served.set(topic, served);
    this.#options.onTopics();
    const object = podObject(session.desired);
    const facts = { pod: podName(session.desired.pod), session: command.id, keys: by };
    log.info("a session has begun", facts);
    record({
      type: "Normal",
      reason: "SessionStarted",
      object,
      message: `a session over the broker, signed by key ${by.join(", ")}`,
    });
    const stop = (): void => served.close("the agent ends");
    signal.addEventListener("abort", stop, { once: true });
    progress(session.answer);
    release();
    const { reason, received, sent } = await served.ended;
    signal.removeEventListener("abort", stop);
    this.#served.delete(topic);
    this.#left = [...this.#left, topic].slice(-REMEMBERED_TOPICS);
    this.#options.onTopics();
    const message = `the session of key ${by.join(", ")} has ended: ${reason}`;
    log.info("a session has ended", { ...facts, reason, received, sent });
    record({ type: "Normal", reason: "SessionEnded", object, message });
    return { code: 200, data: { reason, received, sent } };
  }
}

function podObject({ uid, pod }: DesiredPod): EventObject {
  const { namespace, name } = pod.metadata;
  return { kind: "Pod", namespace, name, uid };
}
