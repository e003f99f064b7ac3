// Performs: `agent support-bundle`: gathers what a supporter needs, without secrets, and writes it as one archive.

import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { gzipSync } from "node:zlib";
import { aborted, deadline, rfc3339, type Clock } from "../../lib/clock.ts";
import { realFiles } from "../../host/real-files.ts";
import { messageOf } from "../../lib/errors.ts";
import type { VerbCall } from "../define-verb.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import { loadConfigOrDefaults } from "../load-config.ts";
import { LocalClient } from "../local-client.ts";
import type { Terminal } from "../process-io.ts";
import { printable } from "../terminal-text.ts";
import { AGENT_PARTS, LOG_PART } from "./agent-parts.ts";
import type { BundleContext, Part } from "./bundle-context.ts";
import {
  archiveOf,
  EMPTY,
  readme,
  withFile,
  withoutFile,
  type Bundle,
  type LeftOut,
  type ReadFile,
} from "./bundle.ts";
import { hungPaths, whyNot } from "./local-files.ts";
import { knownSecrets, type KnownSecrets } from "./known-secrets.ts";
import { DIRECTORIES, MACHINE_PARTS } from "./machine-parts.ts";
import { bundleRedactor } from "./redact-bundle.ts";

interface BundleFlags {
  readonly output?: string;
  readonly logs?: boolean;
  readonly tail?: number;
}

/** Of each part that names none; all parts run side by side. */
const PART_MS = 20_000;
/** Whether an agent answers at all. */
const AGENT_MS = 5_000;
const DEFAULT_TAIL = 500;
/** Only its owner may read what is left in it. */
const MODE = 0o600;
const README = "README.md";

/** The exit code. Throws UsageError, and CliError if the bundle cannot be written. */
export async function makeBundle(call: VerbCall): Promise<0> {
  const { terminal } = call;
  const { output, logs = false, tail } = call.flags<BundleFlags>();
  if (tail !== undefined && !logs) throw new UsageError("--tail is about logs: give --logs too");
  const time = rfc3339(terminal.clock.now());
  const title = `agent-support-${hostname()}-${time.replaceAll(/[-:]/g, "")}`;
  const path = output ?? `${title}.tar.gz`;
  if (path !== "-" && existsSync(path))
    throw new CliError(`${path} exists and is left as it is: name a new file with -o`);
  const context = await contextOf(call, logs ? (tail ?? DEFAULT_TAIL) : undefined);
  const bundle = await gather(context, terminal.clock);
  for (const { name, why } of bundle.leftOut)
    terminal.err(`left out: ${printable(name)}: ${printable(why.replaceAll(/\s+/g, " "))}\n`);
  const head = { title, version: call.version, time, withLogs: logs };
  const text = readme(bundle, head);
  const from = "this command";
  const whole = withFile(bundle, { name: README, from, content: { type: "Text", text } }, text);
  const bytes = gzipSync(archiveOf(whole, title, Math.floor(terminal.clock.now() / 1000)));
  await write(path, bytes, terminal);
  if (path !== "-")
    terminal.err(
      `written to ${printable(path)}: ${whole.files.length} files, ${bytes.length} bytes; look through it before you pass it on\n`,
    );
  return 0;
}

/** Without the threads that a file system which hangs may hold. */
async function write(path: string, bytes: Uint8Array, terminal: Terminal): Promise<void> {
  if (path === "-") {
    terminal.outBytes(bytes);
    return terminal.drained();
  }
  try {
    realFiles().writeAtomic(path, bytes, MODE);
  } catch (error) {
    throw new CliError(messageOf(error), error);
  }
}

async function contextOf(call: VerbCall, logLines: number | undefined): Promise<BundleContext> {
  const { clock, environment } = call.terminal;
  const named = call.flags();
  // config.json has the reason where it is not valid.
  const { config } = await loadConfigOrDefaults(named, environment);
  const socket = named.socket ?? environment["AGENT_SOCKET"] ?? config.socket;
  const hung = await hungPaths(
    [...new Set(DIRECTORIES.map((word) => config[word]))],
    call.terminal,
  );
  return { call, config, hung, logLines, client: new LocalClient({ socket, clock }) };
}

/** The parts side by side, then what they have read without secrets. */
async function gather(context: BundleContext, clock: Clock): Promise<Bundle> {
  const { client, logLines } = context;
  const why = await withoutAgent(client, clock);
  const parts = [...MACHINE_PARTS, ...AGENT_PARTS, ...(logLines === undefined ? [] : [LOG_PART])];
  const wanted = parts.filter(({ needsAgent }) => needsAgent !== true || why === undefined);
  const secrets = secretsOf(context, why === undefined);
  const read: PartOutcome[] = [];
  for (const isLast of [false, true]) {
    const now = wanted.filter((part) => (part.isLast === true) === isLast);
    read.push(...(await Promise.all(now.map(async (part) => readPart(part, context)))));
  }
  const { values, problems } = await secrets;
  const { text, json } = bundleRedactor(values);
  let bundle: Bundle = EMPTY;
  if (why !== undefined)
    bundle = withoutFile(bundle, { name: "everything that the agent answers", why });
  for (const problem of problems) bundle = withoutFile(bundle, { name: "values", why: problem });
  for (const { files, leftOut } of read) {
    for (const file of files) bundle = withFile(bundle, file, shown(file));
    for (const one of leftOut)
      bundle = withoutFile(bundle, { name: text(one.name), why: text(one.why) });
  }
  return bundle;

  function shown({ content }: ReadFile): string {
    switch (content.type) {
      case "Text":
        return text(content.text);
      case "Json":
        return `${JSON.stringify(json(content.value), null, 2)}\n`;
    }
  }
}

/** Why there is no agent to ask; undefined = it answers. */
async function withoutAgent(client: LocalClient, clock: Clock): Promise<string | undefined> {
  const quick = new LocalClient({ socket: client.socket, clock, timeoutMs: AGENT_MS });
  try {
    await quick.version();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

interface PartOutcome {
  readonly files: readonly ReadFile[];
  readonly leftOut: readonly LeftOut[];
}

/** What a part has read until its deadline. Never rejects. */
async function readPart(part: Part, context: BundleContext): Promise<PartOutcome> {
  const { name, limitMs = PART_MS } = part;
  const files: ReadFile[] = [];
  const leftOut: LeftOut[] = [];
  let isOver = false;
  const sink = {
    add: (file: ReadFile) => void (isOver || files.push(file)),
    leaveOut: (missing: string, why: string) =>
      void (isOver || leftOut.push({ name: missing, why })),
  };
  using limit = deadline(context.call.terminal.clock, limitMs);
  const late = aborted(limit.signal).then(() => `it took more than ${limitMs / 1000} s`);
  const done = part.read(context, sink, limit.signal).then(() => undefined, whyNot);
  const why = await Promise.race([done, late]);
  isOver = true;
  if (why !== undefined) leftOut.push({ name, why });
  return { files, leftOut };
}

async function secretsOf(context: BundleContext, hasAgent: boolean): Promise<KnownSecrets> {
  using limit = deadline(context.call.terminal.clock, PART_MS);
  return await knownSecrets(context, hasAgent, limit.signal);
}
