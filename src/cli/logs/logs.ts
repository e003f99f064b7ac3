// Performs: `agent logs`: what containers wrote, of one pod or of all with given labels, once or while they write.
// kubectl: logs

import { withoutUndefined } from "../../lib/json.ts";
import { chosenContainer, isPodView, type PodView } from "../stream/pod-target.ts";
import type { VerbCall } from "../define-verb.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import { barePodName } from "../pod-argument.ts";
import type { LocalClient } from "../local-client.ts";
import { restartsOf, type WritingPod } from "./log-end.ts";
import { LogPrinter } from "./log-printer.ts";
import type { Terminal } from "../process-io.ts";
import { printable, printableText } from "../terminal-text.ts";
import { StatusError } from "../write/status-text.ts";

interface LogsFlags {
  readonly namespace: string;
  readonly follow?: boolean;
  readonly container?: string;
  readonly allContainers?: boolean;
  readonly previous?: boolean;
  readonly tail?: number;
  readonly limitBytes?: number;
  readonly since?: number;
  readonly sinceTime?: string;
  readonly timestamps?: boolean;
  readonly prefix?: boolean;
  readonly selector?: string;
  readonly maxLogRequests: number;
  readonly ignoreErrors?: boolean;
}

/** kubectl: how many lines of each container without `--tail`, where a selector chooses the pods. */
const SELECTED_TAIL = 10;
const AGAIN_MS = 500;

/** One container of one pod. */
interface LogTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** The exit code. Throws UsageError, and CliError if there is no such pod, container or log. */
export async function logs(call: VerbCall): Promise<0> {
  const { args, terminal } = call;
  const flags = call.flags<LogsFlags>();
  const [written, second] = args;
  const container = flags.container ?? second;
  refuseWrongFlags(flags, written);
  const client = await call.connect();
  const pods = await podsOf(client, flags, written);
  const targets = pods.flatMap((pod) => targetsOf(pod, container, flags, terminal));
  if (flags.follow === true && targets.length > flags.maxLogRequests)
    throw new CliError(
      `you are attempting to follow ${targets.length} log streams, but the maximum is ${flags.maxLogRequests}: use --max-log-requests to raise it`,
    );
  const reader = new LogReader(client, terminal, flags);
  if (flags.follow !== true) {
    for (const target of targets) await reader.read(target);
    return 0;
  }
  await Promise.all(targets.map((target) => reader.follow(target)));
  return 0;
}

function refuseWrongFlags(flags: LogsFlags, name: string | undefined): void {
  const { selector, container, allContainers, since, sinceTime } = flags;
  if ((name === undefined) === (selector === undefined))
    throw new UsageError("name one pod, or select pods with -l: agent logs POD");
  if (allContainers === true && container !== undefined)
    throw new UsageError("--all-containers and --container exclude each other; give one of them");
  if (since !== undefined && sinceTime !== undefined)
    throw new UsageError("--since and --since-time exclude each other; give one of them");
}

async function podsOf(
  client: LocalClient,
  { namespace, selector }: LogsFlags,
  written: string | undefined,
): Promise<readonly PodView[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  if (written !== undefined)
    return [await client.object(`${path}/${encodeURIComponent(barePodName(written))}`, isPodView)];
  const found = await client.list(
    `${path}?labelSelector=${encodeURIComponent(selector ?? "")}`,
    isPodView,
  );
  if (found.length > 0) return found;
  throw new CliError(`no pods in namespace "${printable(namespace)}" have these labels`);
}

function targetsOf(
  pod: PodView,
  asked: string | undefined,
  { namespace, allContainers }: LogsFlags,
  terminal: Terminal,
): readonly LogTarget[] {
  const target = (container: string): LogTarget => {
    return { namespace, pod: pod.metadata.name, container };
  };
  const { containers, initContainers = [] } = pod.spec;
  if (allContainers === true)
    return [...initContainers, ...containers].map((one) => target(one.name));
  const { container, notice } = chosenContainer(pod, asked);
  terminal.err(printableText(notice));
  return [target(container.name)];
}

