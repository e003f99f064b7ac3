// Two laws: what another party chooses is bounded, and each kind of work has a hand (start-guard). The pages, the source and
// the map of limits.ts agree.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { HANDS, LIMITS_OF_FILES, LIMITS_OF_INPUT, NO_ROWS, type Limit } from "./limits.ts";

const ROOT = resolve(import.meta.dir, "../../..");
const SOURCES: ReadonlyMap<string, string> = new Map(
  [...new Bun.Glob("**/*.ts").scanSync({ cwd: join(ROOT, "src") })].map((file) => [
    file,
    readFileSync(join(ROOT, "src", file), "utf8"),
  ]),
);
const page = (name: string): string => readFileSync(join(ROOT, "docs", name), "utf8");

interface Row {
  readonly input: string;
  readonly bound: string;
}

/** The rows of the first table after `head`. */
function rowsAfter(text: string, { head, column }: { head: string; column: number }): Row[] {
  const lines = (text.split(head)[1] ?? "").split("\n").slice(1);
  const first = lines.findIndex((line) => line.startsWith("| "));
  const end = lines.findIndex((line, at) => at > first && !line.startsWith("|"));
  return lines.slice(first, end).flatMap((line) => {
    const cells = line.split("|").map((cell) => cell.trim());
    const [input, bound] = [cells[1] ?? "", cells[column] ?? ""];
    return input.startsWith("---") ? [] : [{ input, bound }];
  });
}

const INPUTS = rowsAfter(page("security.md"), { head: "\n## Limits of input\n", column: 3 }).slice(
  1,
);
const FILES = rowsAfter(page("config-and-secrets.md"), { head: "\n| limit | |", column: 2 });

/** The value of a product, a quotient or a sum of numbers and constants. */
function valueOf(file: string, expression: string): number {
  const [first = "", ...rest] = expression
    .replace(/ as const.*/, "")
    .trim()
    .split(/ ([*/]|<<) /);
  let value = termOf(file, first);
  for (let at = 0; at + 1 < rest.length; at += 2) {
    const other = termOf(file, rest[at + 1] ?? "");
    if (rest[at] === "*") value *= other;
    else if (rest[at] === "/") value /= other;
    else value *= 2 ** other;
  }
  return value;
}

function termOf(file: string, term: string): number {
  if (/^[\d_]+(\.\d+)?n?$/.test(term)) return Number(term.replaceAll(/[_n]/g, ""));
  const declares = ([, text]: readonly [string, string]): boolean =>
    new RegExp(`^(export )?const ${term}\\b`, "m").test(text);
  const own: readonly [string, string] = [file, SOURCES.get(file) ?? ""];
  const [where] = declares(own) ? own : ([...SOURCES].find(declares) ?? [""]);
  return constantOf(`${where} ${term}`);
}

/** `file NAME` or `file NAME.key`, or `file NAME.key.key` of an object of objects. */
function constantOf(id: string): number {
  const [file = "", name = ""] = id.split(" ");
  const [constant = "", ...keys] = name.split(".");
  const declared = new RegExp(`^(?:export )?const ${constant}(?:: [^=]+)? = ([^;]+);`, "m");
  let text = declared.exec(SOURCES.get(file) ?? "")?.[1];
  for (const key of keys)
    text = new RegExp(`\\b${key}: (\\{[^}]*\\}|[^,}]+)`).exec(text ?? "")?.[1];
  if (text === undefined) throw new Error(`src/${file} has no constant ${name}`);
  return valueOf(file, text);
}

const UNITS: Readonly<Record<string, number>> = {
  KiB: 1024,
  MiB: 1024 ** 2,
  kB: 1000,
  minutes: 60,
  hours: 3600,
};

/** "64 KiB" is 65536, "10 minutes" are 600, "one in 10 s" is 0.1. */
function amountOf(words: string): number {
  const [, every, number = "", unit = ""] = /(one in )?(one|\d[\d,]*)(?: (\w+))?/.exec(words) ?? [];
  const amount = number === "one" ? 1 : Number(number.replaceAll(",", "")) * (UNITS[unit] ?? 1);
  return every === undefined ? amount : 1 / amount;
}

/** Constants in milliseconds are written in seconds. */
function writtenValue(id: string): number {
  return id.endsWith("_MS") ? constantOf(id) / 1000 : constantOf(id);
}

const idsOf = (limits: readonly Limit[]): readonly string[] =>
  limits.flatMap(({ bounds }) => Object.values(bounds)).flat();

describe.each([
  ["docs/security.md", INPUTS, LIMITS_OF_INPUT],
  ["docs/config-and-secrets.md", FILES, LIMITS_OF_FILES],
] as const)("the limits of %s", (_, rows, limits) => {
  test("are those of the map, one for each row", () => {
    expect(rows.map(({ input }) => input)).toEqual(limits.map(({ input }) => input));
    expect(rows.length).toBeGreaterThan(3);
  });

  test.each(limits.map((limit) => [limit.input, limit] as const))(
    "have the numbers of the source: %s",
    (input, { bounds, names = [] }) => {
      const cell = rows.find((row) => row.input === input)?.bound ?? "";
      let left = cell.replaceAll(/\]\([^)]*\)/g, "]");
      for (const words of [...names, ...Object.keys(bounds)]) {
        expect([words, left.includes(words)]).toEqual([words, true]);
        left = left.replace(words, "");
      }
      expect(left).not.toMatch(/\d|\bone\b/);
      for (const [words, ids] of Object.entries(bounds))
        for (const id of [ids].flat())
          expect([id, writtenValue(id)]).toEqual([id, amountOf(words)]);
    },
  );

  test("are shown by tests that exist", () => {
    for (const { input, tests } of limits) {
      expect([input, tests.length > 0]).toEqual([input, true]);
      for (const one of tests)
        expect([one, existsSync(join(ROOT, "test", one))]).toEqual([one, true]);
    }
  });
});

test("every constant MAX_… bounds a row of the pages, or has a reason to need none", () => {
  const declared = [...SOURCES].flatMap(([file, text]) =>
    [...text.matchAll(/^(?:export )?const (MAX_[A-Z_0-9]+)\b/gm)].map(
      ([, name]) => `${file} ${name}`,
    ),
  );
  const mapped = new Set([...idsOf(LIMITS_OF_FILES), ...idsOf(LIMITS_OF_INPUT)]);
  const excused = Object.values(NO_ROWS).flat();
  expect(excused.filter((id) => mapped.has(id))).toEqual([]);
  const bounds = [...mapped].filter((id) => id.includes(" MAX_"));
  expect([...bounds, ...excused].toSorted()).toEqual(declared.toSorted());
});

describe("the start guard", () => {
  const KINDS = Object.keys(HANDS).map((kind) => kind.toLowerCase());

  test("has a hand for each kind of work that the table of ends names", () => {
    const line =
      /^\| twice in the hand of one ([^|]+) \|/m.exec(page("architecture.md"))?.[1] ?? "";
    expect(line.split(/, | or /).toSorted()).toEqual(KINDS.toSorted());
  });

  test.each(Object.entries(HANDS))("%s: its work is in hand where it is done", (kind, hand) => {
    const maker = `${kind.toLowerCase()}Hand(`;
    const callers = [...SOURCES].flatMap(([file, text]) =>
      text.includes(maker) && !file.startsWith("store/start-guard/") ? [file] : [],
    );
    expect(callers.toSorted()).toEqual([...hand.holders].toSorted());
    for (const one of hand.tests)
      expect(readFileSync(join(ROOT, "test", one), "utf8")).toMatch(/guard|hand/i);
  });
});
