// The flags that several verbs of `agent fleet` have, and how their values are parsed.

import { InvalidArgumentError } from "commander";
import { parseDuration } from "../api/resource/duration.ts";
import { durationOf, type Flag, type Flags } from "../cli/flags.ts";

/** The accepted keys of nodes: in the working directory, beside fleet.yaml. */
const KEY_FILE = "fleet-keys";

export const BROKER_FLAGS: Flags = {
  "--url <url>": "the broker: mqtt://, mqtts://, ws:// or wss://",
  "--username <name>": "user name for the broker",
  "--password-file <file>": "file with the password for the broker",
  "--ca-file <file>": "CA certificates that the broker's certificate is checked against",
  "--cert-file <file>": "client certificate",
  "--key-file <file>": "private key of the client certificate",
  "--topic-root <levels>": "as in the configuration of the nodes (default agent/v1)",
  "--nodes <file>": "file with broker, nodes and groups (AGENT_FLEET; default ./fleet.yaml)",
};

export const TARGET_FLAGS: Flags = {
  "-f, --filename <file>": {
    description:
      "pods, ConfigMaps, Secrets and claims, or one DesiredState; - for standard input (repeatable)",
    isRequired: true,
    isRepeatable: true,
  },
  "--node <name>": "for this node",
  "--group <name>": "for the nodes of this group",
};

/** Of verbs that seal Secrets. */
export const KEYS_FLAG: Flags = {
  "--keys <file>": {
    description: "the keys of nodes that agent fleet keys has accepted",
    default: KEY_FILE,
  },
};

export const SEAL_FLAGS: Flags = {
  "--seal": "seal each Secret to the keys of the nodes, so that only they can read it",
  ...KEYS_FLAG,
};

export const OUTPUT_FILE: Flags = {
  "-o, --output <file>": "output file (default standard output)",
};

/** One file. */
export function fileFlag(description: string): Flags {
  return { "-f, --filename <file>": { description, isRequired: true } };
}

export function keyFlag(description: string, required: Pick<Flag, "isRequired"> = {}): Flags {
  return {
    "--key <file>": { description: `${description} (repeatable)`, isRepeatable: true, ...required },
  };
}

export function bundleVersionFlag(description: string): Flags {
  return { "--bundle-version <number>": { description, parse: wholeNumber } };
}

/** The value is in ms; written as `90s` or `10m`. */
export function timeoutFlag(fallback: string, description: string): Flags {
  const byDefault = { default: parseDuration(fallback), defaultText: fallback };
  return { "--timeout <duration>": { description, ...byDefault, parse: durationOf } };
}

/** The value is a list, written with commas. */
export function listFlag(description: string, byDefault?: readonly string[]): Flag {
  return { description, parse: listOf, default: byDefault };
}

export function wholeNumber(written: string): number {
  if (/^\d{1,9}$/.test(written)) return Number(written);
  throw new InvalidArgumentError("It must be a whole number.");
}

function listOf(written: string): readonly string[] {
  return written
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}
