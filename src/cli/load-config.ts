// Performs: finds, reads and decodes the configuration file; flags override it.

import { existsSync } from "node:fs";
import type { Locate } from "../api/decode/field-path.ts";
import { decodeConfig, readConfigFields, type AgentConfig } from "../config/config.ts";
import type { FieldError, Result } from "../lib/result.ts";
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
  return decoded(await findConfig(flags, environment), { flags, environment });
}

/** The same as a file would have it: `agent config print`. */
export async function loadConfigInForce(
  flags: ConnectionFlags,
  environment: Environment,
): Promise<object> {
  const found = await findConfig(flags, environment);
  const config = decoded(found, { flags, environment });
  const { configInForce } = await import("../config/print-config.ts");
  return configInForce(valueOf(readConfigFields(found.document), found.path), config);
}

/** A configuration file that was not judged yet; a document without a path = the defaults. */
interface FoundConfig {
  readonly path: string;
  readonly document: unknown;
  readonly locate?: Locate | undefined;
}

async function findConfig(flags: ConnectionFlags, environment: Environment): Promise<FoundConfig> {
  const named = given(flags.config) ?? given(environment["AGENT_CONFIG"]);
  const path = named ?? (existsSync(CONFIG_FILE) ? CONFIG_FILE : undefined);
  return path === undefined ? { path: "", document: {} } : readFile(path);
}

function decoded(
  { path, document, locate }: FoundConfig,
  from: { readonly flags: ConnectionFlags; readonly environment: Environment },
): AgentConfig {
  const config = valueOf(decodeConfig(document, { locate }), path);
  const socket = namedSocket(from.flags, from.environment);
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

async function readFile(path: string): Promise<FoundConfig> {
  const { readDocuments } = await import("../api/yaml/yaml-documents.ts");
  const { documents, errors } = readDocuments(readNamedFile(path));
  const [document, second] = documents;
  if (errors.some(({ code }) => code !== "Empty")) throw invalid(path, errors);
  if (second !== undefined)
    throw new UsageError(
      `${path} contains several documents; a configuration file has exactly one`,
    );
  // A file of comments only means the defaults.
  return { path, document: document?.value ?? {}, locate: document?.locate };
}

function valueOf<T>(result: Result<T>, path: string): T {
  if (!result.ok) throw invalid(path, result.errors);
  return result.value;
}

function invalid(path: string, errors: readonly FieldError[]): UsageError {
  const lines = errors.map((error) => `\n  ${errorLine({ file: path, ...error })}`);
  return new UsageError(`the configuration is invalid:${lines.join("")}`);
}
