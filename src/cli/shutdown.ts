// Performs: `agent shutdown`: has the agent stop all pods before the machine goes off, and waits until they are gone.

import { formatDuration } from "../api/resource/duration.ts";
import type { ShutdownView } from "../node/shutdown/node-shutdown.ts";
import { CliError, UsageError } from "./exit-codes.ts";
import { ProgressLine } from "./terminal/progress-line.ts";
import { printable } from "./terminal-text.ts";
import type { VerbCall } from "./define-verb.ts";

const POLL_MS = 500;
/** Beyond the pods' grace periods, for what the runtime still has to do. */
const SPARE_MS = 30_000;
const NAMED = 5;

interface ShutdownFlags {
  readonly timeout?: number;
  readonly cancel?: boolean;
}

/** The exit code. Throws CliError when pods are left after the time, UsageError for flags that exclude each other. */
export async function shutDown({ flags, terminal, connect }: VerbCall): Promise<0> {
  const { timeout, cancel = false } = flags<ShutdownFlags>();
  if (cancel && timeout !== undefined)
    throw new UsageError("--cancel and --timeout cannot be specified together");
  const client = await connect();
  if (cancel) {
    await client.cancelShutdown();
    terminal.out("the shutdown is cancelled: pods start again\n");
    return 0;
  }
  const { clock } = terminal;
  let view = await client.beginShutdown();
  const limit = timeout ?? view.seconds * 1000 + SPARE_MS;
  const start = clock.monotonic();
  const until = start + limit;
  const signal = terminal.interrupted();
  let shown = "";
  using line = new ProgressLine(terminal);
  // A line that is written again, or one for each change where it would be kept.
  const isLine = terminal.isTerminal && terminal.isErrTerminal;
  for (;;) {
    if (!view.active) throw new CliError("the shutdown was cancelled: pods start again");
    if (view.known && view.pods.length === 0) break;
    const text = progress(view);
    if (isLine) line.show(`${text} (${Math.round((clock.monotonic() - start) / 1000)} s)`);
    else if (text !== shown) terminal.out(`${text}\n`);
    shown = text;
    if (signal.aborted || clock.monotonic() >= until) throw unfinished(view, limit, signal.aborted);
    await clock.sleep(POLL_MS, signal);
    view = await client.shutdown();
  }
  line.clear();
  terminal.out(
    "all pods are stopped; none starts until the next boot, or agent shutdown --cancel\n",
  );
  return 0;
}

function progress({ pods, known }: ShutdownView): string {
  if (!known) return "waiting for the container runtime";
  return `stopping ${pods.length} ${pods.length === 1 ? "pod" : "pods"}: ${names(pods)}`;
}

function names(pods: readonly string[]): string {
  const more = pods.length > NAMED ? [`${pods.length - NAMED} more`] : [];
  return [...pods.slice(0, NAMED).map(printable), ...more].join(", ");
}

function unfinished(
  { pods, known }: ShutdownView,
  limit: number,
  isInterrupted: boolean,
): CliError {
  const when = isInterrupted ? "interrupted:" : `after ${formatDuration(limit)}`;
  if (!known)
    return new CliError(
      `${when} the agent still waits for the container runtime, so pods may run; see agent get node`,
    );
  return new CliError(
    `${when} these pods still stop: ${names(pods)}; they go on stopping, agent shutdown waits again`,
  );
}
