// What holds for every page: links lead somewhere, named files exist, and no page cites a paper that is not here.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

import { MUTATIONS } from "../../agent/mutations.ts";

const ROOT = resolve(import.meta.dir, "../../..");
const PAGES = ["*.md", "docs/**/*.md"]
  .flatMap((glob) => [...new Bun.Glob(glob).scanSync({ cwd: ROOT })])
  .toSorted();
/** What is decided is history: the files it names may have gone. */
const HISTORY = "docs/decisions/";

function read(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

/** Without blocks of code. */
function prose(page: string): string {
  return read(page).replaceAll(/^```[^]*?^```/gm, "");
}

/** As GitHub makes them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = [...prose(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
  return new Set(headings);
}

function linksOf(page: string): readonly string[] {
  const markdown = [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)];
  const pictures = [...prose(page).matchAll(/\b(?:src|srcset)="([^"]+)"/g)];
  return [...markdown, ...pictures]
    .map(([, link = ""]) => link)
    .filter((link) => !/^[a-z]+:/.test(link));
}

/** undefined = it leads somewhere. */
function brokenLink(page: string, link: string): string | undefined {
  const [file = "", anchor] = link.split("#");
  const target = file === "" ? page : relative(ROOT, resolve(ROOT, dirname(page), file));
  if (!existsSync(join(ROOT, target))) return `${link}: there is no ${target}`;
  if (anchor === undefined || anchorsOf(target).has(anchor)) return undefined;
  return `${link}: ${target} has no heading for #${anchor}`;
}

const PAGE_NAMES = new Set(PAGES.map((page) => basename(page)));
const PAPER = /(?<![\w<*-])[A-Z][\w-]*\.md\b|\b[A-Z]{2,}(?:-[A-Z]+)? §[\w.]+|\blaws? \d+\b/g;

/** Papers, sections and numbered laws that a reader could not find here. */
function foreignCitations(text: string): readonly string[] {
  return [...text.matchAll(PAPER)]
    .map(([cited]) => cited)
    .filter((cited) => !PAGE_NAMES.has(cited));
}

describe.each(PAGES)("%s", (page) => {
  test("has links that lead somewhere", () => {
    expect(linksOf(page).flatMap((link) => brokenLink(page, link) ?? [])).toEqual([]);
  });

  test("cites no page that is not in the repository", () => {
    expect(foreignCitations(prose(page))).toEqual([]);
  });

  test("names only files that exist", () => {
    if (page.startsWith(HISTORY) || page === "CHANGELOG.md") return;
    const named = [...prose(page).matchAll(/`((?:[\w-]+\/)+[\w.-]+\.(?:ts|yaml|sh))`/g)];
    const missing = named
      .map(([, path = ""]) => path)
      .filter((path) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, "src", path)));
    expect(missing).toEqual([]);
  });
});

test("no source file and no test cites a page that is not in the repository", () => {
  const files = ["src/**/*.ts", "test/**/*.ts"]
    .flatMap((glob) => [...new Bun.Glob(glob).scanSync({ cwd: ROOT })])
    .toSorted();
  const cited = files.map((file) => [file, foreignCitations(read(file))] as const);
  expect(cited.filter(([, found]) => found.length > 0)).toEqual([]);
});

test("docs/architecture.md names functions and classes that exist", () => {
  const source = [...new Bun.Glob("**/*.ts").scanSync({ cwd: join(ROOT, "src") })]
    .map((path) => read(join("src", path)))
    .join("\n");
  const walks = prose("docs/architecture.md").split("\n## Walk").slice(1).join("\n");
  const named = [...walks.matchAll(/\.ts` `(\w+)`/g)].map(([, name = ""]) => name);
  expect(named.length).toBeGreaterThan(15);
  const unknown = named.filter(
    (name) => !new RegExp(`(?:function|class|async|  #?)\\s?\\b${name}\\b[<( ]`).test(source),
  );
  expect(unknown).toEqual([]);
});

test("docs/architecture.md shows the floors of the architecture test", () => {
  const table =
    /const FLOORS[^=]*= \[([^]*?)\n\];/.exec(read("test/architecture.test.ts"))?.[1] ?? "";
  const floors = [...table.matchAll(/\[(.*?)\]/g)].map(([, rooms = ""]) =>
    [...rooms.matchAll(/"([^"]+)"/g)].map(([, room = ""]) => room),
  );
  const rows = [...prose("docs/architecture.md").matchAll(/^\| \d+ \| (.*?) \|/gm)].map(
    ([, rooms = ""]) => [...rooms.matchAll(/`([^`]+)`/g)].map(([, room = ""]) => room),
  );
  const sorted = (all: readonly (readonly string[])[]): unknown => all.map((row) => row.toSorted());
  expect(sorted(rows)).toEqual(sorted(floors));
});

test("docs/testing.md has every deliberate bug, once", () => {
  const rows = [...read("docs/testing.md").matchAll(/^\| (.*?) \| \d+ \| /gm)].map(
    ([, name = ""]) => name,
  );
  expect(rows.toSorted()).toEqual(MUTATIONS.map(({ name }) => name).toSorted());
});

test("README.md and docs/architecture.md stay short", () => {
  const sizes = ["README.md", "docs/architecture.md"].map((page) => Buffer.byteLength(read(page)));
  expect(sizes[0]).toBeLessThanOrEqual(8 * 1024);
  expect(sizes[1]).toBeLessThanOrEqual(15 * 1024);
});