function isWritingPod(value: unknown): value is PodView & WritingPod {
  return isPodView(value);
}

class LogReader {
  readonly #client: LocalClient;
  readonly #terminal: Terminal;
  readonly #flags: LogsFlags;
  readonly #stop: AbortSignal;

  constructor(client: LocalClient, terminal: Terminal, flags: LogsFlags) {
    this.#client = client;
    this.#terminal = terminal;
    this.#flags = flags;
    this.#stop = terminal.interrupted();
  }

  async read(target: LogTarget): Promise<void> {
    try {
      await this.#copy(target, this.#query(this.#flags));
    } catch (error) {
      if (this.#stop.aborted) return;
      if (this.#flags.ignoreErrors !== true || !(error instanceof CliError)) throw error;
      this.#terminal.err(`error: ${printable(error.message)}\n`);
    }
  }

  /** Until Ctrl-C, or the container writes no more; its next instance follows the one before. */
  async follow(target: LogTarget): Promise<void> {
    let query = this.#query(this.#flags);
    let seen = await this.#restarts(target);
    while (!this.#stop.aborted) {
      await this.#copy(target, query);
      // Of what has ended the log is there all the same.
      const next = seen === undefined ? undefined : await this.#nextInstance(target, seen);
      if (next === undefined) return;
      seen = next;
      // Everything of the next instance is new.
      const { timestamps = false, limitBytes } = this.#flags;
      query = this.#query({ follow: true, timestamps, ...withoutUndefined({ limitBytes }) });
    }
  }

  async #nextInstance(target: LogTarget, seen: number): Promise<number | undefined> {
    while (!this.#stop.aborted) {
      const restarts = await this.#restarts(target);
      if (restarts === undefined || restarts > seen) return restarts;
      await this.#terminal.clock.sleep(AGAIN_MS, this.#stop);
    }
    return undefined;
  }

  /** How often the container was restarted; undefined = it writes no more, or its pod is gone. Throws CliError when the
   * agent, or the session with it, is gone: whether it writes more is not known. */
  async #restarts({ namespace, pod, container }: LogTarget): Promise<number | undefined> {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`;
    const found = await this.#client.object(path, isWritingPod).catch((error: unknown) => {
      if (error instanceof StatusError && error.reason === "NotFound") return undefined;
      throw error;
    });
    return found === undefined ? undefined : restartsOf(found, container);
  }

  async #copy({ namespace, pod, container }: LogTarget, query: URLSearchParams): Promise<void> {
    query.set("container", container);
    const place = `namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`;
    const printer = new LogPrinter(
      this.#terminal,
      this.#flags.prefix === true ? `[pod/${pod}/${container}] ` : "",
    );
    const take = (part: Uint8Array): Promise<void> => {
      printer.print(part);
      return this.#terminal.drained();
    };
    await this.#client.stream(`/api/v1/${place}/log?${query.toString()}`, take, {
      signal: this.#stop,
    });
    printer.end();
  }

  #query({
    follow,
    previous,
    tail,
    limitBytes,
    since,
    sinceTime,
    timestamps,
    selector,
  }: LineFlags): URLSearchParams {
    const query = new URLSearchParams();
    const lines = tail ?? (selector === undefined ? -1 : SELECTED_TAIL);
    if (follow === true) query.set("follow", "true");
    if (previous === true) query.set("previous", "true");
    if (timestamps === true) query.set("timestamps", "true");
    if (lines >= 0) query.set("tailLines", String(lines));
    if (limitBytes !== undefined) query.set("limitBytes", String(limitBytes));
    if (since !== undefined) query.set("sinceSeconds", String(Math.ceil(since / 1000)));
    if (sinceTime !== undefined) query.set("sinceTime", sinceTime);
    return query;
  }
}

/** Which lines of one instance. */
type LineFlags = Pick<
  LogsFlags,
  "follow" | "previous" | "tail" | "limitBytes" | "since" | "sinceTime" | "timestamps" | "selector"
>;
