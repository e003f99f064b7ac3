// docs/local-api.md ("Clients"): every verb has a cell for every client, and each cell names a test that exists, or why there
// is none.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dir, "../../..");
const VERBS: readonly string[] = [
  "get",
  "get -w",
  "describe",
  "logs -f",
  "exec -it",
  "attach",
  "cp, both ways",
  "port-forward",
  "top",
  "explain",
  "apply --server-side",
  "create",
  "delete",
  "wait",
  "events",
  "refused without credentials",
  "refused to a read-only user",
];
/** What the titles of a column's tests begin with; undefined = anything. */
const CLIENTS: readonly (RegExp | undefined)[] = [
  /^Debian's kubectl/,
  /^(?:a present kubectl|describe \w+ \w+ is kubectl's)/,
  undefined,
  /^client-node/,
];

interface Cell {
  readonly verb: string;
  readonly column: number;
  readonly text: string;
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

function rows(): readonly (readonly string[])[] {
  const section = read("docs/local-api.md").split("\n## Clients\n")[1]?.split("\n## ")[0] ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("| "));
  return lines.slice(2).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const CELLS: readonly Cell[] = rows().flatMap(([verb = "", ...cells]) =>
  cells.map((text, column) => ({ verb, column, text })),
);

const LINK = /\[[^\]]+\]\(\.\.\/(\S+) "([^"]+)"\)/;
/** A title right behind the name of a function that declares a test. */
const TITLE = /\b(?:test|e2e|stage\.test|besidePresent)\)?\(\s*(["`])((?:\\.|(?!\1)[^\\])*)\1/g;

/** Of the tests of a file; what a template inserts may be anything. */
function titlesOf(path: string): readonly RegExp[] {
  return [...read(path).matchAll(TITLE)].map(([, , title = ""]) => {
    const parts = title.split(/\$\{[^}]*\}/).map((part) => RegExp.escape(part));
    return new RegExp(`^${parts.join(".+")}$`);
  });
}

/** undefined = the cell is as it should be. */
function wrongWith({ column, text }: Cell): string | undefined {
  const [, path, title = ""] = LINK.exec(text) ?? [];
  if (path === undefined)
    return /^– \S{2,} .{5,}$/.test(text) ? undefined : "names neither a test nor a reason";
  if (!existsSync(join(ROOT, path))) return `there is no ${path}`;
  if (!titlesOf(path).some((one) => one.test(title))) return `${path} has no test "${title}"`;
  return CLIENTS[column]?.test(title) === false ? `"${title}" is of another client` : undefined;
}

describe("the table of clients", () => {
  test("has every verb, with a cell for every client", () => {
    expect(rows().map(([verb]) => verb)).toEqual([...VERBS]);
    expect(CELLS).toHaveLength(VERBS.length * CLIENTS.length);
  });

  test("names tests that exist, of that client", () => {
    const wrong = CELLS.map((cell) => [cell.verb, wrongWith(cell)] as const);
    expect(wrong.filter(([, why]) => why !== undefined)).toEqual([]);
  });

  test.each([
    ["", "names neither a test nor a reason"],
    ["– no", "names neither a test nor a reason"],
    ['[a](../test/e2e/none.test.ts "x")', "there is no test/e2e/none.test.ts"],
    [
      '[a](../test/e2e/client-node.test.ts "client-node flies")',
      'test/e2e/client-node.test.ts has no test "client-node flies"',
    ],
    [
      '[a](../test/e2e/client-node.test.ts "client-node forwards a port")',
      '"client-node forwards a port" is of another client',
    ],
  ])("would not be content with %j", (text, why) => {
    expect(wrongWith({ verb: "get", column: 0, text })).toBe(why);
  });
});
