// Performs: `agent self-update`: has the running agent update itself, and waits until the new version has proved itself or
// the old one runs again.

import { resolve } from "node:path";
import type { SelfUpdateView } from "../../self-update/self-update-view.ts";
import { isUrl } from "../../self-update/update-order.ts";
import { grouped } from "../../lib/short-text.ts";
import type { VerbCall } from "../define-verb.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import { printObject } from "../json-yaml-output.ts";
import type { LocalClient } from "../local-client.ts";
import type { Terminal } from "../process-io.ts";
import { printable } from "../terminal-text.ts";
import { ProgressLine } from "../terminal/progress-line.ts";

interface SelfUpdateFlags {
  readonly sha256?: string;
  readonly allowUnsigned?: boolean;
  readonly retry?: boolean;
  readonly status?: boolean;
  readonly back?: boolean;
  readonly output?: "json" | "yaml";
}

const POLL_MS = 500;
/** Longer than a trial: meanwhile the agent ends and starts. */
const SILENT_MS = 360_000;

/** The exit code. Throws CliError when the update fails, UsageError for flags that exclude each other. */
export async function selfUpdate({ args, flags, terminal, connect }: VerbCall): Promise<0> {
  const [source] = args;
  const { status = false, back = false, output, ...order } = flags<SelfUpdateFlags>();
  if ([source !== undefined, status, back].filter(Boolean).length !== 1)
    throw new UsageError("give one of a file or an address, --status, and --back");
  const client = await connect();
  if (status) {
    const view = await client.selfUpdate();
    if (output === undefined) printStatus(terminal, view);
    else await printObject(terminal, view, output);
    return 0;
  }
  const before = await client.selfUpdate();
  if (before.unsupported !== undefined) throw new CliError(printable(before.unsupported));
  await client.selfUpdate(source === undefined ? "?back" : queryOf(source, order));
  const after = await settled(client, terminal);
  if (!back && after.last?.result === "Failed") throw failed(after);
  terminal.out(`the agent runs version ${printable(after.version)}\n`);
  return 0;
}

function queryOf(
  source: string,
  { sha256, allowUnsigned = false, retry = false }: SelfUpdateFlags,
): string {
  const query = new URLSearchParams();
  query.set("source", isUrl(source) ? source : resolve(source));
  if (sha256 !== undefined) query.set("sha256", sha256.replace(/^sha256:/, "").toLowerCase());
  if (allowUnsigned) query.set("allowUnsigned", "");
  if (retry) query.set("retry", "");
  return `?${query.toString()}`;
}

/** An order is under way when it is answered: so the first agent that says `Idle` knows how it went. */
async function settled(client: LocalClient, terminal: Terminal): Promise<SelfUpdateView> {
  const { clock } = terminal;
  const signal = terminal.interrupted();
  using line = new ProgressLine(terminal);
  let heard = clock.monotonic();
  for (;;) {
    await clock.sleep(POLL_MS, signal);
    if (signal.aborted)
      throw new CliError("interrupted: the update goes on; see agent self-update --status");
    const view = await client.selfUpdate().catch(() => undefined);
    if (view !== undefined) heard = clock.monotonic();
    if (view?.phase === "Idle") return view;
    if (terminal.isErrTerminal)
      line.show(view === undefined ? "the agent starts again" : progress(view));
    if (clock.monotonic() - heard >= SILENT_MS)
      throw new CliError("the agent does not answer; see the log of its service");
  }
}

function failed({ version, last }: SelfUpdateView): CliError {
  return new CliError(
    `the agent was not updated, version ${printable(version)} runs: ${printable(last?.message ?? "")}`,
  );
}

function progress({ phase, update }: SelfUpdateView): string {
  const { version, bytes, size, waits } = update ?? {};
  const to = version === undefined ? "" : ` version ${printable(version)}`;
  const of = size === undefined ? "" : ` of ${grouped(size)}`;
  const amount = bytes === undefined ? "" : `, ${grouped(bytes)}${of} bytes`;
  return `${phase}${to}${amount}${waits === undefined ? "" : `: ${printable(waits)}`}`;
}

function printStatus(terminal: Terminal, view: SelfUpdateView): void {
  const { version, phase, previous, last, failed: failures, unsupported } = view;
  const lines = [`Version:   ${version}`];
  if (previous !== undefined) lines.push(`Previous:  ${previous}`);
  lines.push(`Update:    ${phase === "Idle" ? "none is under way" : progress(view)}`);
  if (last !== undefined) lines.push(`Last:      ${last.result}: ${last.message}`);
  for (const { name, reason } of failures) lines.push(`Failed:    ${name}: ${reason}`);
  if (unsupported !== undefined) lines.push(`Updates:   not possible: ${unsupported}`);
  terminal.out(lines.map((line) => `${printable(line)}\n`).join(""));
}
