// The flags of every verb of `agent`, and those that several verbs have.

import { InvalidArgumentError } from "commander";
import { parseDuration } from "../api/resource/duration.ts";

/** By their usage, such as `-n, --namespace <namespace>`; a text is the description. */
export type Flags = Readonly<Record<string, string | Flag>>;

export interface Flag {
  readonly description: string;
  readonly default?: unknown;
  /** How the help shows the default, if not as it is. */
  readonly defaultText?: string;
  readonly choices?: readonly string[];
  readonly isRequired?: true;
  /** The value is the list of all values given. */
  readonly isRepeatable?: true;
  /** Throws commander's InvalidArgumentError. */
  readonly parse?: (written: string) => unknown;
}

/** The flag of every verb about objects with a namespace. */
export function namespaceFlag(description = "in this namespace"): Flags {
  return { "-n, --namespace <namespace>": { description, default: "default" } };
}

export function outputFlag<T extends string>(...choices: readonly T[]): Flags {
  return { "-o, --output <format>": { description: "output format", choices } };
}

/** Of every verb. */
export const PROGRAM_FLAGS: Flags = {
  "--config <file>": "configuration file (AGENT_CONFIG; default /etc/agent/agent.yaml)",
  "--socket <path>": "socket of the local API (AGENT_SOCKET; default: the configuration's)",
};

/** In ms; a bare number is seconds. Throws commander's InvalidArgumentError. */
export function durationOf(written: string): number {
  const ms = parseDuration(/^\d+$/.test(written) ? `${written}s` : written);
  if (ms !== undefined && ms > 0) return ms;
  throw new InvalidArgumentError("It must be a duration such as 90s or 10m.");
}
