// Performs: from flags and fleet.yaml to a session with the broker.

import { existsSync, lstatSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { MqttConfig } from "../config/config.ts";
import { invalidInput, UsageError } from "../cli/exit-codes.ts";
import type { Terminal } from "../cli/process-io.ts";
import { readNamedFile } from "../cli/read-file.ts";
import { printable } from "../cli/terminal-text.ts";
import { ownerProblem } from "../host/file-owner.ts";
import type { Random } from "../lib/random.ts";
import type { ConnectOptions, MqttLink } from "../mqtt/mqtt-link.ts";
import { mqttOf, NO_FLEET_FILE, readFleetFile, type FleetFile } from "./fleet-file.ts";
import { documentsOf } from "./read-input.ts";
import { OperatorSession } from "./operator-session.ts";
import { credentials } from "../upstream/link/connect-options.ts";
import type { JsonObject } from "../lib/json.ts";

/** What every verb that talks to the broker takes. */
export interface BrokerFlags {
  readonly url?: string;
  readonly username?: string;
  readonly passwordFile?: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly topicRoot?: string;
  /** A fleet.yaml. */
  readonly nodes?: string;
}

/** What a verb does its work with. */
export interface FleetParts {
  readonly terminal: Terminal;
  readonly link: MqttLink;
  readonly random: Random;
  /** A connection that is open already, and follows state and report of all nodes; absent = a verb opens its own. */
  readonly followed?: Fleet;
}

export interface Fleet extends AsyncDisposable {
  readonly session: OperatorSession;
  readonly root: string;
  readonly file: FleetFile;
  /** State and report of all nodes arrive already. */
  readonly isFollowing?: boolean;
}

const FLEET_FILE = "fleet.yaml";
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_S = 60;
const FILE_FIELDS = ["passwordFile", "caFile", "certFile", "keyFile"];

/** Throws UsageError for what was written wrong, CliError for a broker that does not answer. */
export async function openFleet(parts: FleetParts, flags: BrokerFlags): Promise<Fleet> {
  const { terminal, link, random, followed } = parts;
  if (followed !== undefined) return partOf(followed);
  const named = flags.nodes ?? terminal.environment["AGENT_FLEET"];
  const found = named === undefined ? fileOfDirectory() : undefined;
  const path = named ?? found;
  const file = path === undefined ? NO_FLEET_FILE : readFleet(path);
  const config = mqttOf(file, writtenFlags(flags));
  if (!config.ok) throw invalidInput("the connection to the broker", config.errors);
  // The directory, not the person, has chosen the broker that gets passwords and documents.
  if (found !== undefined)
    terminal.err(`using ${printable(found)}: broker ${printable(config.value.url)}\n`);
  const connect = connectOptions(config.value, random);
  const session = await OperatorSession.open({ link, clock: terminal.clock, connect });
  const root = config.value.topicRoot;
  return { session, root, file, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
}

function partOf({ session: whole, root, file }: Fleet): Fleet {
  const session = whole.part();
  const end = (): Promise<void> => session[Symbol.asyncDispose]();
  return { session, root, file, isFollowing: true, [Symbol.asyncDispose]: end };
}

/** The fleet.yaml of the working directory. Throws UsageError if another user can change it. */
function fileOfDirectory(): string | undefined {
  const path = resolve(FLEET_FILE);
  if (!existsSync(path)) return undefined;
  const user = process.geteuid?.() ?? 0;
  const { uid: owner, mode } = statSync(path);
  const wrong =
    ownerProblem(path, { owner: lstatSync(path).uid, mode: 0 }, user) ??
    ownerProblem(path, { owner, mode }, user);
  if (wrong === undefined) return path;
  throw new UsageError(
    `${printable(path)} is not used: it ${wrong.what} and could name another broker; name it with --nodes if you trust it, or ${printable(wrong.remedy)}`,
  );
}

function readFleet(path: string): FleetFile {
  const [document] = documentsOf({ file: path, bytes: readNamedFile(path) }).documents;
  const read = readFleetFile(document?.value ?? {}, document);
  if (!read.ok) throw invalidInput(path, read.errors);
  const { mqtt, ...rest } = read.value;
  return { ...rest, mqtt: withPaths(mqtt, dirname(resolve(path))) };
}

function writtenFlags(flags: BrokerFlags): JsonObject {
  const { nodes: _, ...mqtt } = flags;
  const known = ["url", "username", "topicRoot", ...FILE_FIELDS];
  const given = Object.entries(mqtt).filter(
    ([key, value]) => known.includes(key) && value !== undefined,
  );
  return withPaths(Object.fromEntries(given), process.cwd());
}

/** Files are named from where they are written down. */
function withPaths(mqtt: JsonObject, directory: string): JsonObject {
  const entries = Object.entries(mqtt).map(([key, value]): [string, unknown] => {
    const isPath = FILE_FIELDS.includes(key) && typeof value === "string";
    return [key, isPath ? resolve(directory, value) : value];
  });
  return Object.fromEntries(entries);
}

/** A client id of its own: it takes over no session and leaves none behind. */
function connectOptions(config: MqttConfig, random: Random): ConnectOptions {
  const read = (path: string): string => new TextDecoder().decode(readNamedFile(path));
  return {
    url: config.url,
    clientId: `fleet-${random.hex(8)}`,
    clean: true,
    protocolVersion: config.protocolVersion,
    keepAliveSeconds: KEEP_ALIVE_S,
    sessionExpirySeconds: 0,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    ...credentials(config, read),
  };
}
