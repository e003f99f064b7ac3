// Performs: finds, reads and decodes the configuration file; flags override it.

import { existsSync } from "node:fs";
import type { Locate } from "../api/decode/field-path.ts";
import {
  decodeConfig,
  readConfigFields,
  type AgentConfig,
  type ConfigFields,
} from "../config/config.ts";
import type { FieldError, Result } from "../lib/result.ts";
import { CONFIG_FILE } from "./flags.ts";
import { CliError, UsageError } from "./exit-codes.ts";
import { errorLine } from "./terminal-text.ts";
import { readNamedFile } from "./read-file.ts";

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

export interface DeviceConfiguration {
  readonly config: AgentConfig;
  /** Without the defaults that depend on other fields. */
  readonly fields: ConfigFields;
}

/** The same, with what settings of documents are laid over. */
export async function loadDeviceConfig(
  flags: ConnectionFlags,
  environment: Environment,
): Promise<DeviceConfiguration> {
  const found = await findConfig(flags, environment);
  const config = decoded(found, { flags, environment });
  return { config, fields: valueOf(readConfigFields(found.document), found.path) };
}

export interface ConfigOrDefaults {
  readonly config: AgentConfig;
  /** Why the configuration is not valid, and the defaults stand for it. */
  readonly configError: string | undefined;
}

/** For verbs that are wanted most where the configuration is wrong. */
export async function loadConfigOrDefaults(
  flags: ConnectionFlags,
  environment: Environment,
): Promise<ConfigOrDefaults> {
  try {
    return { config: await loadConfig(flags, environment), configError: undefined };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const defaults = decodeConfig({});
    if (!defaults.ok) throw new CliError("the defaults are not valid", error);
    return { config: defaults.value, configError: error.message.replaceAll("\n", " ") };
  }
}

interface ConfigInForce {
  /** As a file would have it. */
  readonly config: object;
  /** Sentences about what is not from the file. */
  readonly origin: readonly string[];
}

/** With the settings of documents: `agent config print`. */
export async function loadConfigInForce(
  flags: ConnectionFlags,
  environment: Environment,
): Promise<ConfigInForce> {
  const { config, fields } = await loadDeviceConfig(flags, environment);
  const { configInForce } = await import("../config/print-config.ts");
  const { settingsInForce } = await import("./settings-in-force.ts");
  const { over, origin } = settingsInForce(config.stateDir, fields);
  return { config: configInForce(over.fields, { ...over.config, socket: config.socket }), origin };
}

/** A configuration file that was not judged yet; a document without a path = the defaults. */
interface FoundConfig {
  readonly path: string;
  readonly document: unknown;
  readonly locate?: Locate | undefined;
}

/** The configuration file; undefined = there is none, and the defaults hold. */
export function configPath(flags: ConnectionFlags, environment: Environment): string | undefined {
  const named = given(flags.config) ?? given(environment["AGENT_CONFIG"]);
  return named ?? (existsSync(CONFIG_FILE) ? CONFIG_FILE : undefined);
}

async function findConfig(flags: ConnectionFlags, environment: Environment): Promise<FoundConfig> {
  const path = configPath(flags, environment);
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
