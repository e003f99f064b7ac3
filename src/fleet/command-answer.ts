// Reads the answer of a node to a command, part by part, and what of it is shown.

import { anything } from "../api/schema/values.ts";
import { fieldOf, list, map, objectType } from "../api/schema/codec.ts";
import { readLeniently } from "../api/schema/read-value.ts";
import type { JsonObject } from "../lib/json.ts";
import {
  count,
  flag,
  item,
  maybeCount,
  maybeText,
  readWire,
  text,
} from "../protocol/read-published.ts";

const ANSWER = objectType("Response", {
  id: text("Id of the command."),
  phase: text("How far it is."),
  code: count("How it ended, as in HTTP."),
  part: maybeCount("Number of the part, from 0; absent = there is one part."),
  last: flag("Whether it is the last part."),
  data: map(anything, { about: "The answer." }),
  error: fieldOf(
    objectType("Error", {
      category: text("Kind of error, one word."),
      element: maybeText("What is wrong."),
      message: maybeText("What is wrong with it."),
    }),
  )({ about: "Why it failed." }),
});

const LOG = objectType("Log", {
  lines: list(item(objectType("LogLine", { text: text("The line.") })), { about: "Lines." }),
  dropped: count("Lines that are missing before these."),
  truncated: flag("Whether there are more lines than the answer has room for."),
  why: maybeText("Why the lease ended."),
  seconds: maybeCount("Duration of the lease, in seconds."),
});
const NO_LOG = { lines: [], dropped: 0, truncated: false };

export interface Answer {
  readonly id: string;
  readonly phase: string;
  readonly code: number;
  /** From 0. */
  readonly part: number;
  /** The result; earlier parts only report progress. */
  readonly isEnd: boolean;
  /** Nothing follows. */
  readonly isLast: boolean;
  readonly data: JsonObject;
  /** "" = none. */
  readonly error: string;
}

/** Phases after which more may come. */
const UNDER_WAY = ["accepted", "running"];
const USUAL_LEASE_S = 600;
const LONGEST_LEASE_S = 3_600;

export function readAnswer(payload: Uint8Array): Answer | undefined {
  const answer = readWire(ANSWER, payload);
  if (answer === undefined || answer.id === "") return undefined;
  const { id, phase, code, part, last, data, error } = answer;
  const isEnd = !UNDER_WAY.includes(phase);
  const message = error?.message ?? error?.category ?? "";
  return {
    id,
    phase,
    code,
    part: part ?? 0,
    isEnd,
    isLast: isEnd && (part === undefined || last),
    data,
    error: error?.element === undefined ? message : `${error.element}: ${message}`,
  };
}

/** Lines of a container's log, of an answer's data or of a message on its log topic. */
export function logLines(data: JsonObject): readonly string[] {
  if (!Array.isArray(data["lines"])) return [];
  const { lines, dropped, truncated } = readLeniently(LOG, data) ?? NO_LOG;
  return [
    ...(dropped === 0 ? [] : [`[${dropped} lines are missing here]`]),
    ...lines.map((line) => line.text),
    ...(truncated ? ["[the answer is truncated]"] : []),
  ];
}

/** Why a lease on a log is over; undefined = the answer does not end one. */
export function leaseEnd(data: JsonObject): string | undefined {
  return readLeniently(LOG, data)?.why;
}

/** How long a lease on a log lasts. */
export function leaseSeconds(data: JsonObject): number {
  return Math.min(readLeniently(LOG, data)?.seconds ?? USUAL_LEASE_S, LONGEST_LEASE_S);
}
