// Performs: `agent fleet sign`: a document in YAML → a signed envelope, to publish by other means.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { CliError, UsageError, invalidInput } from "../../cli/exit-codes.ts";
import { errorCode } from "../../lib/errors.ts";
import type { Terminal } from "../../cli/process-io.ts";
import { readEnvelope } from "../../source/document/decode.ts";
import { readOnly } from "../read-input.ts";
import { readSigner, signMessage } from "../trust/signing-keys.ts";
import { jsonBytes } from "../../protocol/wire-text.ts";
import { sha256 } from "../../lib/system-sha256.ts";

export interface SignFlags {
  readonly filename: string;
  readonly key: readonly string[];
  /** Absent = standard output. */
  readonly output?: string;
}

export async function signDocument(terminal: Terminal, flags: SignFlags): Promise<0> {
  const { file, value } = await readOnly(flags.filename, "DesiredState", terminal);
  const payload = jsonBytes(value);
  const read = readEnvelope(payload);
  if (read.type === "Invalid") throw invalidInput(file, read.errors);
  if (read.type !== "Envelope") throw new UsageError(`${file} is no DesiredState`);
  const { node, group } = read.envelope.target;
  if (node === undefined && group === undefined)
    throw new UsageError(`${file}: target: a signed document must name its node or group`);
  const signers = flags.key.map(readSigner);
  const signed = signMessage("desired", payload, signers);
  write(terminal, flags.output, signed);
  terminal.err(
    `sha256:${sha256(payload)}, signed by ${signers.map(({ keyid }) => keyid).join(", ")}\n`,
  );
  return 0;
}

/** Writes to the file or to standard output; a private key is never overwritten. */
export function write(terminal: Terminal, path: string | undefined, bytes: Uint8Array): void {
  if (path === undefined || path === "-")
    return terminal.out(`${new TextDecoder().decode(bytes)}\n`);
  try {
    if (existsSync(path) && readFileSync(path, "utf8").includes("PRIVATE KEY-----"))
      throw new UsageError(`${path} holds a private key, which is never overwritten`);
    writeFileSync(path, bytes);
  } catch (thrown) {
    const why = errorCode(thrown);
    throw why === "" ? thrown : new CliError(`cannot write ${path}: ${why}`, thrown);
  }
}
