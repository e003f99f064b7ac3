// Performs: `agent get`: any resource as a table, as names, as JSON or YAML; once, or with `-w` until Ctrl-C.

import { isWarning, type Rejection } from "../../api/pod/desired-pod.ts";
import { messageOf } from "../../lib/errors.ts";
import type { ObjectView } from "../api-views.ts";
import { CliError } from "../exit-codes.ts";
import type { LocalClient } from "../local-client.ts";
import { listOf, objectName, printDocument, printObject } from "../json-yaml-output.ts";
import { GrowingTable, errorLine, printable, type Row } from "../terminal-text.ts";
import type { Terminal } from "../process-io.ts";
import type { VerbCall } from "../define-verb.ts";
import { readQuery, selectObjects, selectRefusals, type GetFlags } from "./select-objects.ts";
import {
  headerOf,
  inNamespace,
  namespaceOf,
  rowOf,
  type OutputFormat,
  type Query,
  type Resource,
  type ResourceView,
} from "./resource-type.ts";

/** Everything about one call of `agent get`. */
interface GetCall {
  readonly resource: Resource;
  readonly query: Query;
  readonly output: OutputFormat | undefined;
  readonly client: LocalClient;
  readonly terminal: Terminal;
}

/** The exit code. Throws CliError if there is no object of that name, or the agent cannot be reached. */
export async function get(resource: Resource, verb: VerbCall): Promise<0> {
  const { args, terminal } = verb;
  const { output, watch: isWatch, ...flags } = verb.flags<GetFlags>();
  const client = await verb.connect();
  const query = readQuery(resource, args[0], flags);
  const call: GetCall = { resource, query, output, client, terminal };
  if (isWatch === true) await watch(call);
  else await getOnce(call);
  return 0;
}

async function getOnce(call: GetCall): Promise<void> {
  const { resource, query, output, terminal } = call;
  const [all, refusals] = await Promise.all([list(call), listRefusals(call)]);
  const objects = selectObjects(resource, all, query);
  if (query.name !== undefined && objects.length === 0) throw notFound(call, refusals);
  await new Printer(call).printAll(objects);
  if (output !== undefined && output !== "wide") return;
  if (objects.length === 0) terminal.err(`${nothingFound(call, all.length)}\n`);
  terminal.err(refusals.map((line) => `${line}\n`).join(""));
}

async function list(
  { resource, query, client }: GetCall,
  signal?: AbortSignal,
): Promise<readonly ObjectView[]> {
  const path = resource.path(query);
  if (resource.isSingle === true) return [await client.read(path, resource.isObject, signal)];
  return client.list(path, resource.isObject, signal);
}

/** The refusals that concern the query, a line each. */
async function listRefusals(
  { resource, query, client }: GetCall,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  if (resource.refusals === "None") return [];
  return selectRefusals(resource, await client.rejected(signal), query).map(refusalLine);
}

/** `file:line: field: message`; of what is no mistake `file:line: warning: field: message`. */
export function refusalLine({ ref, line, code, path, message }: Rejection): string {
  return errorLine({ file: ref, line, path, message }, isWarning({ code }) ? "warning: " : "");
}

function nothingFound({ resource, query }: GetCall, total: number): string {
  return resource.nothingFound?.(query, total) ?? `No ${resource.name} found${inNamespace(query)}.`;
}

function notFound({ resource, query }: GetCall, refusals: readonly string[]): CliError {
  const lines = refusals.map((line) => `\n  ${line}`).join("");
  const refused = lines === "" ? "" : `; these were refused and may be it:${lines}`;
  const name = printable(query.name ?? "");
  const namespace = printable(query.namespace ?? "");
  return new CliError(`${resource.name} "${name}" not found in namespace "${namespace}"${refused}`);
}

/** Prints objects in the format asked for. */
class Printer {
  readonly #call: GetCall;
  readonly #table: GrowingTable;

  constructor(call: GetCall) {
    this.#call = call;
    this.#table = new GrowingTable(headerOf(call.resource, this.#view()));
  }

