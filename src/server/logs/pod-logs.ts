// Performs: `pods/<name>/log`: what a container wrote, from a place on, also while it writes. kubelet: GetContainerLogs

import { containerLogPath, podLogDirectory } from "../../api/pod/log-paths.ts";
import { allStatuses } from "../../api/v1/pod-status.ts";
import { podName } from "../../api/v1/pod.ts";
import type { Clock } from "../../lib/clock.ts";
import type { PodEntry } from "../../node/pod-list.ts";
import { LogCursor, type LogCursorFiles } from "../../runtime/logs/log-cursor.ts";
import type { Reply, Sink, StreamedAnswer } from "../http/exchange.ts";
import { notFound, refusal } from "../kube/kube-status.ts";
import { chooseInstance, type LogInstance } from "./choose-instance.ts";
import { readLogOptions, type LogOptions } from "./log-options.ts";
import { logStart } from "./log-start.ts";
import { LogText } from "./log-text.ts";

export interface PodLogsOptions {
  readonly clock: Clock;
  readonly files: LogCursorFiles;
  readonly podLogsDir: string;
  readonly pods: () => readonly PodEntry[];
}

/** The memory of one client; between two parts other work has its turn. */
const PART_BYTES = 256 * 1024;
/** How soon a new line is seen. */
const POLL_MS = 100;
/** An idle log is looked at less and less often. */
const MAX_POLL_MS = 1000;

export class PodLogs {
  readonly #options: PodLogsOptions;

  constructor(options: PodLogsOptions) {
    this.#options = options;
  }

  reply(query: URLSearchParams, namespace: string, name: string): Reply {
    const { clock, files } = this.#options;
    const options = readLogOptions(query, clock.now());
    if (!options.ok) return refusal(400, options.errors.map(({ message }) => message).join("; "));
    const entry = this.#find(namespace, name);
    if (entry === undefined) return notFound("pods", name);
    const instance = chooseInstance(entry, options.value);
    if ("status" in instance) return instance;
    const path = this.#path(entry, instance);
    const at = logStart(files, path, options.value.tailLines);
    if (at === undefined && !options.value.isFollowing)
      return refusal(404, `the log of container "${instance.container}" in pod "${name}" is gone`);
    const cursor = new LogCursor({ files, path, at, maxBytes: PART_BYTES, isSkipping: false });
    return this.#stream(cursor, options.value, () => this.#isRunning(entry, instance));
  }

  #find(namespace: string, name: string): PodEntry | undefined {
    return this.#options.pods().find(({ pod }) => podName(pod) === `${namespace}/${name}`);
  }

  #path({ pod }: PodEntry, { container, attempt }: LogInstance): string {
    const directory = podLogDirectory(this.#options.podLogsDir, pod.metadata);
    return `${directory}/${containerLogPath(container, attempt)}`;
  }

  /** The same instance, in the same life of the pod. */
  #isRunning({ pod }: PodEntry, { container, attempt }: LogInstance): boolean {
    const { namespace, name, uid } = pod.metadata;
    const now = this.#find(namespace, name);
    if (now === undefined || now.pod.metadata.uid !== uid) return false;
    const status = allStatuses(now.status).find((one) => one.name === container);
    return status?.restartCount === attempt && status.state.running !== undefined;
  }

  #stream(cursor: LogCursor, options: LogOptions, isRunning: () => boolean): StreamedAnswer {
    const { clock } = this.#options;
    const text = new LogText(options);
    return {
      status: 200,
      contentType: "text/plain; charset=utf-8",
      write: async (sink, signal) => {
        let wait = POLL_MS;
        while (!signal.aborted && !text.isFull) {
          const isOver = !options.isFollowing || !isRunning();
          const has = await sendAll(cursor, { text, sink, signal, isOver, clock });
          if (isOver) return;
          wait = has ? POLL_MS : Math.min(wait * 2, MAX_POLL_MS);
          await clock.sleep(wait, signal);
        }
      },
    };
  }
}

interface Sending {
  readonly text: LogText;
  readonly sink: Sink;
  readonly signal: AbortSignal;
  readonly isOver: boolean;
  readonly clock: Clock;
}

/** Everything that is there; resolves to whether there was something. */
async function sendAll(
  cursor: LogCursor,
  { text, sink, signal, isOver, clock }: Sending,
): Promise<boolean> {
  let has = false;
  while (!signal.aborted && !text.isFull) {
    const { bytes } = cursor.read(isOver);
    if (bytes.length === 0) return has;
    has = true;
    await sink.write(text.take(bytes));
    await clock.sleep(0, signal);
  }
  return has;
}
