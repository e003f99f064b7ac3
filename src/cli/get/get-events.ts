// Performs: `agent get events`: what happened here lately, the latest last.

import type { EventView } from "../api-views.ts";
import { CliError } from "../cli-error.ts";
import {
  readEventQuery,
  selectEvents,
  type EventQuery,
  type EventQueryFlags,
} from "./event-query.ts";
import { eventHeader, eventIdentity, eventRow, type EventColumns } from "./event-table.ts";
import type { LocalClient } from "../local-client.ts";
import { listOf, objectName, printObject, type OutputFormat } from "../output.ts";
import { printable } from "../printable.ts";
import { columnWidths, formatRows } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { watchLoop } from "./watch-loop.ts";

export interface GetEventsOptions {
  readonly client: LocalClient;
  readonly terminal: Terminal;
  /** As written: `web.19a.1` or `event/web.19a.1`. */
  readonly name: string | undefined;
  readonly flags: EventQueryFlags & {
    readonly output?: OutputFormat | undefined;
    readonly watch?: boolean | undefined;
  };
}

/** The exit code; throws CliError for a name that is not there or an agent that is not. */
export async function getEvents({ client, terminal, name, flags }: GetEventsOptions): Promise<0> {
  const query = readEventQuery(name, flags);
  const printer = new EventPrinter(terminal, query, flags.output);
  if (flags.watch === true) {
    const watch = new EventWatch(printer);
    await watchLoop(terminal, async (signal) =>
      watch.show(selectEvents(await client.events(signal), query)),
    );
    return 0;
  }
  const events = selectEvents(await client.events(), query);
  if (query.name !== undefined && events.length === 0)
    throw new CliError(1, `events "${query.name}" not found${within(query)}`);
  await printer.all(events);
  const isTable = flags.output === undefined || flags.output === "wide";
  if (isTable && events.length === 0) terminal.err(`${nothingFound(query)}\n`);
  return 0;
}

/** Prints events as was asked; the header stands above the first rows, whenever they come. */
class EventPrinter {
  readonly #terminal: Terminal;
  readonly #query: EventQuery;
  readonly #output: OutputFormat | undefined;
  readonly #columns: EventColumns;
  #widths: number[] = [];

  constructor(terminal: Terminal, query: EventQuery, output: OutputFormat | undefined) {
    this.#terminal = terminal;
    this.#query = query;
    this.#output = output;
    this.#columns = { wide: output === "wide", namespaces: query.namespace === undefined };
  }

  async all(events: readonly EventView[]): Promise<void> {
    const [first] = events;
    const output = this.#output;
    if (output !== "json" && output !== "yaml") return this.rows(events);
    const whole = this.#query.name !== undefined && first !== undefined ? first : listOf(events);
    return printObject(this.#terminal, whole, output);
  }

  async some(events: readonly EventView[]): Promise<void> {
    const output = this.#output;
    if (output !== "json" && output !== "yaml") return this.rows(events);
    for (const event of events) {
      if (output === "yaml") this.#terminal.out("---\n");
      await printObject(this.#terminal, event, output);
    }
  }

  rows(events: readonly EventView[]): void {
    if (events.length === 0) return;
    if (this.#output === "name") {
      this.#terminal.out(events.map((event) => `${printable(objectName(event))}\n`).join(""));
      return;
    }
    const now = this.#terminal.clock.now();
    const rows = events.map((event) => eventRow(event, this.#columns, now));
    const all = this.#widths.length === 0 ? [eventHeader(this.#columns), ...rows] : rows;
    this.#widths = columnWidths(all, this.#widths);
    this.#terminal.out(formatRows(all, this.#widths));
  }
}

/** What has been shown so far, so that only news is printed. */
class EventWatch {
  readonly #printer: EventPrinter;
  #shown = new Map<string, string>();

  constructor(printer: EventPrinter) {
    this.#printer = printer;
  }

  async show(events: readonly EventView[]): Promise<void> {
    const now = events.map((event) => [event.metadata.name, eventIdentity(event)] as const);
    const fresh = events.filter(
      (event) => this.#shown.get(event.metadata.name) !== eventIdentity(event),
    );
    this.#shown = new Map(now);
    await this.#printer.some(fresh);
  }
}

function nothingFound(query: EventQuery): string {
  const { about } = query;
  const object = about === undefined ? "" : ` for ${about.kind.toLowerCase()}/${about.name}`;
  return printable(`No events found${object}${within(query)}.`);
}

function within({ namespace }: EventQuery): string {
  return namespace === undefined ? "" : ` in namespace "${namespace}"`;
}