  /** One document: the object that was named, or the list. */
  async printAll(objects: readonly ObjectView[]): Promise<void> {
    const { resource, query, output, terminal } = this.#call;
    if (output !== "json" && output !== "yaml") return this.#printLines(objects, []);
    const [first] = objects;
    const isOne = query.name !== undefined || resource.isSingle === true;
    const whole = isOne && first !== undefined ? first : listOf(objects);
    return printObject(terminal, whole, output);
  }

  /** One document per changed object; what is gone appears in tables only. */
  async printChanges(changed: readonly ObjectView[], gone: readonly ObjectView[]): Promise<void> {
    const { output, terminal } = this.#call;
    if (output !== "json" && output !== "yaml") return this.#printLines(changed, gone);
    for (const object of changed) await printDocument(terminal, object, output);
  }

  #printLines(objects: readonly ObjectView[], gone: readonly ObjectView[]): void {
    const { resource, output, terminal } = this.#call;
    if (output === "name")
      return terminal.out(objects.map((object) => `${printable(objectName(object))}\n`).join(""));
    const view = this.#view();
    const rows = [
      ...objects.map((object) => rowOf(resource, object, view)),
      ...gone.map((object) => this.#goneRow(object, view)),
    ];
    return terminal.out(this.#table.add(rows));
  }

  #goneRow(object: ObjectView, view: ResourceView): Row {
    const { resource } = this.#call;
    const titles = headerOf(resource, view);
    return rowOf(resource, object, view).map((cell, column) =>
      titles[column] === resource.goneColumn ? "Gone" : cell,
    );
  }

  #view(): ResourceView {
    const { query, output, terminal } = this.#call;
    return {
      isWide: output === "wide",
      withNamespace: query.namespace === undefined,
      now: terminal.clock.now(),
    };
  }
}

const POLL_MS = 1000;

/** Polls until Ctrl-C. An agent that cannot be reached is an error at the start; later it is waited for. */
async function watch(call: GetCall): Promise<void> {
  const { terminal } = call;
  const interrupted = terminal.interrupted();
  const changes = new Changes(call);
  await changes.printObjects(interrupted);
  let isReported = false;
  while (!interrupted.aborted) {
    await terminal.clock.sleep(POLL_MS, interrupted);
    if (interrupted.aborted) return;
    try {
      await changes.printObjects(interrupted);
      await changes.printRefusals(interrupted);
      isReported = false;
    } catch (thrown) {
      if (interrupted.aborted) return;
      if (!isReported) terminal.err(`${messageOf(thrown)}; waiting for it\n`);
      isReported = true;
    }
  }
}

/** What a watch has printed so far, so that only changes are printed. */
class Changes {
  readonly #call: GetCall;
  readonly #printer: Printer;
  #printed = new Map<string, { readonly identity: string; readonly object: ObjectView }>();
  #refusals = new Set<string>();

  constructor(call: GetCall) {
    this.#call = call;
    this.#printer = new Printer(call);
  }

  async printObjects(signal: AbortSignal): Promise<void> {
    const { resource, query, output } = this.#call;
    const before = this.#printed;
    const now: typeof before = new Map();
    const changed: ObjectView[] = [];
    for (const object of selectObjects(resource, await list(this.#call, signal), query)) {
      const key = `${namespaceOf(object)}/${object.metadata.name}`;
      const identity = JSON.stringify(resource.identity?.(object, output === "wide") ?? object);
      now.set(key, { identity, object });
      if (before.get(key)?.identity !== identity) changed.push(object);
    }
    this.#printed = now;
    const gone = [...before].filter(([key]) => !now.has(key)).map(([, { object }]) => object);
    await this.#printer.printChanges(changed, resource.goneColumn === undefined ? [] : gone);
  }

  async printRefusals(signal: AbortSignal): Promise<void> {
    const lines = await listRefusals(this.#call, signal);
    const added = lines.filter((line) => !this.#refusals.has(line));
    this.#refusals = new Set(lines);
    this.#call.terminal.err(added.map((line) => `${line}\n`).join(""));
  }
}
