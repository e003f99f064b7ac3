// Performs: finds, reads and decodes the configuration file; flags override it.

import { existsSync } from "node:fs";
import type { Locate } from "../api/decode/field-path.ts";
import { decodeConfig, type AgentConfig } from "../config/config.ts";
import type { FieldError } from "../lib/result.ts";
import { UsageError } from "./exit-codes.ts";
import { errorLine } from "./terminal-text.ts";
import { readNamedFile } from "./read-file.ts";

export const CONFIG_FILE = "/etc/agent/agent.yaml";

/** The flags of every verb; undefined or "" = not given. */
export interface ConnectionFlags {
  /** `--config`. */
  readonly config?: string | undefined;
  /** `--socket`. */
  readonly socket?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The configuration of `--config`, else AGENT_CONFIG, else /etc/agent/agent.yaml if there is one, else the defaults.
 * Throws UsageError with every error on a line of its own: `file:line:column: field: message`.
 */
export async function loadConfig(
  flags: ConnectionFlags,
  environment: Environment,
): Promise<AgentConfig> {
  const named = given(flags.config) ?? given(environment["AGENT_CONFIG"]);
  const path = named ?? (existsSync(CONFIG_FILE) ? CONFIG_FILE : undefined);
  const config = path === undefined ? decode({}, "") : await decodeFile(path);
  const socket = namedSocket(flags, environment);
  return socket === undefined ? config : { ...config, socket };
}

/** The socket of the local API; the configuration is read only when neither a flag nor the environment names it. */
export async function findSocket(
  flags: ConnectionFlags,
  environment: Environment,
): Promise<string> {
  return namedSocket(flags, environment) ?? (await loadConfig(flags, environment)).socket;
}

function namedSocket(flags: ConnectionFlags, environment: Environment): string | undefined {
  return given(flags.socket) ?? given(environment["AGENT_SOCKET"]);
}

function given(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

async function decodeFile(path: string): Promise<AgentConfig> {
  const { readDocuments } = await import("../api/yaml/yaml-documents.ts");
  const { documents, errors } = readDocuments(readNamedFile(path));
  const [document, second] = documents;
  if (errors.some(({ code }) => code !== "Empty")) throw invalid(path, errors);
  if (second !== undefined)
    throw new UsageError(
      `${path} contains several documents; a configuration file has exactly one`,
    );
  // A file of comments only means the defaults.
  return decode(document?.value ?? {}, path, document?.locate);
}

function decode(document: unknown, path: string, locate?: Locate): AgentConfig {
  const decoded = decodeConfig(document, { locate });
  if (!decoded.ok) throw invalid(path, decoded.errors);
  return decoded.value;
}

function invalid(path: string, errors: readonly FieldError[]): UsageError {
  const lines = errors.map((error) => `\n  ${errorLine({ file: path, ...error })}`);
  return new UsageError(`the configuration is invalid:${lines.join("")}`);
}
