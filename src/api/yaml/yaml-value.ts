// One parsed YAML document as plain JSON data that remembers where each field stood.

import { isAlias, isMap, isScalar, isSeq, type Pair, type Scalar } from "yaml";

import type { FieldPath } from "../decode/field-path.ts";
import { markAt, setOwn, type Mark, type Marks } from "./marks.ts";
import { resolveScalar, type ScalarValue } from "./yaml-scalars.ts";
import { shortText } from "../../lib/short-text.ts";

export interface YamlProblem {
  readonly offset: number;
  readonly message: string;
  readonly code: "Syntax" | "Duplicate";
}

/** One document as data. */
export interface DocumentValue {
  readonly value: unknown;
  readonly problems: readonly YamlProblem[];
  /** The mark of the field at a path, or of the nearest thing around it. */
  readonly markOf: (path: FieldPath) => Mark;
}

/** What the aliases of one document may stand for together, in values; a long text counts for several. */
const MAX_ALIASED = 4000;
const CHARACTERS_PER_VALUE = 16;
const MAX_SHOWN_KEY = 80;

const CORE_TAGS = "tag:yaml.org,2002:";
const KNOWN_TAGS: readonly string[] = ["binary", "bool", "float", "int", "null", "timestamp"];

interface Sized {
  readonly value: unknown;
  /** Values inside, aliases written out. */
  readonly size: number;
}

/** `contents` comes from the failsafe schema: every scalar is still text. */
export function yamlValue(contents: unknown): DocumentValue {
  const converter = new YamlConverter();
  const root = converter.convert(contents).value;
  const tree = { root, start: { offset: offsetOf(contents) }, marks: converter.marks };
  return { value: root, problems: converter.problems, markOf: (path) => markAt(tree, path) };
}

export function duplicateKey(key: string, offset: number): YamlProblem {
  const message = `duplicate key ${JSON.stringify(shortText(key, MAX_SHOWN_KEY))}`;
  return { offset, code: "Duplicate", message };
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
    if (isScalar(node)) return { value: this.#scalar(node), size: sizeOf(textOf(node)) };
    return { value: null, size: 1 };
  }

  #alias(name: string, offset: number): Sized {
    const target = this.#anchors.get(name);
    if (target === undefined) {
      // Without its name: it may be an unquoted password.
      this.#problem(offset, "an alias (*) without its anchor (&) before it; put text in quotes");
      return { value: null, size: 1 };
    }
    this.#aliased += target.size;
    if (this.#aliased <= MAX_ALIASED) return target;
    if (this.#aliased - target.size <= MAX_ALIASED)
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
      size += sizeOf(key) - 1;
      if (key === "<<" && isPlain(pair.key)) {
        merged.push({ value: sized.value, size: offsetOf(pair.key) });
        continue;
      }
      if (Object.hasOwn(value, key)) this.problems.push(duplicateKey(key, offsetOf(pair.key)));
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
    this.#problem(
      offsetOf(node),
      "a key must be a string; put text that begins with { or [ in quotes",
    );
    return undefined;
  }

  #scalar(node: Scalar): ScalarValue {
    const text = textOf(node);
    const tag = node.tag;
    if (tag === undefined) return isPlain(node) ? resolveScalar(text) : text;
    const value = taggedScalar(tag, text);
    if (value !== undefined) return value;
    // Neither the text nor a tag of somebody's own is shown: both may be part of a password.
    const name = tag.startsWith(CORE_TAGS) ? tag.slice(CORE_TAGS.length) : "";
    const known = KNOWN_TAGS.includes(name) ? `tag !!${name}` : "a tag (!)";
    this.#problem(offsetOf(node), `${known} that does not fit its value; put text in quotes`);
    return text;
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

function markOfNode(node: unknown): Mark {
  const offset = offsetOf(node);
  return isPlain(node) ? { offset, text: textOf(node) } : { offset };
}

function sizeOf(text: string): number {
  return 1 + Math.floor(text.length / CHARACTERS_PER_VALUE);
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
