// Performs: `agent fleet restart|hold|release`, and `logs` without a session: asks one node to do something, and shows what it answers.

import type { CommandVerb } from "../command/verbs.ts";
import { parseTopic, topicFor } from "../protocol/mqtt-topics.ts";
import { CliError } from "../cli/exit-codes.ts";
import { printable } from "../cli/terminal-text.ts";
import { formatDuration } from "../api/resource/duration.ts";
import { rfc3339 } from "../lib/clock.ts";
import type { MqttMessage } from "../mqtt/mqtt-link.ts";
import { leaseEnd, leaseSeconds, logLines, readAnswer, type Answer } from "./command-answer.ts";
import { knownNode } from "./known-nodes.ts";
import { openFleet, type BrokerFlags, type Fleet, type FleetParts } from "./open-broker.ts";
import { readSigner, signMessage, type Signer } from "./trust/signing-keys.ts";
import { ulid } from "./ulid.ts";
import { jsonBytes } from "../protocol/wire-text.ts";
import { wireObject } from "../protocol/read-published.ts";
import { MAX_TTL_SECONDS } from "../command/judge-command.ts";

export interface CommandFlags extends BrokerFlags {
  readonly namespace: string;
  readonly key?: readonly string[];
  /** Ms to wait for the answer. */
  readonly timeout: number;
}

export interface CommandAsk {
  readonly node: string;
  readonly verb: CommandVerb;
  /** With `follow`, log lines are shown until the lease ends. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** For the last part of a lease to arrive. */
const LEASE_SLACK_MS = 30_000;

/** How one command is sent. */
export interface Sending {
  readonly fleet: Fleet;
  readonly parts: FleetParts;
  /** [] = it is not signed. */
  readonly signers: readonly Signer[];
  /** Ms to wait for the answer. */
  readonly timeout: number;
}

/** The exit code: 1 when the node refused or failed. */
export async function command(
  parts: FleetParts,
  flags: CommandFlags,
  ask: CommandAsk,
): Promise<0 | 1> {
  const signers = (flags.key ?? []).map(readSigner);
  await using fleet = await openFleet(parts, flags);
  const answer = await askNode({ fleet, parts, signers, timeout: flags.timeout }, ask);
  return answer === undefined ? endOfInterrupted(ask) : printAnswer(parts, ask, answer);
}

/** The last part of the answer; what can be shown at once is printed. undefined = interrupted. Throws CliError when the node
 * is away, or does not answer in time. */
export async function askNode(sending: Sending, ask: CommandAsk): Promise<Answer | undefined> {
  const { fleet, parts, timeout } = sending;
  const { terminal } = parts;
  const { session, root } = fleet;
  const { node, verb, args } = ask;
  const response = topicFor({ type: "NodeResponse", root, node });
  await session.subscribe([topicFor({ type: "NodeState", root, node })]);
  const isLease = args["follow"] === true;
  await session.subscribeLive([response, ...(isLease ? [logFilter(root, ask)] : [])]);
  const { id, message } = writeCommand(sending, ask);
  const listener = new AnswerListener(parts, { id, root, isLog: verb === "logs" });
  using _ = session.listen((one) => listener.take(one));
  await session.publish(topicFor({ type: "NodeCommand", root, node }), message, false);
  const signal = terminal.interrupted();
  const limit = { ms: timeout, signal };
  const first = isLease ? await session.until(() => listener.first, limit) : undefined;
  const ms = first === undefined ? limit.ms : leaseSeconds(first.data) * 1_000 + LEASE_SLACK_MS;
  const isSilent = isLease && first === undefined;
  const answer = isSilent ? undefined : await session.until(() => listener.answer, { ms, signal });
  if (answer !== undefined || signal.aborted) return answer;
  throw new CliError(
    first === undefined
      ? `${node} did not answer within ${formatDuration(timeout)}`
      : `${node} has not reported the end of its lease within ${formatDuration(ms)}; repeat the command to continue`,
  );
}

/** A command for the node's present session, signed if there are signers, and its id. Throws CliError when the node is away. */
export function writeCommand(
  { fleet, parts: { terminal, random }, signers, timeout }: Sending,
  { node, verb, args }: CommandAsk,
): { readonly id: string; readonly message: Uint8Array } {
  const now = terminal.clock.now();
  const id = ulid(now, random.hex(10));
  const payload = jsonBytes({
    id,
    verb,
    target: { node },
    session: onlineSession(fleet, node),
    args,
    issuedAt: rfc3339(now),
    ttl: Math.min(MAX_TTL_SECONDS, Math.max(1, Math.ceil(timeout / 1000))),
  });
  const message = signers.length === 0 ? payload : signMessage("command", payload, signers);
  return { id, message };
}

/** A lease that a person ends has done what it should. */
function endOfInterrupted({ args }: CommandAsk): 0 | 1 {
  return args["follow"] === true ? 0 : 1;
}

/** The node knows the container of a pod that has one: the topic of any container matches. */
function logFilter(root: string, { node, args }: CommandAsk): string {
  const { namespace, pod, container = "+" } = args;
  return `${root}/node/${node}/log/${String(namespace)}/${String(pod)}/${String(container)}`;
}

/** The present session of the node, to which a command is bound, so that it cannot be replayed later. */
function onlineSession(fleet: Fleet, node: string): number {
  const { state } = knownNode(fleet, node);
  if (state === undefined)
    throw new CliError(`nothing is known of node ${node}: it has never been on this broker`);
  if (state.state !== "online")
    throw new CliError(`node ${node} is ${state.state}; commands reach only nodes that are online`);
  return state.session;
}

interface Wanted {
  readonly id: string;
  readonly root: string;
  /** Only the log's own lines are shown. */
  readonly isLog: boolean;
}

/** Prints what can be shown at once; the last part is the answer. */
class AnswerListener {
  /** Whatever part came first. */
  first: Answer | undefined;
  /** The last part. */
  answer: Answer | undefined;
  readonly #parts: FleetParts;
  readonly #wanted: Wanted;
  readonly #seen = new Set<string>();

