// Reads the answer of a node to a command, part by part, and what of it is shown.

import { countOf, objectOf, objectsOf, textOf, wireObject } from "./wire-values.ts";
import type { JsonObject } from "../lib/json.ts";

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
  const value = wireObject(payload);
  const id = textOf(value?.["id"]);
  if (value === undefined || id === undefined) return undefined;
  const phase = textOf(value["phase"]) ?? "";
  const part = countOf(value["part"]);
  const isEnd = !UNDER_WAY.includes(phase);
  return {
    id,
    phase,
    code: countOf(value["code"]) ?? 0,
    part: part ?? 0,
    isEnd,
    isLast: isEnd && (part === undefined || value["last"] === true),
    data: objectOf(value["data"]) ?? {},
    error: errorText(objectOf(value["error"])),
  };
}

function errorText(error: JsonObject | undefined): string {
  if (error === undefined) return "";
  const element = textOf(error["element"]);
  const message = textOf(error["message"]) ?? textOf(error["category"]) ?? "";
  return element === undefined ? message : `${element}: ${message}`;
}

/** Lines of a container's log, of an answer's data or of a message on its log topic. */
export function logLines(data: JsonObject): readonly string[] {
  if (!Array.isArray(data["lines"])) return [];
  const dropped = countOf(data["dropped"]) ?? 0;
  return [
    ...(dropped === 0 ? [] : [`[${dropped} lines are missing here]`]),
    ...objectsOf(data["lines"]).map((line) => textOf(line["text"]) ?? ""),
    ...(data["truncated"] === true ? ["[there is more than an answer holds]"] : []),
  ];
}

/** Why a lease on a log is over; undefined = the answer speaks of none. */
export function leaseEnd(data: JsonObject): string | undefined {
  return textOf(data["why"]);
}

/** How long a lease on a log runs. */
export function leaseSeconds(data: JsonObject): number {
  return Math.min(countOf(data["seconds"]) ?? USUAL_LEASE_S, LONGEST_LEASE_S);
}
