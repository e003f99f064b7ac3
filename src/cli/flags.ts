// The flags of every verb of `agent`, and those that several verbs have.

import { InvalidArgumentError } from "commander";
import { parseDuration } from "../api/resource/duration.ts";
import { COLOUR_CHOICES } from "./terminal/palette.ts";

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
  /** What a shell may write as its value, beside `choices`. */
  readonly completes?: Completes;
}

/** What a shell may write at a place: these words, or what the agent or the file system has. */
export type Completes =
  | readonly string[]
  | "files"
  /** KIND NAME…, or KIND/NAME…; `writtenObjects`: of the kinds that clients write. */
  | "objects"
  | "writtenObjects"
  | "pods"
  /** Of the pod that is the first argument. */
  | "containers"
  | "namespaces"
  | "images"
  /** POD:, or a file. */
  | "podPaths"
  | "schemaKinds"
  /** `pod.spec.containers`, or pod/NAME. */
  | "fields"
  /** The verbs themselves. */
  | "verbs";

/** Of every verb that reads manifests. */
export const FILENAME: Flags = {
  "-f, --filename <path>": {
    description:
      "a file, a directory of *.yaml, *.yml and *.json, or - for standard input (repeatable)",
    isRepeatable: true,
    completes: "files",
  },
};

export const RECURSIVE: Flags = {
  "-R, --recursive": "also the directories below a directory of --filename",
};

export const SELECTOR: Flags = {
  "-l, --selector <selector>": "with these labels, such as app=web,tier!=test",
};
export const FIELD_SELECTOR: Flags = {
  "--field-selector <selector>": "with these fields, such as status.phase=Running",
};
export const ALL_NAMESPACES: Flags = { "-A, --all-namespaces": "in all namespaces" };

/** The flag of every verb about objects with a namespace. */
export function namespaceFlag(description = "in this namespace"): Flags {
  return {
    "-n, --namespace <namespace>": { description, default: "default", completes: "namespaces" },
  };
}

export function outputFlag<T extends string>(...choices: readonly T[]): Flags {
  return { "-o, --output <format>": { description: "output format", choices } };
}

/** Read if no other one is named. */
export const CONFIG_FILE = "/etc/agent/agent.yaml";

/** Of every verb. */
export const PROGRAM_FLAGS: Flags = {
  "--config <file>": {
    description: `configuration file (AGENT_CONFIG; default ${CONFIG_FILE})`,
    completes: "files",
  },
  "--socket <path>": {
    description: "socket of the local API (AGENT_SOCKET; default: the configuration's)",
    completes: "files",
  },
  "--color <when>": {
    description: "colours: auto has them on a terminal, unless NO_COLOR is set or TERM is dumb",
    choices: COLOUR_CHOICES,
    default: "auto",
  },
};

/** In ms; a bare number is seconds. Throws commander's InvalidArgumentError. */
export function durationOf(written: string): number {
  const ms = parseDuration(/^\d+$/.test(written) ? `${written}s` : written);
  if (ms !== undefined && ms > 0) return ms;
  throw new InvalidArgumentError("It must be a duration such as 90s or 10m.");
}

/** In ms; 0 = look once, and a negative time is a week, as in kubectl. Throws commander's InvalidArgumentError. */
export function waitTimeOf(written: string): number {
  const isNegative = written.startsWith("-");
  const bare = isNegative ? written.slice(1) : written;
  const ms = parseDuration(/^\d+$/.test(bare) ? `${bare}s` : bare);
  if (ms === undefined)
    throw new InvalidArgumentError("It must be a duration such as 90s or 10m, 0, or -1s.");
  return isNegative && ms > 0 ? WEEK_MS : ms;
}

const WEEK_MS = 7 * 86_400_000;

/** A whole number, 1 or more. Throws commander's InvalidArgumentError. */
export function countOf(written: string): number {
  if (/^[1-9]\d{0,14}$/.test(written)) return Number(written);
  throw new InvalidArgumentError("It must be a whole number, 1 or more.");
}

/** Of lines; -1 = all. Throws commander's InvalidArgumentError. */
export function tailOf(written: string): number {
  if (/^(?:-1|\d{1,15})$/.test(written)) return Number(written);
  throw new InvalidArgumentError("It must be a whole number of lines, or -1 for all.");
}
