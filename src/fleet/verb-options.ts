// Performs: flags that several verbs of `agent fleet` have, and how their words are read.

import { InvalidArgumentError, Option } from "commander";
import { parseDuration } from "../api/resource/duration.ts";
import type { FleetParts } from "./open-broker.ts";

/** What each verb is added with. */
export interface VerbParts extends FleetParts {
  readonly done: (code: number) => void;
}

/** Ms; written as `90s` or `10m`. */
export function timeoutOption(fallback: string, description: string): Option {
  return new Option("--timeout <duration>", description)
    .argParser(durationOf)
    .default(parseDuration(fallback), fallback);
}

function durationOf(written: string): number {
  const ms = parseDuration(/^\d+$/.test(written) ? `${written}s` : written);
  if (ms !== undefined && ms > 0) return ms;
  throw new InvalidArgumentError("It must be a duration such as 90s or 10m.");
}

/** Of a flag that may be given several times. */
export function collect(value: string, earlier: readonly string[] | undefined): readonly string[] {
  return [...(earlier ?? []), value];
}

export function wholeNumber(written: string): number {
  if (/^\d{1,9}$/.test(written)) return Number(written);
  throw new InvalidArgumentError("It must be a whole number.");
}
