// Performs: joins a command in a container, or an attached container, to the standard streams of this process.

import {
  forward,
  openCommandStreams,
  statusOf,
  written,
} from "../../server/stream/command-channels.ts";
import type { SpdyConnection } from "../../server/stream/spdy/spdy-connection.ts";
import type { SpdyStream } from "../../server/stream/spdy/spdy-stream.ts";
import { CliError } from "../exit-codes.ts";
import type { Terminal } from "../process-io.ts";
import { commandEnd } from "./command-status.ts";
import {
  isInputTerminal,
  rawTerminal,
  standardInput,
  toErrors,
  toOutput,
  type TerminalSize,
} from "./raw-terminal.ts";

export interface SessionFlags {
  readonly namespace: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly container?: string;
  readonly quiet?: boolean;
}

export interface SessionStreams {
  readonly stdin: boolean;
  /** The process in the container has a terminal. */
  readonly tty: boolean;
  /** This process has one too. Default: as `tty`. */
  readonly isRaw?: boolean;
}

/** As in kubectl, a terminal needs input, and input that is one. */
export function sessionStreams(
  { stdin = false, tty = false, quiet = false }: Omit<SessionFlags, "namespace">,
  terminal: Pick<Terminal, "err">,
): SessionStreams {
  if (!stdin || !tty) return { stdin, tty: false };
  if (isInputTerminal()) return { stdin, tty };
  if (!quiet)
    terminal.err("Unable to use a TTY - input is not a terminal or the right kind of file\n");
  return { stdin, tty: false };
}

export function sessionQuery(
  { stdin, tty }: SessionStreams,
  container: string,
  command: readonly string[] = [],
): URLSearchParams {
  const query = new URLSearchParams({ container, stdout: "true", stderr: String(!tty) });
  if (stdin) query.set("stdin", "true");
  if (tty) query.set("tty", "true");
  for (const word of command) query.append("command", word);
  return query;
}

/** The exit code of the command. Throws CliError if it did not run, or its end is unknown. */
export async function runSession(
  connection: SpdyConnection,
  { stdin, tty, isRaw = tty }: SessionStreams,
  terminal: Pick<Terminal, "err">,
): Promise<number> {
  const wanted = { stdin, stdout: true, stderr: !tty, tty };
  const streams = await openCommandStreams(connection, wanted);
  const status = await withTerminal(isRaw, streams.resize, async () => {
    void pumpInput(streams.stdin);
    const [, , text] = await Promise.all([
      forward(streams.stdout, toOutput),
      forward(streams.stderr, toErrors),
      statusOf(streams.error),
    ]);
    return new TextDecoder().decode(text);
  });
  connection.destroy();
  const end = commandEnd(status);
  if (end.type === "Failed") throw new CliError(end.message);
  if (end.code !== 0) terminal.err(`command terminated with exit code ${end.code}\n`);
  return end.code;
}

async function pumpInput(stdin: SpdyStream | undefined): Promise<void> {
  if (stdin === undefined) return;
  await forward(standardInput(), (data) => written(stdin, data));
  stdin.end();
}

async function withTerminal<T>(
  isRaw: boolean,
  resize: SpdyStream | undefined,
  run: () => Promise<T>,
): Promise<T> {
  if (!isRaw) return run();
  using raw = rawTerminal();
  raw.onSize((size) => void resize?.write(sizeMessage(size)));
  return await run();
}

/** k8s: remotecommand.TerminalSize */
function sizeMessage({ columns, rows }: TerminalSize): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify({ Width: columns, Height: rows })}\n`);
}
