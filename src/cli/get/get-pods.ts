// Performs: `agent get pods`: what runs here and what was refused.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { PodView } from "../api-views.ts";
import { CliError } from "../cli-error.ts";
import type { LocalClient } from "../local-client.ts";
import { listOf, objectName, printObject, type OutputFormat } from "../output.ts";
import { concerns, readQuery, selectPods, type PodQuery } from "./pod-query.ts";
import { podHeader, podRow, rejectionLine } from "./pod-table.ts";
import { printable } from "../printable.ts";
import { columnWidths, formatRows } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { watchPods } from "./watch-pods.ts";

export interface GetPodsFlags {
  readonly output?: OutputFormat | undefined;
  readonly namespace?: string | undefined;
  readonly allNamespaces?: boolean | undefined;
  readonly watch?: boolean | undefined;
  readonly selector?: string | undefined;
}

export interface GetPodsOptions {
  readonly client: LocalClient;
  readonly terminal: Terminal;
  /** As written: `web` or `pod/web`. */
  readonly name: string | undefined;
  readonly flags: GetPodsFlags;
}

/** The exit code; throws CliError for a name that is not there or an agent that is not. */
export async function getPods(options: GetPodsOptions): Promise<0> {
  const { client, terminal, flags } = options;
  const query = readQuery(options.name, flags);
  if (flags.watch === true) {
    await watchPods({ client, terminal, query, output: flags.output });
    return 0;
  }
  const [all, rejected] = await Promise.all([client.pods(), client.rejected()]);
  const pods = selectPods(all, query);
  if (query.name !== undefined && pods.length === 0) throw notFound(query, rejected);
  await printPods(terminal, pods, { query, output: flags.output });
  if (flags.output !== undefined && flags.output !== "wide") return 0;
  if (pods.length === 0) terminal.err(nothingFound(query, all.length));
  terminal.err(rejectionLines(rejected, query));
  return 0;
}

interface Presentation {
  readonly query: PodQuery;
  readonly output: OutputFormat | undefined;
}

async function printPods(
  terminal: Terminal,
  pods: readonly PodView[],
  { query, output }: Presentation,
): Promise<void> {
  const [first] = pods;
  if (output === "json" || output === "yaml") {
    const whole = query.name !== undefined && first !== undefined ? first : listOf(pods);
    return printObject(terminal, whole, output);
  }
  if (output === "name") {
    return terminal.out(pods.map((pod) => `${printable(objectName(pod))}\n`).join(""));
  }
  if (pods.length === 0) return undefined;
  const columns = { wide: output === "wide", namespaces: query.namespace === undefined };
  const now = terminal.clock.now();
  const rows = [podHeader(columns), ...pods.map((pod) => podRow(pod, columns, now))];
  return terminal.out(formatRows(rows, columnWidths(rows)));
}

function nothingFound(query: PodQuery, others: number): string {
  if (query.namespace === undefined) return "No pods found.\n";
  const hint = others > 0 ? ` The node has ${others} more; -A shows all namespaces.` : "";
  return `No pods found in namespace ${printable(query.namespace)}.${hint}\n`;
}

/** Refused manifests, a line each; with a name only those that may be about it. */
function rejectionLines(rejected: readonly Rejection[], query: PodQuery): string {
  const about = rejected.filter((rejection) => concerns(rejection, query));
  return about.map((rejection) => `${rejectionLine(rejection)}\n`).join("");
}

function notFound(query: PodQuery, rejected: readonly Rejection[]): CliError {
  const lines = rejectionLines(rejected, query).trimEnd().replaceAll(/^/gm, "  ");
  const refused = lines.trim() === "" ? "" : `; these were refused and may be it:\n${lines}`;
  const name = printable(query.name ?? "");
  const namespace = printable(query.namespace ?? "");
  return new CliError(1, `pods "${name}" not found in namespace "${namespace}"${refused}`);
}
