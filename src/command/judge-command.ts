// Judges one message on a command topic, in the order of its checks: size, authenticity, fields, target, expiry,
// repetition. The command is carried out, answered with a refusal, or ignored.

import { Findings } from "../api/decode/field-errors.ts";
import { fieldOf, map, objectType, type Decoded } from "../api/schema/codec.ts";
import { anything, atLeast, between, exactText, time } from "../api/schema/values.ts";
import { TARGET } from "../protocol/desired-state.ts";
import { withoutUndefined } from "../lib/json.ts";
import { MAX_TOPIC_BYTES, parseTopic, topicFor } from "../protocol/mqtt-topics.ts";
import {
  ignore,
  openCommand,
  unsignedDenial,
  type CommandMessage,
  type CommandTrust,
  type Ignored,
} from "./authenticate-command.ts";
import { commandError, denied, type Denial } from "./response.ts";
import { COMMAND_VERBS, isCommandVerb, LATER_VERBS, VERBS, type CommandVerb } from "./verbs.ts";

type ReadCommand =
  | { readonly type: "Command"; readonly command: Command }
  | {
      readonly type: "Invalid";
      /** Absent = it has no usable id, so that it cannot be answered. */
      readonly id?: string;
      readonly denial: Denial;
    };

/** Bytes of a whole message; the envelope of a signed one adds a third to the command. */
export const MAX_COMMAND_BYTES = 32 * 1024;

export const DEFAULT_TTL_SECONDS = 60;

export const MAX_TTL_SECONDS = 86_400;

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

