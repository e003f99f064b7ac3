// The reasons for which a readable command is denied.

import type { ResponsePhase } from "../protocol/status-codes.ts";
import { parseTopic } from "../protocol/mqtt-topics.ts";
import type { Command } from "./decode-command.ts";
import { VERBS, verbsWhere } from "./verbs.ts";
import type { SignedEnvelope } from "../protocol/dsse.ts";

/** A message as it arrived. */
export interface CommandMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retain: boolean;
  readonly responseTopic?: string;
  readonly correlationData?: Uint8Array;
}

/** The state of the node when the command arrives. */
export interface CommandFacts {
  readonly root: string;
  readonly node: string;
  readonly groups: readonly string[];
  readonly fleet?: string | undefined;
  /** The present session; undefined = there is none yet. */
  readonly session: number | undefined;
  /** Wall-clock milliseconds. */
  readonly now: number;
  readonly clockTrusted: boolean;
  /** May read the disk, so it is called only for readable messages. */
  readonly signaturesRequired: () => boolean;
  /** Why its signature does not count, as a sentence; undefined = it counts. Never throws. */
  readonly verify: (envelope: SignedEnvelope, group: string | undefined) => string | undefined;
  /** The final code of a command that was accepted before; 0 = it is running, undefined = never seen. */
  readonly codeOf: (id: string) => number | undefined;
}

export type DenialPhase = Extract<ResponsePhase, "failed" | "expired" | "denied" | "duplicate">;

const MAX_GROUP_TTL_SECONDS = 600;
/** How far another trusted clock may be ahead. */
const CLOCK_SKEW_MS = 60_000;

/** One command and the facts for judging it. */
export interface CommandCase {
  readonly message: CommandMessage;
  readonly facts: CommandFacts;
  readonly signed: boolean;
  readonly signaturesRequired: boolean;
}

export interface Denial {
  readonly phase: DenialPhase;
  readonly code: number;
  readonly category: string;
  readonly element?: string;
  readonly message: string;
}

/** Every name in the target must match. A signed command must also name the node or group of its topic, so that it cannot
 * be replayed on another topic. */
export function targetDenial(command: Command, of: CommandCase): Denial | undefined {
  return nameDenial(command, of.facts) ?? topicDenial(command, of);
}

function nameDenial(
  { target: { node, group, fleet } }: Command,
  facts: CommandFacts,
): Denial | undefined {
  if (node !== undefined && node !== facts.node)
    return otherTarget("node", `this node is ${facts.node}`);
  if (group !== undefined && !facts.groups.includes(group))
    return otherTarget("group", "this node is not in that group");
  if (fleet !== undefined && facts.fleet !== undefined && fleet !== facts.fleet)
    return otherTarget("fleet", "this node belongs to another fleet");
  return undefined;
}

function topicDenial(
  { target: { node, group } }: Command,
  { message, facts, signed }: CommandCase,
): Denial | undefined {
  const isWithoutTarget = !signed && node === undefined && group === undefined;
  if (isWithoutTarget) return undefined;
  const topic = parseTopic(facts.root, message.topic);
  if (topic?.type !== "GroupCommand")
    return node === undefined
      ? otherTarget("node", "a command for one node must name the node")
      : undefined;
  return group === topic.group
    ? undefined
    : otherTarget("group", "a command for a group must name the group of its topic");
}

function otherTarget(element: string, message: string): Denial {
  return {
    phase: "denied",
    code: 403,
    category: "Forbidden",
    element: `target.${element}`,
    message,
  };
}

export function unsignedDenial(
  { verb }: Command,
  { signaturesRequired, signed }: CommandCase,
): Denial | undefined {
  if (signed || !signaturesRequired || VERBS[verb].open) return undefined;
  const allowed = verbsWhere(({ open }) => open).join(" and ");
  const message = `this node requires signatures: without one, only ${allowed} are allowed; sign the command`;
  return { phase: "denied", code: 401, category: "Unauthorized", element: "verb", message };
}

export function expiry(
  command: Command,
  { message, facts, signed }: CommandCase,
): Denial | undefined {
  const { session, issuedAt, ttl, verb } = command;
  const expired = (element: string, text: string): Denial => ({
    phase: "expired",
    code: 408,
    category: "Expired",
    element,
    message: text,
  });
  const ofGroup = parseTopic(facts.root, message.topic)?.type === "GroupCommand";
  if (session !== undefined ? session !== facts.session : signed && !ofGroup)
    return expired(
      "session",
      `the present session of this node is ${facts.session ?? "not begun"}`,
    );
  const changesGroup = ofGroup && VERBS[verb].changes;
  if (changesGroup) {
    const problem = groupProblem(command, facts);
    if (problem !== undefined) return problem;
  }
  if (issuedAt === undefined || !facts.clockTrusted) return undefined;
  if (facts.now > issuedAt + ttl * 1_000)
    return expired("ttl", `it was issued more than ${ttl} s ago`);
  if (changesGroup && issuedAt > facts.now + CLOCK_SKEW_MS)
    return expired("issuedAt", "it was issued in the future");
  return undefined;
}

/** A command to a group names no session; only the clock shows how old it is. */
function groupProblem(
  { ttl, issuedAt }: Command,
  { clockTrusted }: CommandFacts,
): Denial | undefined {
  const denied = (element: string, message: string): Denial => ({
    phase: "denied",
    code: 403,
    category: "Forbidden",
    element,
    message,
  });
  if (ttl > MAX_GROUP_TTL_SECONDS)
    return denied(
      "ttl",
      `must be at most ${MAX_GROUP_TTL_SECONDS} s in a command that changes a group`,
    );
  if (issuedAt === undefined)
    return denied("issuedAt", "is required in a command that changes a group");
  if (!clockTrusted)
    return denied(
      "issuedAt",
      "the clock of this node is not synchronised, so the age of the command is unknown",
    );
  return undefined;
}

export function repetition({ id }: Command, { codeOf }: CommandFacts): Denial | undefined {
  const code = codeOf(id);
  if (code === undefined) return undefined;
  const message = code === 0 ? "the command is running" : `the command was answered with ${code}`;
  return {
    phase: "duplicate",
    code: code === 0 ? 202 : code,
    category: "Duplicate",
    element: "id",
    message,
  };
}
