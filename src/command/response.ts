// The answers to a command as they are published: bounded in bytes, in several parts if needed.

import type { CommandResponse } from "../protocol/command.ts";
import type { ResponsePhase } from "../protocol/status-codes.ts";
import { memberOf, withoutUndefined } from "../lib/json.ts";
import { wireText } from "../protocol/wire-text.ts";
import { byteLength } from "../lib/short-text.ts";

/** Most bytes of `data` in one part. */
export const MAX_PART_BYTES = 32 * 1024;
/** Bytes of them that are reserved for the names around the content. */
const RESERVED_BYTES = 64;
/** More parts would flood a slow link; `truncated` in the last part marks that some are missing. */
export const MAX_PARTS = 64;

/** How a command ended. */
export interface CommandOutcome {
  /** HTTP status code; 2xx = done. */
  readonly code: number;
  /** Part of the first message. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Spread over parts, under this name. */
  readonly list?: { readonly name: string; readonly items: readonly unknown[] };
  readonly error?: CommandError;
}

export type CommandError = NonNullable<CommandResponse["error"]>;

/** `element`: the field, or the name, that is wrong. */
export function commandError(category: string, message: string, element?: string): CommandError {
  return { category, component: "commands", ...withoutUndefined({ element }), message };
}

export function failure(code: number, category: string, message: string): CommandOutcome {
  return { code, error: commandError(category, message) };
}

export function refusedArgs(element: string, message: string): CommandOutcome {
  return { code: 400, error: commandError("Invalid", message, element) };
}

export interface Denial {
  readonly phase: Extract<ResponsePhase, "failed" | "expired" | "denied" | "duplicate">;
  readonly code: number;
  readonly error: CommandError;
}

const DENIALS = {
  400: { phase: "failed", category: "Invalid" },
  401: { phase: "denied", category: "Unauthorized" },
  403: { phase: "denied", category: "Forbidden" },
  408: { phase: "expired", category: "Expired" },
  429: { phase: "denied", category: "TooManyRequests" },
  501: { phase: "denied", category: "NotImplemented" },
} as const;

/** `element`: the field that is the reason. */
export function denied(code: keyof typeof DENIALS, message: string, element?: string): Denial {
  const { phase, category } = DENIALS[code];
  return { phase, code, error: commandError(category, message, element) };
}

/** The messages of an outcome, in order. */
export function responsesOf(id: string, outcome: CommandOutcome): readonly CommandResponse[] {
  const { code, data, list, error } = outcome;
  const head = {
    id,
    phase: code < 300 ? "done" : "failed",
    code,
    ...(error === undefined ? {} : { error: onWire(error) }),
  } as const;
  const first = data === undefined ? undefined : bounded(data, MAX_PART_BYTES - RESERVED_BYTES);
  if (list === undefined) return [first === undefined ? head : { ...head, data: first }];
  const roomBeside = (written: object): number =>
    MAX_PART_BYTES - RESERVED_BYTES - byteLength(JSON.stringify({ ...written, [list.name]: [] }));
  const all = groups(list.items, roomBeside(first ?? {}), roomBeside({}));
  const sent = all.slice(0, MAX_PARTS);
  const missing = all.length > sent.length;
  return sent.map((items, part) => ({
    ...head,
    ...(sent.length === 1 ? {} : { part, ...(part === sent.length - 1 ? { last: true } : {}) }),
    data: {
      ...(part === 0 ? first : {}),
      [list.name]: items,
      ...(missing && part === sent.length - 1 ? { truncated: true } : {}),
    },
  }));
}

/** The data, or only its kind and name if it is too large. */
function bounded(
  data: Readonly<Record<string, unknown>>,
  most: number,
): Readonly<Record<string, unknown>> {
  const written = byteLength(JSON.stringify(data));
  return written > most ? tooLarge(data, written) : data;
}

/** At least one group, so that an empty list is sent too. The first has less room and may be empty. */
function groups(
  items: readonly unknown[],
  firstRoom: number,
  room: number,
): readonly (readonly unknown[])[] {
  const done: (readonly unknown[])[] = [];
  let group: unknown[] = [];
  let bytes = 0;
  for (const item of items) {
    const written = byteLength(JSON.stringify(item)) + 1;
    const [kept, size] = written > room ? [tooLarge(item, written), 512] : [item, written];
    const most = done.length === 0 ? firstRoom : room;
    if (bytes + size > most && (group.length > 0 || done.length === 0)) {
      done.push(group);
      group = [];
      bytes = 0;
    }
    group.push(kept);
    bytes += size;
  }
  return [...done, group];
}

/** Stands for an item that is larger than a part: its kind and name. */
function tooLarge(item: unknown, bytes: number): Readonly<Record<string, unknown>> {
  const [kind, metadata] = [memberOf(item, "kind"), memberOf(item, "metadata")];
  const [namespace, name] = [memberOf(metadata, "namespace"), memberOf(metadata, "name")];
  return {
    ...(typeof kind === "string" ? { kind } : {}),
    ...(typeof name === "string" ? { metadata: { namespace, name } } : {}),
    truncated: bytes,
  };
}

export function onWire({ category, element, message }: CommandError): CommandError {
  return commandError(
    category,
    wireText(message),
    element === undefined ? undefined : wireText(element),
  );
}

/** An answer outlives its command, because the link may be down when it is written. */
export const ANSWER_MS = 3_600_000;