const TOPIC = /^[!-"$-*,-~]+$/;

const ID_RULE = "must be a ULID: 26 characters of 0-9 and A-Z without I, L, O, U";

const VERB_RULE = `must be one of ${COMMAND_VERBS.join(", ")}`;

const text = fieldOf(exactText, "");

export const COMMAND = objectType("Command", {
  id: text({
    about: "ULID. A command that arrives twice with one id is carried out once.",
    required: ID_RULE,
    check: (id) => (ULID.test(id) ? undefined : ID_RULE),
  }),
  verb: text({
    about: `What to do: ${COMMAND_VERBS.join(", ")}.`,
    required: VERB_RULE,
    check: (verb) => (isCommandVerb(verb) || isLater(verb) ? undefined : VERB_RULE),
  }),
  target: fieldOf(TARGET)({
    about: "Node or group that the command is for. Required if it is signed.",
    default: {},
  }),
  session: fieldOf(atLeast(0))({
    about: "The node's present session, as in its state. Required if it is signed.",
  }),
  args: map(anything, { about: "Arguments of the verb." }),
  issuedAt: fieldOf(time)({ about: "When the command was written." }),
  ttl: fieldOf(between(1, MAX_TTL_SECONDS))({
    about: `Seconds for which the command is valid, at most ${MAX_TTL_SECONDS}.`,
    default: DEFAULT_TTL_SECONDS,
  }),
  replyTo: text({
    about: "Topic of the answers, the node's response topic or below it.",
    check: (topic) =>
      isPlainTopic(topic)
        ? undefined
        : `must be a topic of at most ${MAX_TOPIC_BYTES} characters of ASCII without + and #`,
  }),
});

export type Command = Omit<Decoded<typeof COMMAND>, "verb"> & { readonly verb: CommandVerb };

/** `value` as JSON gave it; unknown fields are passed over. Never throws. */
export function decodeCommand(value: unknown): ReadCommand {
  const findings = new Findings({ unknownFields: "warn" });
  const command = COMMAND.read({ findings, path: [], value });
  const [first] = findings.errors;
  const wrong = denied(400, first?.message ?? "", first?.path ?? "");
  if (command === undefined || !ULID.test(command.id)) return { type: "Invalid", denial: wrong };
  const { id, verb } = command;
  if (isLater(verb)) {
    const denial = denied(501, `${verb} is not supported yet`, "verb");
    return { type: "Invalid", id, denial };
  }
  if (first !== undefined || !isCommandVerb(verb)) return { type: "Invalid", id, denial: wrong };
  return { type: "Command", command: { ...command, verb } };
}

function isPlainTopic(topic: string): boolean {
  return topic.length <= MAX_TOPIC_BYTES && TOPIC.test(topic);
}

function isLater(verb: string): boolean {
  return LATER_VERBS.some((one) => one === verb);
}

/** The state of the node when the command arrives. */
export interface CommandFacts extends CommandTrust {
  readonly node: string;
  readonly groups: readonly string[];
  readonly fleet?: string | undefined;
  /** The present session; undefined = there is none yet. */
  readonly session: number | undefined;
  /** Wall-clock milliseconds. */
  readonly now: number;
  readonly clockTrusted: boolean;
  /** The final code of a command that was accepted before; 0 = it is running, undefined = never seen. */
  readonly codeOf: (id: string) => number | undefined;
}

const MAX_GROUP_TTL_SECONDS = 600;
/** How far another trusted clock may be ahead. */
const CLOCK_SKEW_MS = 60_000;

/** One command and the facts for judging it. */
interface CommandCase {
  readonly message: CommandMessage;
  readonly facts: CommandFacts;
  readonly signed: boolean;
  readonly by: readonly string[];
  readonly signaturesRequired: boolean;
}

export interface CommandRefusal extends Denial {
  readonly type: "Refuse";
  readonly id: string;
  readonly replyTo: string;
  /** Unsigned, or its signature does not count, on a node that requires signatures. */
  readonly untrusted: boolean;
}

export type CommandJudgement =
  | Ignored
  | CommandRefusal
  | {
      readonly type: "Run";
      readonly command: Command;
      readonly signed: boolean;
      /** Ids of the keys whose signatures count. */
      readonly by: readonly string[];
      /** Unsigned on a node that requires signatures: the answer contains no more than the reports. */
      readonly statusOnly: boolean;
      /** Signed, and it changes something: a copy could be sent again while the session lasts. */
      readonly replayable: boolean;
      /** Wall-clock milliseconds at which it was issued, by a signature that counts. */
      readonly provenAt?: number;
      readonly replyTo: string;
    };

/** Each answer carries them back, and waits on the disk with them. */
const MAX_CORRELATION_BYTES = 256;

export function judgeCommand(message: CommandMessage, facts: CommandFacts): CommandJudgement {
  if (message.retain) return ignore("it is retained");
  if (message.payload.length > MAX_COMMAND_BYTES)
    return ignore(`it is over ${MAX_COMMAND_BYTES} bytes`);
  if ((message.correlationData?.length ?? 0) > MAX_CORRELATION_BYTES)
    return ignore(`its correlation data are over ${MAX_CORRELATION_BYTES} bytes`);
  const opened = openCommand(message, facts);
  if (opened.type === "Ignore") return opened;
  const { value, signed, by, distrust } = opened;
  const own = topicFor({ type: "NodeResponse", root: facts.root, node: facts.node });
  const read = decodeCommand(value);
  const id = read.type === "Invalid" ? read.id : read.command.id;
  if (id === undefined) return ignore("it has no ULID as its id");
  // An untrusted sender learns only that it is untrusted.
  if (distrust !== undefined)
    return { type: "Refuse", id, replyTo: own, untrusted: true, ...distrust };
  const signaturesRequired = facts.signaturesRequired();
  if (read.type === "Command")
    return judgeRead(read.command, { message, facts, signed, by, signaturesRequired }, own);
  const untrusted = signaturesRequired && !signed;
  return { type: "Refuse", id, replyTo: own, untrusted, ...read.denial };
}

/** Judges a readable command whose signature, if any, counts. */
function judgeRead(command: Command, of: CommandCase, own: string): CommandJudgement {
  const { message, facts, signed, by, signaturesRequired } = of;
  const { id, verb } = command;
  const untrusted = signaturesRequired && !signed;
  const replyTo = replyTopic(command, message, own);
  if (replyTo === undefined) {
    const elsewhere = denied(403, `answers go to ${own} and below it only`, "replyTo");
    return { type: "Refuse", id, replyTo: own, untrusted, ...elsewhere };
  }
  const denial =
    targetDenial(command, of) ??
    unsignedDenial(verb, of) ??
    expiry(command, of) ??
    repetition(command, facts);
  if (denial !== undefined) return { type: "Refuse", id, replyTo, untrusted, ...denial };
  const replayable = signed && VERBS[verb].changes;
  const proven = withoutUndefined({ provenAt: signed ? command.issuedAt : undefined });
  return {
    type: "Run",
    command,
    signed,
    by,
    statusOnly: untrusted,
    replayable,
    ...proven,
    replyTo,
  };
}

function replyTopic(
  { replyTo }: Command,
  { responseTopic }: CommandMessage,
  own: string,
): string | undefined {
  // Both must be below the node's response topic, so that neither can redirect answers.
  const asked = [replyTo, responseTopic].filter((topic) => topic !== undefined);
  const allowed = asked.every(
    (topic) =>
      topic === own ||
      (topic.startsWith(`${own}/`) && isPlainTopic(topic) && !topic.includes("//")),
  );
  return allowed ? (asked[0] ?? own) : undefined;
}

/** Every name in the target must match. A signed command must also name the node or group of its topic, so that it cannot
 * be replayed on another topic. */
function targetDenial(command: Command, of: CommandCase): Denial | undefined {
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

function expiry(command: Command, { message, facts, signed }: CommandCase): Denial | undefined {
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

function repetition({ id }: Command, { codeOf }: CommandFacts): Denial | undefined {
  const code = codeOf(id);
  if (code === undefined) return undefined;
  const message = code === 0 ? "the command is running" : `the command was answered with ${code}`;
  const error = commandError("Duplicate", message, "id");
  return { phase: "duplicate", code: code === 0 ? 202 : code, error };
}
