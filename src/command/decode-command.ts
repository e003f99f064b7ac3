// A command's JSON → the command, or why it is refused.

import { Findings } from "../api/decode/field-errors.ts";
import { fieldOf, map, objectType, type Decoded } from "../api/schema/codec.ts";
import { anything, atLeast, between, exactText, time } from "../api/schema/values.ts";
import { TARGET } from "../protocol/desired-state.ts";
import { MAX_TOPIC_BYTES } from "../protocol/mqtt-topics.ts";
import { denied, type Denial } from "./response.ts";
import { COMMAND_VERBS, isCommandVerb, LATER_VERBS, type CommandVerb } from "./verbs.ts";

export type ReadCommand =
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

export function isPlainTopic(topic: string): boolean {
  return topic.length <= MAX_TOPIC_BYTES && TOPIC.test(topic);
}

function isLater(verb: string): boolean {
  return LATER_VERBS.some((one) => one === verb);
}
