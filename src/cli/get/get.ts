// Performs: `agent get`: objects of any kind as a table, as names, as JSON or YAML or through a template; once, or with
// `-w` until Ctrl-C. kubectl: get

import { isListOf, isObjectView, isTable, type ObjectView } from "../../node/api-views.ts";
import type { Result } from "../../lib/result.ts";
import type { VerbCall } from "../define-verb.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import { listOf, objectName, printObject } from "../json-yaml-output.ts";
import { printable, printableText, tableText, type Row } from "../terminal-text.ts";
import { parseSelector } from "../../server/kube/label-selector.ts";
import { apiResources, type ApiResource } from "./api-resources.ts";
import { tableFlags, type GetCall } from "./get-call.ts";
import { customCells } from "./custom-columns.ts";
import { jsonPathValues, printJsonPath } from "./json-path.ts";
import { listPath, TABLE, type GetFlags } from "./list-path.ts";
import { outputFormat } from "./output-format.ts";
import { resourceArguments, type Wanted } from "./resource-arguments.ts";
import { refusalsOf } from "./refusals.ts";
import { BY_LAST_SEEN, orderBy } from "./sort-by.ts";
import { rowOf, titlesOf } from "./table-rows.ts";
import { Watch } from "./watch.ts";

/** The exit code. Throws CliError if there is no object of that name, or the agent cannot be reached. */
export async function get(verb: VerbCall): Promise<0 | 1> {
  const { args, terminal } = verb;
  const flags = verb.flags<GetFlags>();
  const output = valueOf(outputFormat(flags.output));
  valueOf(parseSelector(flags.selector ?? ""));
  const client = await verb.connect();
  const { wanted, isMixed } = valueOf(resourceArguments(args, await apiResources(client)));
  refuseWrongFlags(flags, wanted);
  const call = { client, terminal, flags, output, wanted, isMixed };
  if (flags.watch === true || flags.watchOnly === true) return new Watch(call).run();
  return output.type === "table" ? printTables(call, output.isWide) : printObjects(call);
}

export function valueOf<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new UsageError(result.errors.map(({ message }) => message).join("; "));
}

function refuseWrongFlags(flags: GetFlags, wanted: readonly Wanted[]): void {
  const { allNamespaces = false, selector, fieldSelector, watch, watchOnly } = flags;
  const isNamed = wanted.some(({ name }) => name !== undefined);
  if (isNamed && allNamespaces)
    throw new UsageError("a name and --all-namespaces exclude each other; use -n NAMESPACE");
  if (isNamed && (selector ?? fieldSelector) !== undefined)
    throw new UsageError("a name and a selector exclude each other; give one of them");
  if ((watch === true || watchOnly === true) && wanted.length > 1)
    throw new UsageError("-w follows one kind, or one object of a kind");
}

/** One table for each kind. */
async function printTables(call: GetCall, isWide: boolean): Promise<0 | 1> {
  const { terminal, flags, wanted } = call;
  const kinds = [...new Set(wanted.map(({ resource }) => resource))];
  let printed = 0;
  let isFailed = false;
  for (const resource of kinds) {
    const rows: Row[] = [];
    let titles: Row = [];
    for (const one of wanted.filter((each) => each.resource === resource)) {
      const table = await readTable(call, one);
      if (table === undefined) {
        isFailed = flags.ignoreNotFound !== true || isFailed;
        continue;
      }
      const shown = tableFlags(call, resource, isWide);
      titles = titlesOf(table.columnDefinitions, shown);
      const order = orderOf(flags, resource);
      const sorted =
        order === undefined ? table.rows : table.rows.toSorted((a, b) => order(a.object, b.object));
      rows.push(...sorted.map((row) => rowOf(table.columnDefinitions, row, shown)));
    }
    if (rows.length > 0) {
      const { palette } = terminal;
      const text = tableText(titles, rows, { palette, isHeadless: flags.headers === false });
      terminal.out(`${printed > 0 ? "\n" : ""}${text}`);
    }
    printed += rows.length;
  }
  // Of a name that may be missing there is nothing to report.
  const isExpected = flags.ignoreNotFound !== true && wanted.some(({ name }) => name === undefined);
  if (printed === 0 && isExpected) terminal.err(`${await nothingFound(call)}\n`);
  terminal.err((await refusalsOf(call)).map((line) => `${line}\n`).join(""));
  return isFailed ? 1 : 0;
}

