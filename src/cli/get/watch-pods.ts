// Performs: `get pods -w`: prints a row whenever it has changed, until Ctrl-C.

import type { PodView } from "../api-views.ts";
import type { LocalClient } from "../local-client.ts";
import { objectName, printObject, type OutputFormat } from "../output.ts";
import { selectPods, type PodQuery } from "./pod-query.ts";
import {
  podHeader,
  podNamespace,
  podRow,
  rejectionLine,
  rowIdentity,
  type PodColumns,
} from "./pod-table.ts";
import { printable } from "../printable.ts";
import { columnWidths, formatRows, type Row } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { watchLoop } from "./watch-loop.ts";

export interface WatchOptions {
  readonly client: LocalClient;
  readonly terminal: Terminal;
  readonly query: PodQuery;
  readonly output: OutputFormat | undefined;
}

/** Returns at Ctrl-C; throws CliError when the agent cannot be reached at the start. Later it waits for it. */
export async function watchPods(options: WatchOptions): Promise<void> {
  const { client, terminal } = options;
  const watch = new PodWatch(options);
  let isFirst = true;
  await watchLoop(terminal, async (signal) => {
    await watch.show(await client.pods(signal));
    if (!isFirst) watch.showRejected((await client.rejected(signal)).map(rejectionLine));
    isFirst = false;
  });
}

/** What has been shown so far, so that only news is printed. */
class PodWatch {
  readonly #options: WatchOptions;
  readonly #columns: PodColumns;
  #shown = new Map<string, { readonly identity: string; readonly pod: PodView }>();
  #rejected = new Set<string>();
  #widths: number[] = [];

  constructor(options: WatchOptions) {
    this.#options = options;
    const namespaces = options.query.namespace === undefined;
    this.#columns = { wide: options.output === "wide", namespaces };
  }

  async show(all: readonly PodView[]): Promise<void> {
    const now = new Map<string, { readonly identity: string; readonly pod: PodView }>();
    const changed: PodView[] = [];
    for (const pod of selectPods(all, this.#options.query)) {
      const key = `${podNamespace(pod)}/${pod.metadata.name}`;
      const identity = rowIdentity(pod, this.#columns);
      now.set(key, { identity, pod });
      if (this.#shown.get(key)?.identity !== identity) changed.push(pod);
    }
    const gone = [...this.#shown].filter(([key]) => !now.has(key)).map(([, { pod }]) => pod);
    this.#shown = now;
    await this.#print(changed, gone);
  }

  showRejected(lines: readonly string[]): void {
    const news = lines.filter((line) => !this.#rejected.has(line));
    this.#rejected = new Set(lines);
    this.#options.terminal.err(news.map((line) => `${line}\n`).join(""));
  }

  async #print(changed: readonly PodView[], gone: readonly PodView[]): Promise<void> {
    const { output, terminal } = this.#options;
    if (output === "json" || output === "yaml") {
      for (const pod of changed) {
        if (output === "yaml") terminal.out("---\n");
        await printObject(terminal, pod, output);
      }
      return;
    }
    if (output === "name") {
      terminal.out(changed.map((pod) => `${printable(objectName(pod))}\n`).join(""));
      return;
    }
    this.#printRows([
      ...changed.map((pod) => podRow(pod, this.#columns, terminal.clock.now())),
      ...gone.map((pod) => this.#goneRow(pod)),
    ]);
  }

  #goneRow(pod: PodView): Row {
    const row = podRow(pod, this.#columns, this.#options.terminal.clock.now());
    const status = podHeader(this.#columns).indexOf("STATUS");
    return row.map((cell, column) => (column === status ? "Gone" : cell));
  }

  /** The header stands above the first rows, whenever they come. */
  #printRows(rows: readonly Row[]): void {
    if (rows.length === 0) return;
    const first = this.#widths.length === 0;
    const all = first ? [podHeader(this.#columns), ...rows] : rows;
    this.#widths = columnWidths(all, this.#widths);
    this.#options.terminal.out(formatRows(all, this.#widths));
  }
}
