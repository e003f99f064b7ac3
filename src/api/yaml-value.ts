// One parsed YAML document as plain JSON data that remembers where each field stood.

import { isAlias, isMap, isScalar, isSeq, type Pair, type Scalar } from "yaml";

import type { FieldPath } from "./field-path.ts";
import { resolveScalar, type ScalarValue } from "./yaml-scalars.ts";

/** Where a field begins, and its source text if it is an unquoted scalar. */
export interface Mark {
  readonly offset: number;
  readonly text?: string;
}

export interface YamlProblem {
  readonly offset: number;
  readonly message: string;
  readonly code: "Syntax" | "Duplicate";
}

export interface YamlValue {
  readonly value: unknown;
  readonly problems: readonly YamlProblem[];
  /** The mark of the field at a path, or of the nearest thing around it. */
  readonly markOf: (path: FieldPath) => Mark;
}

/** Values one document may have once its aliases are written out. */
const MAX_VALUES = 100_000;

type Marks = Map<string | number, Mark>;
interface Sized {
  readonly value: unknown;
  /** Values inside, aliases written out. */
  readonly size: number;
}

/** `contents` comes from the failsafe schema: every scalar is still text. */
export function yamlValue(contents: unknown): YamlValue {
  const converter = new YamlConverter();
  const root = converter.convert(contents);
  const start: Mark = { offset: offsetOf(contents) };
  return {
    value: root.value,
    problems: converter.problems,
    markOf: (path) => markAt(converter.marks, { root: root.value, start, path }),
  };
}

class YamlConverter {
  readonly problems: YamlProblem[] = [];
  readonly marks = new WeakMap<object, Marks>();
  readonly #anchors = new Map<string, Sized>();
  #aliased = 0;

  convert(node: unknown): Sized {
    if (isAlias(node)) return this.#alias(node.source, offsetOf(node));
    const anchor = anchorOf(node);
    // Until it is complete an anchor means nothing: an alias inside itself would never end.
    if (anchor !== undefined) this.#anchors.delete(anchor);
    const sized = this.#convertNode(node);
    if (anchor !== undefined) this.#anchors.set(anchor, sized);
    return sized;
  }

  #convertNode(node: unknown): Sized {
    if (isMap(node)) return this.#map(node.items);
    if (isSeq(node)) return this.#list(node.items);
    if (isScalar(node)) return { value: this.#scalar(node), size: 1 };
    return { value: null, size: 1 };
  }

  #alias(name: string, offset: number): Sized {
    const target = this.#anchors.get(name);
    if (target === undefined) {
      this.#problem(offset, `alias *${name} has no anchor &${name} before it`);
      return { value: null, size: 1 };
    }
    this.#aliased += target.size;
    if (this.#aliased <= MAX_VALUES) return target;
    if (this.#aliased - target.size <= MAX_VALUES)
      this.#problem(offset, "its aliases stand for too many values");
    return { value: null, size: 1 };
  }

  #list(items: readonly unknown[]): Sized {
    const value: unknown[] = [];
    const marks: Marks = new Map();
    let size = 1;
    for (const item of items) {
      const sized = this.convert(item);
      marks.set(value.length, markOfNode(item));
      value.push(sized.value);
      size += sized.size;
    }
    this.marks.set(value, marks);
    return { value, size };
  }

