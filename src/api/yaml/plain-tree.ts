// What the reader of plain YAML has read so far, with the place of every field.

import { markAt, type Marks } from "./marks.ts";
import type { DocumentValue } from "./yaml-value.ts";

/** `text` if it is an unquoted scalar. */
export interface PlainValue {
  readonly value: unknown;
  readonly text?: string;
}

/** Of one file: maps and lists, and how many values they may still get. */
export class PlainTree {
  readonly #marks = new WeakMap<object, Marks>();
  #left: number;

  constructor(values: number) {
    this.#left = values;
  }

  /** With one value too many. */
  get isFull(): boolean {
    return this.#left < 0;
  }

  /** False = one value too many. */
  count(): boolean {
    this.#left -= 1;
    return !this.isFull;
  }

  newMap(): PlainMap {
    const map = new PlainMap(this);
    this.#marks.set(map.value, map.marks);
    return map;
  }

  newList(): PlainList {
    const list = new PlainList(this);
    this.#marks.set(list.value, list.marks);
    return list;
  }

  document(root: unknown, offset: number): DocumentValue {
    const tree = { root, start: { offset }, marks: this.#marks };
    return { value: root, problems: [], markOf: (path) => markAt(tree, path) };
  }
}

export class PlainMap {
  readonly value: Record<string, unknown> = {};
  readonly marks: Marks = new Map();
  readonly #tree: PlainTree;

  constructor(tree: PlainTree) {
    this.#tree = tree;
  }

  /** A key twice, or one that is no data, is not plain. */
  takes(key: string): boolean {
    return key !== "__proto__" && !Object.hasOwn(this.value, key);
  }

  /** False = one value too many. */
  put(key: string, { value, text }: PlainValue, offset: number): boolean {
    this.value[key] = value;
    this.marks.set(key, text === undefined ? { offset } : { offset, text });
    return this.#tree.count();
  }
}

export class PlainList {
  readonly value: unknown[] = [];
  readonly marks: Marks = new Map();
  readonly #tree: PlainTree;

  constructor(tree: PlainTree) {
    this.#tree = tree;
  }

  /** False = one value too many. */
  add({ value, text }: PlainValue, offset: number): boolean {
    this.marks.set(this.value.length, text === undefined ? { offset } : { offset, text });
    this.value.push(value);
    return this.#tree.count();
  }
}
