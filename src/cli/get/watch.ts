// Performs: `agent get -w`: prints an object whenever it changes, until Ctrl-C, also over a restart of the agent.

import { isJsonObject } from "../../lib/json.ts";
import {
  isObjectView,
  isTable,
  type ObjectView,
  type TableRowView,
  type TableView,
} from "../../node/api-views.ts";
import { UsageError } from "../exit-codes.ts";
import { objectName, printDocument } from "../json-yaml-output.ts";
import { GrowingTable, printable } from "../terminal-text.ts";
import { tableFlags, type GetCall } from "./get-call.ts";
import { followList } from "./follow-list.ts";
import { listPath, TABLE } from "./list-path.ts";
import { refusalsOf } from "./refusals.ts";
import type { Wanted } from "./resource-arguments.ts";
import { identityOf, rowOf, titlesOf, type TableFlags } from "./table-rows.ts";

interface Printed {
  readonly identity: string;
  readonly row: TableRowView;
}

type Columns = TableView["columnDefinitions"];

export class Watch {
  readonly #call: GetCall;
  readonly #wanted: Wanted;
  readonly #flags: TableFlags;
  readonly #stop: AbortSignal;
  #columns: Columns = [];
  #table: GrowingTable | undefined;
  /** What was printed last of each object. */
  readonly #printed = new Map<string, Printed>();
  readonly #refusals = new Set<string>();
  /** Nothing is printed of what there was at the start. */
  #isQuiet: boolean;

  constructor(call: GetCall) {
    this.#call = call;
    const [wanted] = call.wanted;
    if (wanted === undefined) throw new UsageError("name a kind of object to follow");
    this.#wanted = wanted;
    const { output } = call;
    this.#flags = tableFlags(call, wanted.resource, output.type === "table" && output.isWide);
    this.#stop = call.terminal.interrupted();
    this.#isQuiet = call.flags.watchOnly === true;
  }

  /** An agent that cannot be reached is an error at the start; later it is waited for. */
  async run(): Promise<0> {
    const { client, terminal } = this.#call;
    const followed = {
      list: () => this.#list(),
      pathAfter: (version: string) =>
        listPath(this.#place(), this.#selected(), {
          includeObject: "Object",
          watch: "true",
          resourceVersion: version,
        }),
      accept: TABLE,
      take: (event: unknown) => this.#take(event),
    };
    await followList(followed, { client, terminal, signal: this.#stop });
    return 0;
  }

  /** Prints what is there and was not printed yet; resolves to its version. */
  async #list(): Promise<string> {
    const { client, flags, terminal } = this.#call;
    const path = listPath(this.#place(), this.#selected(), { includeObject: "Object" });
    const table = await client.object(path, isTable, { accept: TABLE, signal: this.#stop });
    this.#columns = table.columnDefinitions;
    const before = new Map(this.#printed);
    this.#table ??= new GrowingTable(titlesOf(this.#columns, this.#flags), {
      palette: terminal.palette,
      isHeadless: flags.headers === false,
    });
    // What is there at once is one table.
    if (!this.#isQuiet)
      this.#table.fit(table.rows.map((row) => rowOf(this.#columns, row, this.#flags)));
    for (const row of table.rows) {
      before.delete(keyOf(row.object));
      await this.#print(row);
    }
    this.#isQuiet = false;
    for (const { row } of before.values()) await this.#printGone(row);
    await this.#printRefusals(flags.watchOnly === true);
    return table.metadata?.resourceVersion ?? "";
  }

  async #take(event: unknown): Promise<void> {
    if (!isJsonObject(event) || !isTable(event["object"])) return;
    const [row] = event["object"].rows;
    if (row === undefined) return;
    if (event["type"] === "DELETED") await this.#printGone(row);
    else await this.#print(row);
    await this.#printRefusals(false);
  }

  /** A single object is watched through the list, by its name. */
  #place(): Wanted {
    return { ...this.#wanted, name: undefined };
  }

  #selected(): GetCall["flags"] {
    const { flags } = this.#call;
    const { name } = this.#wanted;
    if (name === undefined) return flags;
    return { ...flags, fieldSelector: `metadata.name=${name}` };
  }

  async #print(row: TableRowView): Promise<void> {
    const { resource } = this.#wanted;
    const key = keyOf(row.object);
    // Each occurrence of an event is news, even if only its age shows it.
    const identity =
      resource.kind === "Event" || this.#call.output.type !== "table"
        ? JSON.stringify(row.object)
        : identityOf(this.#columns, row, this.#flags);
    if (this.#printed.get(key)?.identity === identity) return;
    this.#printed.set(key, { identity, row });
    if (!this.#isQuiet) await this.#write(row, false);
  }

  async #printGone(row: TableRowView): Promise<void> {
    const wasPrinted = this.#printed.delete(keyOf(row.object));
    if (wasPrinted && this.#call.output.type === "table") await this.#write(row, true);
  }

  async #write(row: TableRowView, isGone: boolean): Promise<void> {
    const { terminal, output } = this.#call;
    switch (output.type) {
      case "json":
      case "yaml":
        if (isObjectView(row.object)) await printDocument(terminal, row.object, output.type);
        return;
      case "name":
        return terminal.out(`${printable(objectName(row.object))}\n`);
      case "jsonpath":
      case "columns":
        throw new UsageError(`-w works with tables, -o name, -o json and -o yaml`);
      case "table": {
        const lines = this.#table?.add([rowOf(this.#columns, row, this.#flags, isGone)]);
        return terminal.out(lines ?? "");
      }
    }
  }

  async #printRefusals(isSilent: boolean): Promise<void> {
    if (this.#call.output.type !== "table") return;
    for (const line of await refusalsOf(this.#call)) {
      if (this.#refusals.has(line)) continue;
      this.#refusals.add(line);
      if (!isSilent) this.#call.terminal.err(`${line}\n`);
    }
  }
}

function keyOf({ metadata }: ObjectView): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
