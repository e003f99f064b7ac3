// Performs: `agent get configmaps|secrets|pvc`: the local objects that pods of this node may use.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { LocalObjectView } from "../api-views.ts";
import { CliError } from "../cli-error.ts";
import type { LocalClient } from "../local-client.ts";
import {
  concernsObjects,
  readObjectQuery,
  selectObjects,
  type ObjectQuery,
  type ObjectQueryFlags,
  type ObjectResource,
} from "./object-query.ts";
import { objectHeader, objectRow } from "./object-table.ts";
import { listOf, objectName, printObject, type OutputFormat } from "../output.ts";
import { rejectionLine } from "./pod-table.ts";
import { printable } from "../printable.ts";
import { columnWidths, formatRows } from "../table.ts";
import type { Terminal } from "../terminal.ts";

export interface GetObjectsFlags extends ObjectQueryFlags {
  readonly output?: OutputFormat | undefined;
  /** The content of Secrets as it is; without it `-o json|yaml` shows sizes. */
  readonly showSecrets?: boolean | undefined;
}

export interface GetObjectsOptions {
  readonly client: LocalClient;
  readonly terminal: Terminal;
  readonly resource: ObjectResource;
  /** As written: `web` or `cm/web`. */
  readonly name: string | undefined;
  readonly flags: GetObjectsFlags;
}

/** The exit code; throws CliError for a name that is not there or an agent that is not. */
export async function getObjects(options: GetObjectsOptions): Promise<0> {
  const { client, terminal, resource, flags } = options;
  const query = readObjectQuery(resource, options.name, flags);
  const showSecrets = flags.showSecrets === true;
  const [all, rejected] = await Promise.all([
    client.objects(resource, { namespace: query.namespace, showSecrets }),
    client.rejected(),
  ]);
  const objects = selectObjects(all, query);
  if (query.name !== undefined && objects.length === 0) throw notFound(query, rejected);
  await printObjects(terminal, objects, { query, output: flags.output });
  if (flags.output !== undefined && flags.output !== "wide") return 0;
  if (objects.length === 0) terminal.err(nothingFound(query));
  terminal.err(rejectionLines(rejected, query));
  return 0;
}

interface Presentation {
  readonly query: ObjectQuery;
  readonly output: OutputFormat | undefined;
}

async function printObjects(
  terminal: Terminal,
  objects: readonly LocalObjectView[],
  { query, output }: Presentation,
): Promise<void> {
  const [first] = objects;
  if (output === "json" || output === "yaml") {
    const whole = query.name !== undefined && first !== undefined ? first : listOf(objects);
    return printObject(terminal, whole, output);
  }
  if (output === "name")
    return terminal.out(objects.map((object) => `${printable(objectName(object))}\n`).join(""));
  if (objects.length === 0) return undefined;
  const columns = {
    resource: query.resource,
    wide: output === "wide",
    namespaces: query.namespace === undefined,
  };
  const rows = [objectHeader(columns), ...objects.map((object) => objectRow(object, columns))];
  return terminal.out(formatRows(rows, columnWidths(rows)));
}

function nothingFound({ resource, namespace }: ObjectQuery): string {
  const where = namespace === undefined ? "" : ` in namespace ${printable(namespace)}`;
  return `No ${resource} found${where}.\n`;
}

/** Refused objects of this kind, a line each, and whatever could not be read at all. */
function rejectionLines(rejected: readonly Rejection[], query: ObjectQuery): string {
  const about = rejected.filter((rejection) => concernsObjects(rejection, query));
  return about.map((rejection) => `${rejectionLine(rejection)}\n`).join("");
}

function notFound(query: ObjectQuery, rejected: readonly Rejection[]): CliError {
  const lines = rejectionLines(rejected, query).trimEnd().replaceAll(/^/gm, "  ");
  const refused = lines.trim() === "" ? "" : `; these were refused and may be it:\n${lines}`;
  const name = printable(query.name ?? "");
  const namespace = printable(query.namespace ?? "");
  return new CliError(
    1,
    `${query.resource} "${name}" not found in namespace "${namespace}"${refused}`,
  );
}
