// What may stand where a manifest's author should have written something else.

import type { Mulberry32 } from "../../fakes/mulberry32.ts";

export const HOSTILE: readonly unknown[] = [
  null,
  true,
  "",
  " ",
  "\t",
  "\r",
  "a\u0000b",
  "\uD800",
  "\uDC00 \uD800x",
  "\uFEFFa",
  "a\u202Eb\u200Bc",
  "e\u0301\u0301\u0301",
  "аdmin",
  "😀".repeat(100),
  "a".repeat(10_000),
  "../..",
  "/../..",
  "a/b/c/d",
  "$(A)$$(B)$(",
  "metadata.labels['",
  "1e400",
  "0".repeat(500),
  "99999999999999999999Ei",
  -1,
  -0,
  0,
  1.5,
  2 ** 53,
  -(2 ** 63),
  1e300,
  [],
  {},
  [[]],
  [null],
  [{}],
  { "": "" },
  { constructor: 1, toString: {}, hasOwnProperty: [] },
  JSON.parse('{"__proto__": {"polluted": true}}'),
  Array.from({ length: 300 }, (_, index) => index),
  Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`k${index}`, index])),
  nested(40, (inner) => [inner]),
  nested(40, (inner) => ({ a: inner })),
  nested(120, (inner) => [inner]),
];

/** What breaks YAML, or means something to it. */
export const PIECES: readonly string[] = [
  "\0",
  "\t",
  "\r",
  "\r\n",
  "\n",
  "\uFEFF",
  "\uD800",
  "\u2028",
  "- ",
  "? ",
  ": ",
  ":",
  ",",
  "{",
  "}",
  "[",
  "]",
  "{{ .Values }}",
  '"',
  "'",
  "|",
  ">",
  "#",
  " #",
  "&a ",
  "*a",
  "<<: *a",
  "!",
  "!!int ",
  "!!python/object ",
  "%YAML 1.1\n",
  "---\n",
  "...\n",
  "~",
  "yes",
  "0777",
  "1e400",
  ".nan",
  "-.inf",
  "0x",
  "__proto__: x\n",
];

/** `1`, wrapped `levels` times. */
export function nested(levels: number, around: (inner: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = around(value);
  return value;
}

/** The same data with one to three places of it deleted, doubled, renamed or replaced. */
export function mutatedValue(value: unknown, dice: Mulberry32): unknown {
  const copy = { root: structuredClone(value) };
  const times = 1 + dice.below(3);
  for (let time = 0; time < times; time++) mutateOnce(copy, dice);
  return copy.root;
}

function mutateOnce(copy: { root: unknown }, dice: Mulberry32): void {
  const places = placesIn(copy);
  // All of it was deleted before.
  if (places.length === 0) return;
  const { parent, key } = dice.pick(places);
  const kind = dice.pick([
    "delete",
    "replace",
    "replace",
    "rename",
    "double",
    "wrap",
    "move",
  ] as const);
  const old = Reflect.get(parent, key) as unknown;
  switch (kind) {
    case "delete":
      Reflect.deleteProperty(parent, key);
      return;
    case "replace":
      Reflect.set(parent, key, structuredClone(dice.pick(HOSTILE)));
      return;
    case "rename":
      Reflect.deleteProperty(parent, key);
      Reflect.set(parent, `${key}${dice.pick(["s", "", "_", "\u200B", "X"])}`, old);
      return;
    case "double":
      if (Array.isArray(parent)) parent.push(structuredClone(old));
      else Reflect.set(parent, key, [structuredClone(old), old]);
      return;
    case "wrap":
      Reflect.set(parent, key, dice.pick([[old], { value: old }, [[old]]]));
      return;
    case "move": {
      const other = dice.pick(places);
      Reflect.set(parent, key, structuredClone(Reflect.get(other.parent, other.key)));
    }
  }
}

interface Place {
  readonly parent: object;
  readonly key: string;
}

function placesIn(parent: object): readonly Place[] {
  return Object.entries(parent).flatMap(([key, value]: [string, unknown]) => {
    const below = typeof value === "object" && value !== null ? placesIn(value) : [];
    return [{ parent, key }, ...below];
  });
}

/** The same text with one or two places of it cut out, doubled, or broken by a piece of something else. */
export function mutatedText(text: string, dice: Mulberry32): string {
  let mutated = text;
  const times = 1 + dice.below(2);
  for (let time = 0; time < times; time++)
    mutated = dice.chance(0.5) ? mutatedLines(mutated, dice) : mutatedPart(mutated, dice);
  return mutated;
}

function mutatedLines(text: string, dice: Mulberry32): string {
  const lines = text.split("\n");
  const at = dice.below(lines.length);
  const line = lines[at] ?? "";
  const kind = dice.pick(["cut", "double", "move", "indent", "value"] as const);
  switch (kind) {
    case "cut":
      return lines.toSpliced(at, 1).join("\n");
    case "double":
      return lines.toSpliced(at, 0, line).join("\n");
    case "move":
      return lines.toSpliced(at, 1).toSpliced(dice.below(lines.length), 0, line).join("\n");
    case "indent":
      return lines.with(at, dice.pick([`  ${line}`, line.trimStart()])).join("\n");
    case "value":
      return lines.with(at, line.replace(/: .*$/, `: ${dice.pick(PIECES)}`)).join("\n");
  }
}

function mutatedPart(text: string, dice: Mulberry32): string {
  const from = dice.below(text.length + 1);
  const to = Math.min(text.length, from + dice.below(40));
  const [before, part, after] = [text.slice(0, from), text.slice(from, to), text.slice(to)];
  const kind = dice.pick(["cut", "double", "insert", "overwrite", "swap"] as const);
  switch (kind) {
    case "cut":
      return before + after;
    case "double":
      return before + part + part + after;
    case "insert":
      return before + dice.pick(PIECES) + part + after;
    case "overwrite":
      return before + dice.pick(PIECES) + after;
    case "swap":
      return after + part + before;
  }
}
