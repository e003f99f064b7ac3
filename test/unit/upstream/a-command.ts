// Commands as they arrive, and a node that hears them.

import { writeSignedEnvelope, payloadTypeOf } from "../../../src/protocol/dsse.ts";
import type { CommandMessage } from "../../../src/command/authenticate-command.ts";
import { judgeCommand, type CommandFacts } from "../../../src/command/judge-command.ts";

export const NOW = Date.parse("2026-11-21T08:00:00Z");
export const NODE_TOPIC = "agent/v1/node/pi-1/command";
export const GROUP_TOPIC = "agent/v1/group/kiosks/command";
export const OWN = "agent/v1/node/pi-1/response";

/** The n-th id. */
export function ulid(n: number): string {
  return `01JD${String(n).padStart(22, "0")}`;
}

export function aCommand(fields: Readonly<Record<string, unknown>> = {}): object {
  return { id: ulid(1), verb: "ping", target: { node: "pi-1" }, ...fields };
}

export function bytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));
}

export function arriving(value: unknown, more: Partial<CommandMessage> = {}): CommandMessage {
  return { topic: NODE_TOPIC, payload: bytes(value), retain: false, ...more };
}

/** In an envelope; whether the signature counts is for `verify` to say. */
export function signed(value: unknown): string {
  return writeSignedEnvelope({
    payloadType: payloadTypeOf("command"),
    payload: bytes(value),
    signatures: [{ keyid: "0123456789abcdef", sig: new Uint8Array(64) }],
  });
}

export function someFacts(more: Partial<CommandFacts> = {}): CommandFacts {
  return {
    root: "agent/v1",
    node: "pi-1",
    groups: ["kiosks"],
    fleet: "north",
    session: 7,
    now: NOW,
    clockTrusted: true,
    signaturesRequired: () => false,
    verify: () => undefined,
    signersOf: () => [],
    codeOf: () => undefined,
    ...more,
  };
}

/** The judgement of a message, in one line. */
export function verdict(
  value: unknown,
  facts: Partial<CommandFacts> = {},
  more: Partial<CommandMessage> = {},
): string {
  const judged = judgeCommand(arriving(value, more), someFacts(facts));
  if (judged.type === "Ignore") return "ignored";
  if (judged.type === "Run") return judged.statusOnly ? "run, status only" : "run";
  return `${judged.phase} ${judged.code} ${judged.error?.element ?? ""}`.trim();
}
