// Performs: `agent cp`: copies files and directories to and from a container, by the tar that the container has. kubectl: cp

import { forward, openCommandStreams, statusOf } from "../../server/stream/command-channels.ts";
import type { SpdyStream } from "../../server/stream/spdy/spdy-stream.ts";
import { mebibytes } from "../../image/pull-progress.ts";
import type { Clock } from "../../lib/clock.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import type { VerbCall } from "../define-verb.ts";
import type { LocalClient } from "../local-client.ts";
import { withProgress } from "../terminal/progress-line.ts";
import { printable, printableText } from "../terminal-text.ts";
import { openStream } from "./agent-stream.ts";
import { sessionQuery } from "./command-session.ts";
import { commandEnd } from "./command-status.ts";
import { baseName, cleanPath, copyPlace, directoryName } from "./copy-places.ts";
import { archiveOf, mustExist } from "./local-archive.ts";
import { LocalExtract } from "./local-extract.ts";
import { chosenContainer, isPodView, mustRun } from "./pod-target.ts";

interface CopyFlags {
  readonly namespace: string;
  readonly container?: string;
  /** commander: `--no-preserve` makes this false. */
  readonly preserve?: boolean;
}

interface Remote {
  readonly client: LocalClient;
  readonly clock: Clock;
  /** Standard error. */
  readonly err: (text: string) => void;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

const USAGE = "agent cp SOURCE DESTINATION, one of them as POD:PATH";

/** Throws UsageError, and CliError if something was not copied. */
export async function cp(call: VerbCall): Promise<0> {
  const { args, flags, terminal, connect } = call;
  const { namespace, container: wanted, preserve = true } = flags<CopyFlags>();
  const [from, to] = args.map(copyPlace);
  if (from === undefined || to === undefined) throw new UsageError(`name two places: ${USAGE}`);
  if (from.path === "" || to.path === "") throw new UsageError("filepath can not be empty");
  const place = from.pod ?? to.pod;
  if (place === undefined || (from.pod !== undefined && to.pod !== undefined))
    throw new UsageError(`one of src or dest must be a local file specification: ${USAGE}`);
  if (to.pod !== undefined) await mustExist(from.path);
  const client = await connect();
  const named = { namespace: place.namespace ?? namespace, name: place.name };
  const view = await client.pod(named, isPodView);
  mustRun(view, "exec");
  const { container, notice } = chosenContainer(view, wanted);
  terminal.err(notice);
  const where = { namespace: named.namespace, pod: named.name, container: container.name };
  const count: ByteCount = { bytes: 0 };
  const text = (seconds: number): string =>
    `copying ${from.path}: ${mebibytes(count.bytes)} (${seconds} s)`;
  await withProgress(terminal, text, (clear) => {
    const err = (shown: string): void => {
      clear();
      terminal.err(shown);
    };
    const remote = { ...where, client, clock: terminal.clock, err };
    return to.pod === undefined
      ? download(remote, { from: from.path, to: to.path, count })
      : upload(remote, { from: from.path, to: to.path, preserve, count });
  });
  return 0;
}

/** Of the archive that is on its way. */
interface ByteCount {
  bytes: number;
}

interface Copy {
  readonly from: string;
  readonly to: string;
  readonly count: ByteCount;
}

async function upload(
  remote: Remote,
  { from, to, preserve, count }: Copy & { readonly preserve: boolean },
): Promise<void> {
  // Into a directory under its own name, else as the name that is given.
  const isDirectory = await succeeds(remote, ["test", "-d", to]);
  const path = cleanPath(isDirectory ? `${to}/${baseName(from)}` : to);
  const keep = preserve ? [] : ["--no-same-permissions", "--no-same-owner"];
  const command = ["tar", ...keep, "-xmf", "-", "-C", directoryName(path)];
  const warn = (line: string): void => remote.err(`${printable(line)}\n`);
  await runRemote(remote, command, {
    input: counted(archiveOf(from, baseName(path), warn), count),
    output: () => Promise.resolve(),
  });
}

async function* counted(
  data: AsyncIterable<Uint8Array>,
  count: ByteCount,
): AsyncGenerator<Uint8Array> {
  for await (const part of data) {
    count.bytes += part.length;
    yield part;
  }
}

async function download(remote: Remote, { from, to, count }: Copy): Promise<void> {
  const warn = (line: string): void => remote.err(`${printable(line)}\n`);
  const extract = await LocalExtract.open({ source: from, destination: to, warn });
  await runRemote(remote, ["tar", "cf", "-", from], {
    input: undefined,
    output: (data) => {
      count.bytes += data.length;
      return extract.push(data);
    },
  });
  await extract.finish();
}

async function succeeds(remote: Remote, command: readonly string[]): Promise<boolean> {
  const end = await remoteCommand(remote, command, {
    input: undefined,
    output: () => Promise.resolve(),
    errors: () => Promise.resolve(),
  });
  return end.type === "Exited" && end.code === 0;
}

interface RemoteIO {
  readonly input: AsyncIterable<Uint8Array> | undefined;
  readonly output: (data: Uint8Array) => Promise<void>;
}

/** Rejects with CliError unless the command succeeds. */
async function runRemote(
  remote: Remote,
  command: readonly string[],
  { input, output }: RemoteIO,
): Promise<void> {
  const decoder = new TextDecoder();
  const errors = (data: Uint8Array): Promise<void> => {
    remote.err(printableText(decoder.decode(data, { stream: true })));
    return Promise.resolve();
  };
  const end = await remoteCommand(remote, command, { input, output, errors });
  if (end.type === "Failed") throw new CliError(end.message);
  if (end.code !== 0) throw new CliError(`command terminated with exit code ${end.code}`);
}

async function remoteCommand(
  { client, clock, namespace, pod, container }: Remote,
  command: readonly string[],
  io: RemoteIO & { readonly errors: (data: Uint8Array) => Promise<void> },
) {
  const streams = { stdin: io.input !== undefined, tty: false };
  const query = sessionQuery(streams, container, command);
  const stream = { namespace, pod, verb: "exec", query } as const;
  const connection = await openStream(client, stream, clock);
  using _connection = { [Symbol.dispose]: () => connection.destroy() };
  const wanted = { ...streams, stdout: true, stderr: true };
  const opened = await openCommandStreams(connection, wanted);
  const [, , , status] = await Promise.all([
    sendAll(opened.stdin, io.input),
    receiveAll(opened.stdout, io.output),
    receiveAll(opened.stderr, io.errors),
    statusOf(opened.error),
  ]);
  return commandEnd(new TextDecoder().decode(status));
}

async function sendAll(
  stdin: SpdyStream | undefined,
  input: AsyncIterable<Uint8Array> | undefined,
): Promise<void> {
  if (stdin === undefined || input === undefined) return;
  for await (const data of input) {
    // The command has ended before its input: its exit code and errors show why.
    if (!stdin.writable) break;
    await new Promise<void>((resolve) => void stdin.write(data, () => resolve()));
  }
  stdin.end();
}

/** Rejects as `take` does, at once: then the command is of no use any more. */
async function receiveAll(
  stream: SpdyStream | undefined,
  take: (data: Uint8Array) => Promise<void>,
): Promise<void> {
  const failure = Promise.withResolvers<never>();
  const all = forward(stream, (data) =>
    take(data).catch((error: unknown) => failure.reject(error)),
  );
  await Promise.race([all, failure.promise]);
}
