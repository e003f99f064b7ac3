// The reasons for which a readable command is denied.

import { parseTopic } from "../protocol/mqtt-topics.ts";
import type { Command } from "./decode-command.ts";
import { denied, type Denial } from "./denial.ts";
import { commandError } from "./response.ts";
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
    return denied(403, `this node is ${facts.node}`, "target.node");
  if (group !== undefined && !facts.groups.includes(group))
    return denied(403, "this node is not in that group", "target.group");
  if (fleet !== undefined && facts.fleet !== undefined && fleet !== facts.fleet)
    return denied(403, "this node belongs to another fleet", "target.fleet");
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
      ? denied(403, "a command for one node must name the node", "target.node")
      : undefined;
  return group === topic.group
    ? undefined
    : denied(403, "a command for a group must name the group of its topic", "target.group");
}

export function unsignedDenial(
  { verb }: Command,
  { signaturesRequired, signed }: CommandCase,
): Denial | undefined {
  if (signed || !signaturesRequired || VERBS[verb].open) return undefined;
  const allowed = verbsWhere(({ open }) => open).join(" and ");
  const message = `this node requires signatures: without one, only ${allowed} are allowed; sign the command`;
  return denied(401, message, "verb");
}

export function expiry(
  command: Command,
  { message, facts, signed }: CommandCase,
): Denial | undefined {
  const { session, issuedAt, ttl, verb } = command;
  const ofGroup = parseTopic(facts.root, message.topic)?.type === "GroupCommand";
  if (session !== undefined ? session !== facts.session : signed && !ofGroup)
    return denied(
      408,
      `the present session of this node is ${facts.session ?? "not begun"}`,
      "session",
    );
  const changesGroup = ofGroup && VERBS[verb].changes;
  if (changesGroup) {
    const problem = groupProblem(command, facts);
    if (problem !== undefined) return problem;
  }
  if (issuedAt === undefined || !facts.clockTrusted) return undefined;
  if (facts.now > issuedAt + ttl * 1_000)
    return denied(408, `it was issued more than ${ttl} s ago`, "ttl");
  if (changesGroup && issuedAt > facts.now + CLOCK_SKEW_MS)
    return denied(408, "it was issued in the future", "issuedAt");
  return undefined;
}

/** A command to a group names no session; only the clock shows how old it is. */
function groupProblem(
  { ttl, issuedAt }: Command,
  { clockTrusted }: CommandFacts,
): Denial | undefined {
  if (ttl > MAX_GROUP_TTL_SECONDS)
    return denied(
      403,
      `must be at most ${MAX_GROUP_TTL_SECONDS} s in a command that changes a group`,
      "ttl",
    );
  if (issuedAt === undefined)
    return denied(403, "is required in a command that changes a group", "issuedAt");
  if (!clockTrusted)
    return denied(
      403,
      "the clock of this node is not synchronised, so the age of the command is unknown",
      "issuedAt",
    );
  return undefined;
}

export function repetition({ id }: Command, { codeOf }: CommandFacts): Denial | undefined {
  const code = codeOf(id);
  if (code === undefined) return undefined;
  const message = code === 0 ? "the command is running" : `the command was answered with ${code}`;
  const error = commandError("Duplicate", message, "id");
  return { phase: "duplicate", code: code === 0 ? 202 : code, error };
}
