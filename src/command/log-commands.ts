// Performs: the command `logs`: the last lines, or a lease that publishes new lines as they are written.

import { selectedContainer } from "../api/pod/selected-container.ts";
import { containerLogPath, podLogDirectory } from "../api/pod/log-paths.ts";
import { type ObservedPod, newestContainer } from "../api/pod/observed-pod.ts";
import { allContainers, type Pod, type PodUID } from "../api/v1/pod.ts";
import type { Files } from "../host/files.ts";
import type { Clock } from "../lib/clock.ts";
import { outOfReach, running, type CommandOrder, type Runs } from "./run-verb.ts";
import { linesOfSecrets, redactor } from "../node/redact.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { failure, refusedArgs, type CommandOutcome } from "./response.ts";
import {
  logLine,
  MAX_LEASE_BYTES,
  MAX_LEASE_SECONDS,
  METERED_LEASE_BYTES,
  runLogLease,
  MAX_LEASES,
} from "./log-lease.ts";
import { VERBS, type ArgumentsOf } from "./verbs.ts";
import { unknownPod } from "./read-commands.ts";
import { tailOfLog } from "../runtime/logs/log-files.ts";
import { LogFollower } from "./log-follower.ts";

export interface LogCommandsOptions {
  readonly clock: Clock;
  readonly files: Pick<Files, "info" | "list" | "tail" | "readFrom">;
  readonly podLogsDir: string;
  readonly metered: () => boolean;
  readonly podOf: (namespace: string, name: string) => DesiredPod | undefined;
  readonly observed: (uid: PodUID) => ObservedPod | undefined;
  /** Values of Secrets that must not leave the node. */
  readonly secrets: () => ReadonlySet<string>;
  /** QoS 0 to the container's log topic; never throws. */
  readonly publish: (container: LogOf, payload: Uint8Array) => void;
  /** Aborts with `Disconnected` when the present session ends; undefined = there is none. */
  readonly session: () => AbortSignal | undefined;
}

export interface LogOf {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

type LogsArguments = ArgumentsOf<"logs">;

const TAIL_BYTES = 512 * 1024;
export class LogCommands {
  readonly #options: LogCommandsOptions;
  /** By container. */
  readonly #leases = new Map<string, AbortController>();

  constructor(options: LogCommandsOptions) {
    this.#options = options;
  }

  get runs(): Pick<Runs, "logs"> {
    return { logs: running(VERBS.logs, (args, order) => this.#logs(args, order)) };
  }

  async #logs(args: LogsArguments, order: CommandOrder): Promise<CommandOutcome> {
    const { namespace, pod: name } = args;
    const desired = this.#options.podOf(namespace, name);
    if (desired === undefined) return unknownPod(namespace, name);
    const forbidden = outOfReach(order, desired);
    if (forbidden !== undefined) return forbidden;
    const { pod } = desired;
    const container = containerOf(pod, args.container);
    if (typeof container !== "string") return container;
    const of = { namespace, pod: name, container };
    if (args.follow) return this.#follow(order, { of, pod }, args);
    return this.#tail(of, pod, args);
  }

  #tail(
    { container }: LogOf,
    pod: Pod,
    { previous, tail }: Pick<LogsArguments, "previous" | "tail">,
  ): CommandOutcome {
    const { files } = this.#options;
    const metered = this.#options.metered();
    const path = this.#path(pod, container, previous ? 1 : 0);
    const most = metered ? METERED_LEASE_BYTES : TAIL_BYTES;
    const bytes = path === undefined ? undefined : tailOfLog(files, path, most);
    if (bytes === undefined) {
      const which = previous ? "no previous instance's log" : "no log yet";
      return failure(404, "NotFound", `container ${container} has ${which}`);
    }
    const lines = new TextDecoder()
      .decode(bytes)
      .split("\n")
      .filter((line) => line !== "");
    const items = tail === 0 ? [] : this.#redacted(lines.slice(-tail)).map(logLine);
    return { code: 200, data: { container }, list: { name: "lines", items } };
  }

  async #follow(
    { command, signal, progress, release }: CommandOrder,
    { of, pod }: { readonly of: LogOf; readonly pod: Pod },
    asked: Pick<LogsArguments, "seconds" | "bytes">,
  ): Promise<CommandOutcome> {
    const { clock, files, publish, session } = this.#options;
    const metered = this.#options.metered();
    const connected = session();
    if (connected === undefined || connected.aborted)
      return failure(
        503,
        "Disconnected",
        "the connection is over, and log lines are not kept for the next one; try again",
      );
    const key = `${of.namespace}/${of.pod}/${of.container}`;
    if (!this.#leases.has(key) && this.#leases.size >= MAX_LEASES)
      return failure(
        429,
        "TooManyRequests",
        `${MAX_LEASES} logs are followed already; try again when one of them has ended`,
      );
    this.#leases.get(key)?.abort("Replaced");
    const own = new AbortController();
    this.#leases.set(key, own);
    const seconds = Math.min(asked.seconds ?? MAX_LEASE_SECONDS, MAX_LEASE_SECONDS);
    const most = metered ? METERED_LEASE_BYTES : MAX_LEASE_BYTES;
    const bytes = Math.min(asked.bytes ?? most, most);
    const path = (): string | undefined => this.#path(pod, of.container, 0);
    const follower = new LogFollower({ files, path });
    progress({ container: of.container, seconds, bytes });
    release();
    try {
      const end = await runLogLease({
        clock,
        id: command.id,
        seconds,
        bytes,
        read: () => follower.read(),
        redacted: (lines) => this.#redacted(lines),
        publish: (payload) => publish(of, payload),
        signal: AbortSignal.any([own.signal, connected, signal]),
      });
      return { code: 200, data: { ...end } };
    } finally {
      if (this.#leases.get(key) === own) this.#leases.delete(key);
    }
  }

  #redacted(lines: readonly string[]): readonly string[] {
    if (lines.length === 0) return lines;
    const hide = redactor(linesOfSecrets(this.#options.secrets()));
    // Each of many Secrets is looked for once, not once in each of many lines.
    return hide(lines.join("\n")).split("\n");
  }

  /** Log of the instance `back` before the newest; undefined = there is none. */
  #path({ metadata }: Pod, container: string, back: number): string | undefined {
    const { observed, podLogsDir } = this.#options;
    const newest = newestContainer(observed(metadata.uid), container);
    if (newest === undefined || newest.attempt < back) return undefined;
    const file = containerLogPath(container, newest.attempt - back);
    return `${podLogDirectory(podLogsDir, metadata)}/${file}`;
  }
}

function containerOf(pod: Pod, asked: string | undefined): string | CommandOutcome {
  const container = selectedContainer(pod, asked);
  if (container !== undefined) return container.name;
  const names = allContainers(pod.spec).map(({ name }) => name);
  return refusedArgs("args.container", `must be one of ${names.join(", ")}`);
}
