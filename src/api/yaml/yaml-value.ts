// One parsed YAML document as plain JSON data that remembers where each field stood.

import { isAlias, isMap, isScalar, isSeq, type Pair, type Scalar } from "yaml";

import type { FieldPath } from "../decode/field-path.ts";
import { resolveModernScalar, resolveScalar, type ScalarValue } from "./yaml-scalars.ts";
import { isJsonObject } from "../../lib/json.ts";
import { grouped, shortText } from "../../lib/short-text.ts";

export interface YamlProblem {
  readonly offset: number;
  readonly message: string;
  readonly code: "Syntax" | "Duplicate";
}

/** One document as data. With `problems` it must not be used. */
export interface DocumentValue {
  readonly value: unknown;
  /** The first few. */
  readonly problems: readonly YamlProblem[];
  /** The position of the field at a path, or of its nearest parent that exists. */
  readonly positionOf: (path: FieldPath) => SourcePosition;
}

/** A long text counts as several nodes where an alias repeats it. */
const CHARACTERS_PER_NODE = 16;
const MAX_SHOWN_KEY = 80;
/** Of one document; a hostile one has thousands. */
const MAX_PROBLEMS = 5;

const CORE_TAGS = "tag:yaml.org,2002:";
const KNOWN_TAGS: readonly string[] = ["binary", "bool", "float", "int", "null", "timestamp"];

interface Sized {
  readonly value: unknown;
  /** Nodes in it, those behind aliases included. */
  readonly size: number;
}

export interface ValueOptions {
  /** Nodes that all aliases together may repeat. */
  readonly maxAliased: number;
  /** `yes`, `on` and the like are text. */
  readonly areWordsText: boolean;
}

/** `contents` comes from the failsafe schema: every scalar is still text. */
export function yamlValue(contents: unknown, options: ValueOptions): DocumentValue {
  const converter = new YamlConverter(options);
  const root = converter.convert(contents).value;
  const tree = { root, start: { offset: offsetOf(contents) }, members: converter.members };
  const positionOf = (path: FieldPath): SourcePosition => positionAt(tree, path);
  return { value: root, problems: converter.problems, positionOf };
}

/** What one merge key `<<` stands for. */
interface Merge {
  readonly from: unknown;
  /** Of the key. */
  readonly offset: number;
}

class YamlConverter {
  readonly problems: YamlProblem[] = [];
  readonly members = new WeakMap<object, MemberPositions>();
  readonly #anchors = new Map<string, Sized>();
  readonly #maxAliased: number;
  readonly #resolve: (text: string) => ScalarValue;
  #aliased = 0;

  constructor({ maxAliased, areWordsText }: ValueOptions) {
    this.#maxAliased = maxAliased;
    this.#resolve = areWordsText ? resolveModernScalar : resolveScalar;
  }

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
    const before = this.#aliased;
    this.#aliased += target.size;
    if (this.#aliased <= this.#maxAliased) return target;
    if (before <= this.#maxAliased) {
      const message = `its aliases (*) repeat more than ${grouped(this.#maxAliased)} nodes (keys, values, list items)`;
      this.#problem(offset, message);
    }
    return { value: null, size: 1 };
  }

  #list(items: readonly unknown[]): Sized {
    const value: unknown[] = [];
    const positions: MemberPositions = new Map();
    let size = 1;
    for (const item of items) {
      const sized = this.convert(item);
      positions.set(value.length, positionOfNode(item));
      value.push(sized.value);
      size += sized.size;
    }
    this.members.set(value, positions);
    return { value, size };
  }

  #map(pairs: readonly Pair[]): Sized {
    const value: Record<string, unknown> = {};
    const positions: MemberPositions = new Map();
    const merged: Merge[] = [];
    let size = 1;
    for (const pair of pairs) {
      const key = this.#key(pair.key);
      const sized = this.convert(pair.value);
      size += sized.size;
      if (key === undefined) continue;
      size += sizeOf(key) - 1;
      if (key === "<<" && isPlain(pair.key)) {
        merged.push({ from: sized.value, offset: offsetOf(pair.key) });
        continue;
      }
      const offset = offsetOf(pair.key);
      if (Object.hasOwn(value, key)) {
        this.#duplicateKey(offset, key);
        continue;
      }
      setOwn(value, key, sized.value);
      positions.set(key, { ...positionOfNode(pair.value), offset });
    }
    for (const merge of merged) this.#merge(value, positions, merge);
    this.members.set(value, positions);
    return { value, size };
  }

  /** The members of other maps that `into`, or a map merged before, has not. */
  #merge(into: Record<string, unknown>, positions: MemberPositions, { from, offset }: Merge): void {
    for (const source of Array.isArray(from) ? from : [from]) {
      if (!isJsonObject(source)) {
        this.#problem(offset, "a merge key << takes a map or a list of maps");
        return;
      }
      for (const [key, value] of Object.entries(source)) {
        if (Object.hasOwn(into, key)) continue;
        setOwn(into, key, value);
        const position = this.members.get(source)?.get(key);
        if (position !== undefined) positions.set(key, position);
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
    if (tag === undefined) return isPlain(node) ? this.#resolve(text) : text;
    const value = taggedScalar(tag, text);
    if (value !== undefined) return value;
    // Neither the text nor an unknown tag is shown: both may be part of a password.
    const name = tag.startsWith(CORE_TAGS) ? tag.slice(CORE_TAGS.length) : "";
    const known = KNOWN_TAGS.includes(name) ? `tag !!${name}` : "a tag (!)";
    this.#problem(offsetOf(node), `${known} that does not fit its value; put text in quotes`);
    return text;
  }

  #duplicateKey(offset: number, key: string): void {
    if (this.problems.length === MAX_PROBLEMS) return;
    const message = `duplicate key ${JSON.stringify(shortText(key, MAX_SHOWN_KEY))}`;
    this.problems.push({ offset, message, code: "Duplicate" });
  }

  #problem(offset: number, message: string): void {
    if (this.problems.length === MAX_PROBLEMS) return;
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

/** A key named `__proto__` must become data, never a prototype. */
function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") target[key] = value;
  else
    Object.defineProperty(target, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
}

function positionOfNode(node: unknown): SourcePosition {
  const offset = offsetOf(node);
  return isPlain(node) ? { offset, text: textOf(node) } : { offset };
}

function sizeOf(text: string): number {
  return 1 + Math.floor(text.length / CHARACTERS_PER_NODE);
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

/** Where a field begins, and its source text if it is an unquoted YAML scalar. */
export interface SourcePosition {
  /** Characters from the start of the text. */
  readonly offset: number;
  readonly text?: string;
}

/** Of the members of one map or list, by key or index. */
type MemberPositions = Map<string | number, SourcePosition>;

interface LocatedTree {
  readonly root: unknown;
  /** Of the root. */
  readonly start: SourcePosition;
  /** Of every map and list in the tree. */
  readonly members: WeakMap<object, MemberPositions>;
}

/** The position of the field at a path; if there is none, of the nearest parent that exists, without its text. */
function positionAt({ root, start, members }: LocatedTree, path: FieldPath): SourcePosition {
  let value = root;
  let position = start;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return { offset: position.offset };
    const next = members.get(value)?.get(step);
    if (next === undefined) return { offset: position.offset };
    position = next;
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  return position;
}