  #map(pairs: readonly Pair[]): Sized {
    const value: Record<string, unknown> = {};
    const marks: Marks = new Map();
    const merged: Sized[] = [];
    let size = 1;
    for (const pair of pairs) {
      const key = this.#key(pair.key);
      const sized = this.convert(pair.value);
      size += sized.size;
      if (key === undefined) continue;
      if (key === "<<" && isPlain(pair.key)) {
        merged.push({ value: sized.value, size: offsetOf(pair.key) });
        continue;
      }
      if (Object.hasOwn(value, key)) this.#duplicate(key, offsetOf(pair.key));
      else setOwn(value, key, sized.value);
      if (!marks.has(key))
        marks.set(key, { ...markOfNode(pair.value), offset: offsetOf(pair.key) });
    }
    for (const from of merged) this.#merge(value, from.value, { marks, offset: from.size });
    this.marks.set(value, marks);
    return { value, size };
  }

  /** `<<`: the keys of other maps, where this one (or an earlier of them) has none of its own. */
  #merge(
    into: Record<string, unknown>,
    from: unknown,
    at: { readonly marks: Marks; readonly offset: number },
  ): void {
    for (const source of Array.isArray(from) ? from : [from]) {
      if (!isRecord(source)) {
        this.#problem(at.offset, "a merge key << takes a map or a list of maps");
        return;
      }
      for (const [key, value] of Object.entries(source)) {
        if (Object.hasOwn(into, key)) continue;
        setOwn(into, key, value);
        const mark = this.marks.get(source)?.get(key);
        if (mark !== undefined) at.marks.set(key, mark);
      }
    }
  }

  #key(node: unknown): string | undefined {
    if (isScalar(node)) return textOf(node);
    if (isAlias(node)) {
      const target = this.#alias(node.source, offsetOf(node));
      if (typeof target.value === "string") return target.value;
    }
    this.#problem(offsetOf(node), "a key must be a string");
    return undefined;
  }

  #scalar(node: Scalar): ScalarValue {
    const text = textOf(node);
    const tag = node.tag;
    if (tag === undefined) return isPlain(node) ? resolveScalar(text) : text;
    const value = taggedScalar(tag, text);
    if (value !== undefined) return value;
    this.#problem(offsetOf(node), `tag ${tag} does not fit ${JSON.stringify(text)}`);
    return text;
  }

  #duplicate(key: string, offset: number): void {
    this.problems.push({
      offset,
      code: "Duplicate",
      message: `duplicate key ${JSON.stringify(key)}`,
    });
  }

  #problem(offset: number, message: string): void {
    this.problems.push({ offset, message, code: "Syntax" });
  }
}

function taggedScalar(tag: string, text: string): ScalarValue | undefined {
  const value = resolveScalar(text);
  switch (tag) {
    case "!":
    case "tag:yaml.org,2002:str":
      return text;
    case "tag:yaml.org,2002:int":
      return Number.isInteger(value) ? value : undefined;
    case "tag:yaml.org,2002:float":
      return typeof value === "number" ? value : undefined;
    case "tag:yaml.org,2002:bool":
      return typeof value === "boolean" ? value : undefined;
    case "tag:yaml.org,2002:null":
      return value === null ? null : undefined;
  }
  return undefined;
}

function markAt(
  marks: WeakMap<object, Marks>,
  from: { readonly root: unknown; readonly start: Mark; readonly path: FieldPath },
): Mark {
  let value = from.root;
  let mark = from.start;
  for (const step of from.path) {
    if (typeof value !== "object" || value === null) return { offset: mark.offset };
    const next = marks.get(value)?.get(step);
    // Nothing stands at this path: the place of the parent is the best answer, its text is not.
    if (next === undefined) return { offset: mark.offset };
    mark = next;
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  return mark;
}

function markOfNode(node: unknown): Mark {
  const offset = offsetOf(node);
  return isPlain(node) ? { offset, text: textOf(node) } : { offset };
}

/** The failsafe schema makes every scalar a string; an empty one has no value. */
function textOf(node: Scalar): string {
  return typeof node.value === "string" ? node.value : "";
}

function isPlain(node: unknown): node is Scalar {
  return isScalar(node) && node.type === "PLAIN" && node.tag === undefined;
}

function offsetOf(node: unknown): number {
  if (typeof node !== "object" || node === null || !("range" in node)) return 0;
  const first: unknown = Array.isArray(node.range) ? node.range[0] : 0;
  return typeof first === "number" ? first : 0;
}

function anchorOf(node: unknown): string | undefined {
  if (isMap(node) || isSeq(node) || isScalar(node)) return node.anchor;
  return undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A key named `__proto__` must become data, never a prototype. */
function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}
