// The reasons for which a command that could be read is not obeyed.

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

/** What is true on the node when it arrives. */
export interface CommandFacts {
  readonly root: string;
  readonly node: string;
  readonly groups: readonly string[];
  readonly fleet?: string | undefined;
  /** Of the present birth; undefined = not born yet. */
  readonly session: number | undefined;
  /** Wall ms. */
  readonly now: number;
  readonly clockTrusted: boolean;
  /** May look at the disk: asked only of what can be read. */
  readonly signaturesRequired: () => boolean;
  /** A sentence why its signature does not count; undefined = it does. Throws never. */
  readonly verify: (envelope: SignedEnvelope, group: string | undefined) => string | undefined;
  /** The final code of a command that was taken before, 0 = it is at work; undefined = never seen. */
  readonly codeOf: (id: string) => number | undefined;
}

export type DenialPhase = Extract<ResponsePhase, "failed" | "expired" | "denied" | "duplicate">;

const MAX_GROUP_TTL_SECONDS = 600;
/** How far ahead another trusted clock may be. */
const CLOCK_SKEW_MS = 60_000;

/** One command and what it is judged by. */
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

/** Every name it carries must be true, and of the signed ones also the topic's: no cross-replay. */
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
  const namesNobody = !signed && node === undefined && group === undefined;
  if (namesNobody) return undefined;
  const topic = parseTopic(facts.root, message.topic);
  if (topic?.type !== "GroupCommand")
    return node === undefined ? otherTarget("node", "a command for one node names it") : undefined;
  return group === topic.group
    ? undefined
    : otherTarget("group", "a command for a group names the group of its topic");
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
  const message = `signatures are required here: unsigned commands are only ${verbsWhere(({ open }) => open).join(" and ")}`;
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
    return expired("session", `this node's present session is ${facts.session ?? "not begun"}`);
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

/** No session binds it to the present: only the clock can. */
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
    return denied("ttl", `of a command that changes a group is at most ${MAX_GROUP_TTL_SECONDS} s`);
  if (issuedAt === undefined)
    return denied("issuedAt", "a command that changes a group says when it was issued");
  if (!clockTrusted)
    return denied(
      "issuedAt",
      "this node's clock is not synchronised, so it cannot tell how old the command is",
    );
  return undefined;
}

export function repetition({ id }: Command, { codeOf }: CommandFacts): Denial | undefined {
  const code = codeOf(id);
  if (code === undefined) return undefined;
  const message = code === 0 ? "it is at work" : `it was answered with ${code}`;
  return {
    phase: "duplicate",
    code: code === 0 ? 202 : code,
    category: "Duplicate",
    element: "id",
    message,
  };
}
