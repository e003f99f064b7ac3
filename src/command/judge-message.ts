// Judges one message on a command topic: carried out, answered with a refusal, or ignored.

import { decodeCommand, isPlainTopic, MAX_COMMAND_BYTES, type Command } from "./decode-command.ts";
import { denied, type Denial } from "./denial.ts";
import { isEnvelope, readSignedEnvelope } from "../protocol/dsse.ts";
import { withoutUndefined, parseJson } from "../lib/json.ts";
import { parseTopic, topicFor } from "../protocol/mqtt-topics.ts";
import {
  expiry,
  repetition,
  targetDenial,
  unsignedDenial,
  type CommandCase,
  type CommandFacts,
  type CommandMessage,
} from "./judge-command.ts";
import { VERBS } from "./verbs.ts";

export interface CommandRefusal extends Denial {
  readonly type: "Refuse";
  readonly id: string;
  readonly replyTo: string;
  /** Unsigned, or its signature does not count, on a node that requires signatures. */
  readonly untrusted: boolean;
}

export type CommandJudgement =
  | { readonly type: "Ignore"; readonly why: string }
  | CommandRefusal
  | {
      readonly type: "Run";
      readonly command: Command;
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
  const reading = readMessage(message, facts);
  if (reading.type === "Ignore") return reading;
  const { value, signed, distrust } = reading;
  const own = topicFor({ type: "NodeResponse", root: facts.root, node: facts.node });
  const read = decodeCommand(value);
  const id = read.type === "Invalid" ? read.id : read.command.id;
  if (id === undefined) return ignore("it has no ULID as its id");
  // An untrusted sender learns only that it is untrusted.
  if (distrust !== undefined)
    return { type: "Refuse", id, replyTo: own, untrusted: true, ...denied(401, distrust) };
  const signaturesRequired = facts.signaturesRequired();
  if (read.type === "Command")
    return judgeRead(read.command, { message, facts, signed, signaturesRequired }, own);
  const untrusted = signaturesRequired && !signed;
  return { type: "Refuse", id, replyTo: own, untrusted, ...read.denial };
}

/** Judges a readable command whose signature, if any, counts. */
function judgeRead(command: Command, of: CommandCase, own: string): CommandJudgement {
  const { message, facts, signed, signaturesRequired } = of;
  const { id, verb } = command;
  const untrusted = signaturesRequired && !signed;
  const replyTo = replyTopic(command, message, own);
  if (replyTo === undefined) {
    const elsewhere = denied(403, `answers go to ${own} and below it only`, "replyTo");
    return { type: "Refuse", id, replyTo: own, untrusted, ...elsewhere };
  }
  const denial =
    targetDenial(command, of) ??
    unsignedDenial(command, of) ??
    expiry(command, of) ??
    repetition(command, facts);
  if (denial !== undefined) return { type: "Refuse", id, replyTo, untrusted, ...denial };
  const replayable = signed && VERBS[verb].changes;
  const proven = withoutUndefined({ provenAt: signed ? command.issuedAt : undefined });
  return { type: "Run", command, statusOnly: untrusted, replayable, ...proven, replyTo };
}

interface Reading {
  readonly type: "Read";
  readonly value: unknown;
  readonly signed: boolean;
  /** Why its signature does not count. */
  readonly distrust: string | undefined;
}

function readMessage(
  { topic, payload }: CommandMessage,
  facts: CommandFacts,
): Reading | Extract<CommandJudgement, { type: "Ignore" }> {
  const written = parseJson(payload);
  if (!isEnvelope(written)) {
    if (written === undefined) return ignore("it is no JSON");
    return { type: "Read", value: written, signed: false, distrust: undefined };
  }
  const envelope = readSignedEnvelope(written);
  if (!envelope.ok) return ignore("its envelope cannot be read");
  const of = parseTopic(facts.root, topic);
  const group = of?.type === "GroupCommand" ? of.group : undefined;
  return {
    type: "Read",
    value: parseJson(envelope.value.payload),
    signed: true,
    distrust: facts.verify(envelope.value, group),
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

function ignore(why: string): Extract<CommandJudgement, { type: "Ignore" }> {
  return { type: "Ignore", why };
}
