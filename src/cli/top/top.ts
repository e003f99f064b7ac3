// Performs: `agent top pod|node`: what pods, or the node, use of processor and memory. kubectl: top

import { isListOf } from "../../node/api-views.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import type { VerbCall } from "../define-verb.ts";
import { CliError } from "../exit-codes.ts";
import type { LocalClient } from "../local-client.ts";
import { barePodName } from "../pod-argument.ts";
import { tableText } from "../terminal-text.ts";
import { nodeRows, podRows, type TopOptions } from "./top-rows.ts";

const METRICS = "/apis/metrics.k8s.io/v1beta1";

interface TopFlags extends TopOptions {
  readonly namespace: string;
  readonly selector?: string;
  /** false = `--no-headers`. */
  readonly headers?: boolean;
}

/** The exit code. Throws CliError for a pod without statistics. */
export async function topPod({ args, flags, terminal, connect }: VerbCall): Promise<0> {
  const asked = flags<TopFlags>();
  const { namespace, allNamespaces = false, selector } = asked;
  const name = barePodName(args[0] ?? "");
  const client = await connect();
  const within = allNamespaces ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  const query = selector === undefined ? "" : `?labelSelector=${encodeURIComponent(selector)}`;
  const all = await items(client, `${METRICS}${within}/pods${query}`);
  const [titles = [], ...rows] = podRows(all, name, asked);
  if (rows.length === 0 && name !== "")
    throw new CliError(
      `there are no statistics of pod ${namespace}/${name}; see whether it runs with agent get pod ${name}`,
    );
  if (rows.length === 0) terminal.err("No resources found\n");
  else terminal.out(tableText(titles, rows, tableOptions(terminal, asked)));
  return 0;
}

/** The exit code. */
export async function topNode({ flags, terminal, connect }: VerbCall): Promise<0> {
  const client = await connect();
  const [metrics, nodes] = await Promise.all([
    items(client, `${METRICS}/nodes`),
    items(client, "/api/v1/nodes"),
  ]);
  const [titles = [], ...rows] = nodeRows(metrics, nodes);
  terminal.out(tableText(titles, rows, tableOptions(terminal, flags<TopFlags>())));
  return 0;
}

function tableOptions({ palette }: VerbCall["terminal"], { headers }: Pick<TopFlags, "headers">) {
  return { palette, isHeadless: headers === false };
}

async function items(client: LocalClient, path: string): Promise<readonly JsonObject[]> {
  return (await client.object(path, isListOf(isJsonObject))).items;
}
