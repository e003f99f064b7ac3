// What `agent get` knows of one resource: its names, its place on the local API, its flags and its columns.

import type { ObjectView } from "../api-views.ts";
import {
  cellsOf,
  printable,
  titlesOf,
  type Column,
  type Row,
  type TableView,
} from "../terminal-text.ts";
import type { Flags } from "../flags.ts";
import type { LabelSelector } from "./label-selector.ts";

export const OUTPUT_FORMATS = ["wide", "json", "yaml", "name"] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export interface ObjectReference {
  readonly kind: string;
  readonly name: string;
}

/** Which objects a person asked for. */
export interface Query {
  readonly name: string | undefined;
  /** undefined = all of them. */
  readonly namespace: string | undefined;
  readonly selector: LabelSelector;
  /** Of events: the object that they are about. */
  readonly about: ObjectReference | undefined;
  /** Whether the content of Secrets is asked for as well. */
  readonly showSecrets: boolean;
}

/**
 * The functions are methods, so that resources of different objects fit in one list: each gets only objects that its
 * `isObject` accepted.
 */
export interface Resource<T extends ObjectView = ObjectView> {
  /** As in paths and messages: `configmaps`. */
  readonly name: string;
  readonly aliases: readonly string[];
  /** As refusals have it. */
  readonly kind: string;
  readonly description: string;
  readonly flags: Flags;
  /** The node: there is exactly one, without a list or a namespace. */
  readonly isSingle?: true;
  /** On the local API. */
  path(query: Query): string;
  /** Whether an object has everything that the columns read. */
  readonly isObject: (value: unknown) => value is T;
  readonly columns: readonly Column<T>[];
  /** What `-w` compares: an object is printed again when this has changed. Ages are not part of it. */
  identity?(object: T, isWide: boolean): unknown;
  /** Title of the column that shows `Gone` when `-w` no longer finds the object; absent = it vanishes silently. */
  readonly goneColumn?: string;
  /** The object that `--for` selects by. */
  about?(object: T): ObjectReference;
  /** Which refusals of the sources stand under the table: all of them, or those that may concern this kind. */
  readonly refusals: "None" | "All" | "OfKind";
  /** Printed instead of an empty table. `total`: how many the path listed, of other namespaces too. */
  nothingFound?(query: Query, total: number): string;
}

/** How the table of a resource is shown. */
export interface ResourceView extends TableView {
  /** NAMESPACE is the first column. */
  readonly withNamespace: boolean;
}

/** Every word for it on the command line. */
export function wordsOf({ name, aliases }: Pick<Resource, "name" | "aliases">): readonly string[] {
  return [name, ...aliases];
}

export function namespaceOf({ metadata }: ObjectView): string {
  return metadata.namespace ?? "default";
}

export function headerOf<T extends ObjectView>(resource: Resource<T>, view: ResourceView): Row {
  return titlesOf(columnsOf(resource, view), view.isWide);
}

export function rowOf<T extends ObjectView>(
  resource: Resource<T>,
  object: T,
  view: ResourceView,
): Row {
  return cellsOf(columnsOf(resource, view), object, view);
}

function columnsOf<T extends ObjectView>(
  { columns }: Resource<T>,
  { withNamespace }: ResourceView,
): readonly Column<T>[] {
  return withNamespace ? [{ title: "NAMESPACE", cell: namespaceOf }, ...columns] : columns;
}

/** ` in namespace default`; nothing for all namespaces. */
export function inNamespace({ namespace }: Query): string {
  return namespace === undefined ? "" : ` in namespace ${printable(namespace)}`;
}
