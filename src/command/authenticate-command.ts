// Whether a command, signed or unsigned, is authentic: reads the message, verifies its signature, and denies with 401 what
// needs one.

import { isEnvelope, readSignedEnvelope, type SignedEnvelope } from "../protocol/dsse.ts";
import { parseJson } from "../lib/json.ts";
import { parseTopic } from "../protocol/mqtt-topics.ts";
import type { MqttMessage } from "../mqtt/mqtt-link.ts";
import { denied, type Denial } from "./response.ts";
import { VERBS, verbsWhere, type CommandVerb } from "./verbs.ts";

/** A message as it arrived. */
export type CommandMessage = Omit<MqttMessage, "qos">;

/** Whom the node trusts when the command arrives. */
export interface CommandTrust {
  readonly root: string;
  /** May read the disk, so it is called only for readable messages. */
  readonly signaturesRequired: () => boolean;
  /** Why its signature does not count, as a sentence; undefined = it counts. Never throws. */
  readonly verify: (envelope: SignedEnvelope, group: string | undefined) => string | undefined;
  /** Ids of the keys in force that have signed it. */
  readonly signersOf: (envelope: SignedEnvelope) => readonly string[];
}

export interface OpenedCommand {
  readonly type: "Opened";
  /** The command as JSON gave it: parsed also if its signature does not count, because the answer needs its id. */
  readonly value: unknown;
  readonly signed: boolean;
  /** Ids of the keys whose signatures count. */
  readonly by: readonly string[];
  /** Its signature does not count. */
  readonly distrust: Denial | undefined;
}

/** A message that gets no answer. */
export interface Ignored {
  readonly type: "Ignore";
  readonly why: string;
}

export function openCommand(
  { topic, payload }: CommandMessage,
  trust: CommandTrust,
): OpenedCommand | Ignored {
  const written = parseJson(payload);
  if (!isEnvelope(written)) {
    if (written === undefined) return ignore("it is no JSON");
    return { type: "Opened", value: written, signed: false, by: [], distrust: undefined };
  }
  const envelope = readSignedEnvelope(written);
  if (!envelope.ok) return ignore("its envelope cannot be read");
  const of = parseTopic(trust.root, topic);
  const group = of?.type === "GroupCommand" ? of.group : undefined;
  const why = trust.verify(envelope.value, group);
  return {
    type: "Opened",
    value: parseJson(envelope.value.payload),
    signed: true,
    by: why === undefined ? trust.signersOf(envelope.value) : [],
    distrust: why === undefined ? undefined : denied(401, why),
  };
}

export function ignore(why: string): Ignored {
  return { type: "Ignore", why };
}

/** Where signatures are required, an unsigned command may only ask what the reports contain anyway. */
export function unsignedDenial(
  verb: CommandVerb,
  {
    signaturesRequired,
    signed,
  }: { readonly signaturesRequired: boolean; readonly signed: boolean },
): Denial | undefined {
  if (signed || !signaturesRequired || VERBS[verb].open) return undefined;
  const allowed = verbsWhere(({ open }) => open).join(" and ");
  const message = `this node requires signatures: without one, only ${allowed} are allowed; sign the command`;
  return denied(401, message, "verb");
}