/** undefined = there is no such object, which was printed as an error. */
async function readTable(call: GetCall, wanted: Wanted) {
  const path = listPath(wanted, call.flags, { includeObject: "Object" });
  return orMissing(call, wanted, () => call.client.object(path, isTable, { accept: TABLE }));
}

async function orMissing<T>(
  call: GetCall,
  { resource, name }: Wanted,
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof CliError) || name === undefined) throw error;
    if (!error.message.endsWith("not found")) throw error;
    if (call.flags.ignoreNotFound === true) return undefined;
    const namespace = call.flags.namespace ?? "default";
    const where = resource.isNamespaced ? ` in namespace "${printable(namespace)}"` : "";
    const refused = (await refusalsOf(call, name)).map((line) => `\n  ${line}`).join("");
    const hint = refused === "" ? "" : `; these were refused and may be it:${refused}`;
    const sentence = `${resource.name} "${printable(name)}" not found${where}${hint}`;
    if (call.wanted.length === 1) throw new CliError(sentence);
    call.terminal.err(`Error: ${sentence}\n`);
    return undefined;
  }
}

function orderOf(
  { sortBy }: GetFlags,
  { kind }: ApiResource,
): ((a: unknown, b: unknown) => number) | undefined {
  if (sortBy !== undefined) return valueOf(orderBy(sortBy));
  return kind === "Event" ? valueOf(orderBy(BY_LAST_SEEN)) : undefined;
}

async function nothingFound({ flags, wanted, client }: GetCall): Promise<string> {
  const { namespace = "default", allNamespaces = false } = flags;
  const [first] = wanted;
  if (allNamespaces || first?.resource.isNamespaced !== true) return "No resources found";
  const all = { ...flags, allNamespaces: true };
  const table = await client.object(listPath(first, all), isTable, { accept: TABLE });
  const more = table.rows.length;
  const hint = more > 0 ? ` The node has ${more} more; -A shows all namespaces.` : "";
  return `No resources found in ${printable(namespace)} namespace.${hint}`;
}

/** Every format but tables. */
async function printObjects(call: GetCall): Promise<0 | 1> {
  const { wanted, flags } = call;
  const objects: ObjectView[] = [];
  let isFailed = false;
  for (const one of wanted) {
    const found = await orMissing(call, one, () => readObjects(call, one));
    if (found === undefined) isFailed = flags.ignoreNotFound !== true || isFailed;
    const order = orderOf(flags, one.resource);
    objects.push(...(order === undefined ? (found ?? []) : (found ?? []).toSorted(order)));
  }
  const [only, ...more] = wanted;
  const isOne = more.length === 0 && only?.name !== undefined;
  await printAll(call, objects, isOne);
  return isFailed ? 1 : 0;
}

async function readObjects(call: GetCall, wanted: Wanted): Promise<readonly ObjectView[]> {
  const { client, flags } = call;
  const path = listPath(wanted, flags);
  if (wanted.name !== undefined) return [await client.object(path, isObjectView)];
  const { items } = await client.object(path, isListOf(isItem));
  return items.map((item) => ({ ...item, kind: item.kind ?? wanted.resource.kind }));
}

function isItem(value: unknown): value is Omit<ObjectView, "kind"> & Partial<ObjectView> {
  return isObjectView({ kind: "", ...Object(value) } as unknown);
}

async function printAll(
  { output, terminal, flags }: GetCall,
  objects: readonly ObjectView[],
  isOne: boolean,
): Promise<void> {
  const [first] = objects;
  if (isOne && first === undefined) return;
  const whole = isOne ? first : listOf(objects);
  switch (output.type) {
    case "json":
    case "yaml":
      return printObject(terminal, whole ?? {}, output.type);
    case "name":
      return terminal.out(objects.map((object) => `${printable(objectName(object))}\n`).join(""));
    case "jsonpath": {
      const text = output.asJson
        ? `${JSON.stringify(jsonPathValues(output.path, whole), null, 4)}\n`
        : printJsonPath(output.path, whole);
      return terminal.out(terminal.isTerminal ? printableText(text) : text);
    }
    case "columns": {
      const rows = objects.map((object) => customCells(output.columns, object));
      const titles = output.columns.map(({ title }) => title);
      const { palette } = terminal;
      return terminal.out(
        tableText(titles, rows, { palette, isHeadless: flags.headers === false }),
      );
    }
    case "table":
      return undefined;
  }
}
