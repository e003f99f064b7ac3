// Performs: the flags that several verbs of `agent fleet` have, and how their values are parsed.

import { InvalidArgumentError } from "commander";
import { parseDuration } from "../api/resource/duration.ts";
import type { Flag } from "../cli/verb.ts";

export const NAMESPACE: Flag = {
  usage: "-n, --namespace <namespace>",
  description: "namespace of the pod",
  default: "default",
};

export function keyFlag(description: string, required: { readonly isRequired?: true } = {}): Flag {
  return { usage: "--key <file>", description, isRepeatable: true, ...required };
}

export function bundleVersionFlag(description: string): Flag {
  return { usage: "--bundle-version <number>", description, parse: wholeNumber };
}

/** The value is in ms; written as `90s` or `10m`. */
export function timeoutFlag(fallback: string, description: string): Flag {
  return {
    usage: "--timeout <duration>",
    description,
    default: parseDuration(fallback),
    defaultText: fallback,
    parse: durationOf,
  };
}

function durationOf(written: string): number {
  const ms = parseDuration(/^\d+$/.test(written) ? `${written}s` : written);
  if (ms !== undefined && ms > 0) return ms;
  throw new InvalidArgumentError("It must be a duration such as 90s or 10m.");
}

export function wholeNumber(written: string): number {
  if (/^\d{1,9}$/.test(written)) return Number(written);
  throw new InvalidArgumentError("It must be a whole number.");
}

export function listOf(written: string): readonly string[] {
  return written
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}
