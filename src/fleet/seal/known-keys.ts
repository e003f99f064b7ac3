// Performs: the file with the keys of nodes that an operator has accepted; it holds nothing secret and lives well in git.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { bytesOfBase64 } from "../../api/validation/base64.ts";
import { CliError, UsageError } from "../../cli/exit-codes.ts";
import { messageOf } from "../../lib/errors.ts";
import { isTopicName } from "../../protocol/mqtt-topics.ts";
import type { KnownKeys } from "./judge-node-keys.ts";

const KEY_BYTES = 32;
const HEAD =
  "# The accepted keys of nodes: name and Ed25519 public key; written by agent fleet keys --accept\n";

/** [] if there is no such file. Throws UsageError for a line that is none. */
export function readKnownKeys(path: string): KnownKeys {
  if (!existsSync(path)) return new Map();
  const lines = readFileSync(path, "utf8").split("\n");
  return new Map(
    lines.flatMap((line, index) => {
      const text = line.trim();
      return text === "" || text.startsWith("#") ? [] : [entryOf(text, `${path}:${index + 1}`)];
    }),
  );
}

function entryOf(line: string, place: string): readonly [string, Uint8Array] {
  const [name = "", written = "", ...more] = line.split(/\s+/);
  const key = bytesOfBase64(written);
  if (isTopicName(name) && key?.length === KEY_BYTES && more.length === 0) return [name, key];
  throw new UsageError(`${place}: must be the name of a node and a public key in base64`);
}

/** Sorted, as a whole or not at all. Throws CliError. */
export function writeKnownKeys(path: string, keys: KnownKeys): void {
  const lines = [...keys].map(([name, key]) => `${name} ${key.toBase64()}\n`).toSorted();
  const temporary = `${path}.new`;
  try {
    writeFileSync(temporary, HEAD + lines.join(""));
    renameSync(temporary, path);
  } catch (error) {
    throw new CliError(`cannot write ${path}: ${messageOf(error)}`, error);
  }
}
