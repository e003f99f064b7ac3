// The wire form of what a command is answered: bounded in bytes, in as many parts as it takes.

import type { CommandResponse } from "../protocol/command.ts";
import type { CommandError } from "./decode-command.ts";
import { byteLength, jsonBytes, wireText } from "../protocol/wire-text.ts";

/** Most bytes of `data` in one part. */
export const MAX_PART_BYTES = 32 * 1024;
/** Of them, for the names beside what was asked for. */
const RESERVED_BYTES = 64;
/** More parts would flood a slow link; the last one says that something is missing. */
export const MAX_PARTS = 64;

/** How a command ended. */
export interface CommandOutcome {
  /** As HTTP has them; 2xx = done. */
  readonly code: number;
  /** Stands in the first part. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Spread over parts, under this name. */
  readonly list?: { readonly name: string; readonly items: readonly unknown[] };
  readonly error?: CommandError;
}

export function failure(code: number, category: string, message: string): CommandOutcome {
  return { code, error: { category, component: "commands", message } };
}

export function refusedArgs(element: string, message: string): CommandOutcome {
  return { code: 400, error: { category: "Invalid", component: "commands", element, message } };
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

/** Whole, or what it is without what it says. */
function bounded(
  data: Readonly<Record<string, unknown>>,
  most: number,
): Readonly<Record<string, unknown>> {
  const written = byteLength(JSON.stringify(data));
  return written > most ? tooLarge(data, written) : data;
}

/** At least one, so that an empty list is told too; the first may have less room, and then be empty. */
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

/** One thing that no part has room for: what it is, without what it says. */
function tooLarge(item: unknown, bytes: number): Readonly<Record<string, unknown>> {
  const { kind, metadata } = (item ?? {}) as {
    readonly kind?: unknown;
    readonly metadata?: unknown;
  };
  const { namespace, name } = (metadata ?? {}) as {
    readonly namespace?: unknown;
    readonly name?: unknown;
  };
  return {
    ...(typeof kind === "string" ? { kind } : {}),
    ...(typeof name === "string" ? { metadata: { namespace, name } } : {}),
    truncated: bytes,
  };
}

export function onWire({ category, component, element, message }: CommandError): CommandError {
  return {
    category,
    component,
    ...(element === undefined ? {} : { element: wireText(element) }),
    message: wireText(message),
  };
}

export function responsePayload(response: CommandResponse): Uint8Array {
  return jsonBytes(response);
}
