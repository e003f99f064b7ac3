// Performs: `agent fleet sign-release`: the signed release of a binary, which lies beside it as `.sig`.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { CliError, UsageError } from "../../cli/exit-codes.ts";
import type { Terminal } from "../../cli/process-io.ts";
import { runPrograms } from "../../host/run-program.ts";
import { messageOf } from "../../lib/errors.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import {
  decodeAgentRelease,
  MAX_BINARY_BYTES,
  platformOf,
  type Platform,
} from "../../protocol/agent-release.ts";
import { jsonBytes } from "../../protocol/wire-text.ts";
import { write } from "../document/sign.ts";
import { readSigner, signMessage } from "./signing-keys.ts";

export interface SignReleaseFlags {
  readonly key: readonly string[];
  readonly agentVersion?: string;
  /** Absent = beside the binary. */
  readonly output?: string;
}

const TIMEOUT_MS = 60_000;
const ANSWER_BYTES = 4096;
const ELF = "7f454c46";
const MACHINE_AT = 18;
const MACHINES: Readonly<Record<number, string>> = { 0x3e: "x64", 0xb7: "arm64" };

export async function signRelease(
  terminal: Terminal,
  binary: string,
  { key, agentVersion, output }: SignReleaseFlags,
): Promise<0> {
  const bytes = readBinary(binary);
  const platform = platformIn(bytes);
  if (platform === undefined)
    throw new UsageError(`${binary} is no program for 64-bit ARM or x86-64`);
  const version = agentVersion ?? (await versionOf(binary, terminal));
  const release = { version, platform, sha256: sha256(bytes), size: bytes.length };
  const payload = jsonBytes(release);
  const read = decodeAgentRelease(payload);
  if (!read.ok)
    throw new UsageError(read.errors.map(({ path, message }) => `${path} ${message}`).join("; "));
  const signers = key.map(readSigner);
  write(terminal, output ?? `${binary}.sig`, signMessage("release", payload, signers));
  const ids = signers.map(({ keyid }) => keyid).join(", ");
  terminal.err(`version ${version} for ${platform}, sha256:${release.sha256}, signed by ${ids}\n`);
  return 0;
}

function readBinary(path: string): Uint8Array {
  try {
    const bytes = readFileSync(path);
    if (bytes.length <= MAX_BINARY_BYTES) return bytes;
  } catch (thrown) {
    throw new CliError(`cannot read ${path}: ${messageOf(thrown)}`, thrown);
  }
  throw new UsageError(`${path} is larger than ${MAX_BINARY_BYTES} bytes`);
}

function platformIn(bytes: Uint8Array): Platform | undefined {
  if (bytes.subarray(0, 4).toHex() !== ELF || bytes.length < MACHINE_AT + 2) return undefined;
  const machine = (bytes[MACHINE_AT] ?? 0) + 256 * (bytes[MACHINE_AT + 1] ?? 0);
  return platformOf(MACHINES[machine] ?? "");
}

async function versionOf(binary: string, { clock }: Terminal): Promise<string> {
  const call = {
    path: resolve(binary),
    args: ["version"],
    env: {},
    stdin: "",
    timeoutMs: TIMEOUT_MS,
    maxBytes: ANSWER_BYTES,
  };
  try {
    const { stdout } = await runPrograms(clock)(call, new AbortController().signal);
    const [, version] = /^agent (\S+)$/.exec(stdout.trim()) ?? [];
    if (version !== undefined) return version;
  } catch {
    // Of another processor, mostly: the message says what to do.
  }
  throw new UsageError(`${binary} does not say its version here; name it with --agent-version`);
}
