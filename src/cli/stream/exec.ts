// Performs: `agent exec` runs a command in a container, and `agent attach` joins its main process, with kubectl's flags and
// manners.

import { UsageError } from "../exit-codes.ts";
import type { VerbCall } from "../define-verb.ts";
import { openStream } from "./agent-stream.ts";
import { runSession, sessionQuery, sessionStreams, type SessionFlags } from "./command-session.ts";
import { chosenContainer, isPodView, mustRun, podNameOf } from "./pod-target.ts";

/** The exit code of the command. Throws UsageError, and CliError if it does not run. */
export async function exec(call: VerbCall): Promise<number> {
  const { args, flags, terminal, connect } = call;
  const { namespace, container: wanted, ...io } = flags<SessionFlags>();
  const [written, ...command] = args;
  const pod = podNameOf(written, "agent exec POD -- COMMAND");
  if (command.length === 0)
    throw new UsageError("you must specify at least one command for the container");
  const client = await connect();
  const view = await client.pod({ namespace, name: pod }, isPodView);
  mustRun(view, "exec");
  const { container, notice } = chosenContainer(view, wanted);
  if (io.quiet !== true) terminal.err(notice);
  const streams = sessionStreams(io, terminal);
  const query = sessionQuery(streams, container.name, command);
  const stream = { namespace, pod, verb: "exec", query } as const;
  return runSession(await openStream(client, stream, terminal.clock), streams, terminal);
}

/** The exit code. Throws UsageError, and CliError if the container does not run. */
export async function attach(call: VerbCall): Promise<number> {
  const { args, flags, terminal, connect } = call;
  const { namespace, container: wanted, ...io } = flags<SessionFlags>();
  const pod = podNameOf(args[0], "agent attach POD");
  const client = await connect();
  const view = await client.pod({ namespace, name: pod }, isPodView);
  mustRun(view, "attach");
  const { container, notice } = chosenContainer(view, wanted);
  const quiet = io.quiet === true;
  if (!quiet) terminal.err(notice);
  const hasTty = container.tty === true;
  if (io.tty === true && !hasTty)
    terminal.err(`Unable to use a TTY - container ${container.name} did not allocate one\n`);
  const asked = sessionStreams({ ...io, tty: hasTty && io.stdin === true }, terminal);
  // What its process writes is the terminal's, also for a client that is none.
  const streams = { ...asked, tty: hasTty };
  const query = sessionQuery(streams, container.name);
  const stream = { namespace, pod, verb: "attach", query } as const;
  const connection = await openStream(client, stream, terminal.clock);
  if (asked.tty && !quiet) terminal.err("If you don't see a command prompt, try pressing enter.\n");
  const code = await runSession(connection, { ...streams, isRaw: asked.tty }, terminal);
  if (asked.tty && !quiet)
    terminal.err(
      `Session ended, resume using 'agent attach ${pod} -c ${container.name} -i -t' command when the pod is running\n`,
    );
  return code;
}