  constructor(parts: FleetParts, wanted: Wanted) {
    this.#parts = parts;
    this.#wanted = wanted;
  }

  take({ topic, payload }: MqttMessage): void {
    const { id, root } = this.#wanted;
    const { type } = parseTopic(root, topic) ?? {};
    if (type === "ContainerLog") return this.#showLease(payload);
    const answer = type === "NodeResponse" ? readAnswer(payload) : undefined;
    if (answer?.id !== id) return;
    // QoS 1: the same part may come twice.
    const key = `${answer.phase} ${answer.part}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.first ??= answer;
    this.#show(logLines(answer.data));
    if (!answer.isEnd && !this.#wanted.isLog)
      this.#parts.terminal.err(`${printable(answer.phase)}\n`);
    if (answer.isLast) this.answer = answer;
  }

  #showLease(payload: Uint8Array): void {
    const batch = wireObject(payload);
    if (batch !== undefined && batch["id"] === this.#wanted.id) this.#show(logLines(batch));
  }

  #show(lines: readonly string[]): void {
    for (const line of lines) this.#parts.terminal.out(`${printable(line)}\n`);
  }
}

function printAnswer({ terminal }: FleetParts, { node, verb }: CommandAsk, answer: Answer): 0 {
  refuseFailed(node, answer);
  const why = leaseEnd(answer.data);
  if (why !== undefined)
    terminal.err(
      `${printable(`the node has stopped sending: ${why}`)}; repeat the command to continue\n`,
    );
  if (verb !== "logs") terminal.out(`${verb} on ${node}: done\n`);
  return 0;
}

/** Throws CliError when the node has refused or failed. */
export function refuseFailed(node: string, answer: Answer): void {
  const failed = failureOf(node, answer);
  if (failed !== undefined) throw new CliError(failed);
}

/** What the node has refused, or why it failed; undefined = neither. */
export function failureOf(node: string, { phase, code, error }: Answer): string | undefined {
  if (phase === "done" || (phase === "duplicate" && code < 300)) return undefined;
  const reason = error === "" ? "" : `: ${error}`;
  return printable(`${node} answered ${phase} ${code}${reason}`);
}
