// Who may import whom, what only the edges may touch, and which files only decide. These tables are the
// architecture's diagram: change them only together with a decision in docs/decisions.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Every room, from the top floor down. Each arrow points to a lower floor; rooms of one floor do not know each other. */
const FLOORS: readonly (readonly string[])[] = [
  ["main.ts"],
  ["fleet"],
  ["cli", "agent"],
  ["server", "command"],
  ["node"],
  ["upstream"],
  ["rollout"],
  ["podworkers", "provision"],
  ["source", "image", "pleg", "prober", "eviction", "status", "self-update"],
  ["trust", "runtime", "volume", "stats"],
  ["edges.ts"],
  ["containerd"],
  ["cri", "mqtt", "store", "host"],
  ["config"],
  ["protocol"],
  ["api"],
  ["lib"],
];

/** Which rooms may import a package; a package that is not here may be imported nowhere. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "@grpc/grpc-js": ["cri", "containerd"],
  "@bufbuild/protobuf": ["cri", "containerd", "runtime", "pleg", "image", "agent"],
  "better-sqlite3": ["store"],
  mqtt: ["mqtt"],
  ws: ["mqtt", "server"],
  yaml: ["api", "cli"],
  commander: ["cli", "fleet"],
  "@peculiar/x509": ["server"],
  // What @peculiar/x509 needs to be loaded.
  "reflect-metadata": ["server"],
};

/** Rooms that may use the platform (`node:…`, `bun:…`, `Bun.…`), and single files that may. */
const PLATFORM_ROOMS: readonly string[] = [
  "cri",
  "containerd",
  "mqtt",
  "store",
  "host",
  "server",
  "cli",
  "fleet",
  "agent",
  "main.ts",
];
const PLATFORM_FILES = /^lib\/(?:files\/)?system-[\w-]+\.ts$/;

/** The one file that reads clocks, sets timers and throws dice. */
const CLOCK_FILE = "lib/system-clock.ts";

/** A file decides unless its first line begins so. */
const PERFORMS = "// Performs: ";

/** More files than this hide each other: a folder wants rooms inside it. */
const MAX_FILES = 22;

/** Time and randomness that come in as `Clock` and `Random`. */
const CLOCK_WORDS: Readonly<Record<string, RegExp>> = {
  "Date.now": /\bDate\.now\b/,
  "new Date()": /\bnew Date(?:\(\s*\)|\s*[;,)])/,
  "performance.now": /\bperformance\.now\b/,
  setTimeout: /\bsetTimeout\b/,
  setInterval: /\bsetInterval\b/,
  "AbortSignal.timeout": /\bAbortSignal\.timeout\b/,
  "Bun.sleep": /\bBun\.(?:sleep|nanoseconds)\b/,
  "process.hrtime": /\bprocess\.(?:hrtime|uptime)\b/,
  "Math.random": /\bMath\.random\b/,
  randomUUID: /\brandomUUID\b/,
  getRandomValues: /\b(?:getRandomValues|randomBytes|randomInt)\b/,
};

const IMPURE_WORDS: Readonly<Record<string, RegExp>> = {
  await: /\bawait\b/,
  "process.": /\bprocess\./,
};

const PLATFORM_WORD = /\bBun\./;

interface SourceFile {
  /** Below src/, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** Every violation as a sentence; [] = the tree is as designed. */
function violations(files: readonly SourceFile[]): readonly string[] {
  const found: string[] = [];
  const graph = new Map<string, readonly string[]>();
  const performing = new Set(files.filter(performs).map(({ path }) => path));
  for (const file of files) {
    const imports = importsOf(file.text);
    graph.set(
      file.path,
      imports.flatMap((specifier) => localTarget(file.path, specifier) ?? []),
    );
    found.push(...imports.flatMap((specifier) => importViolation(file.path, specifier) ?? []));
    found.push(...wordViolations(file));
    if (!performs(file)) found.push(...effectsOf(file, performing));
  }
  return [...found, ...crowds(files), ...cycles(graph)];
}

function performs({ text }: SourceFile): boolean {
  return text.startsWith(PERFORMS);
}

/** A file that only decides calls nothing that performs; it may name its types. */
function effectsOf(file: SourceFile, performing: ReadonlySet<string>): readonly string[] {
  return valueImportsOf(file.text)
    .flatMap((specifier) => localTarget(file.path, specifier) ?? [])
    .filter((target) => performing.has(target))
    .map((target) => `${file.path}: decides, and must not call ${target}, which performs`);
}

function crowds(files: readonly SourceFile[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { path } of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > MAX_FILES)
    .map(([folder, count]) => `${folder}/: ${count} files; more than ${MAX_FILES} want rooms`);
}

const IMPORTS = [
  /^\s*(?:import|export)\b[^;'"]*?\bfrom\s*["']([^"']+)["']/gm,
  /^\s*import\s*["']([^"']+)["']/gm,
  /\bimport\s*\(\s*["']([^"']+)["']/g,
];

function importsOf(text: string): readonly string[] {
  return IMPORTS.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? ""));
}

/** Without those that only name types. */
function valueImportsOf(text: string): readonly string[] {
  return importsOf(
    text
      .replaceAll(/^\s*(?:import|export)\s+type\b[^;]*;/gm, "")
      .replaceAll(/\bimport\("[^"]+"\)\./g, ""),
  );
}

function roomOf(path: string): string {
  return path.split("/")[0] ?? path;
}

function localTarget(from: string, specifier: string): string | undefined {
  return specifier.startsWith(".") ? normalize(join(dirname(from), specifier)) : undefined;
}

function floorOf(room: string): number | undefined {
  const floor = FLOORS.findIndex((rooms) => rooms.includes(room));
  return floor < 0 ? undefined : FLOORS.length - floor;
}

function importViolation(path: string, specifier: string): string | undefined {
  const room = roomOf(path);
  const floor = floorOf(room);
  if (floor === undefined) return `${path}: the room ${room} is on no floor`;
  const target = localTarget(path, specifier);
  if (target === undefined) return packageViolation(path, specifier);
  if (target === "../package.json") return undefined;
  if (target.startsWith("../node_modules/"))
    return packageViolation(path, target.slice("../node_modules/".length));
  const to = roomOf(target);
  const toFloor = floorOf(to);
  if (toFloor === undefined) return `${path}: imports ${specifier}, which is in no room`;
  if (room === to || toFloor < floor) return undefined;
  return `${path}: ${room} must not import ${to} (${specifier})`;
}

function packageViolation(path: string, specifier: string): string | undefined {
  const room = roomOf(path);
  if (/^(?:node|bun):|^bun$/.test(specifier)) {
    if (PLATFORM_ROOMS.includes(room) || PLATFORM_FILES.test(path)) return undefined;
    return `${path}: only the edges and the doors may import ${specifier}`;
  }
  // The SQLite addon hides behind the one import condition.
  if (specifier.startsWith("#"))
    return room === "store" ? undefined : `${path}: only store may import ${specifier}`;
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  const rooms = PACKAGES[name];
  if (rooms?.includes(room) === true) return undefined;
  if (rooms === undefined) return `${path}: the package ${name} is not in the table`;
  return `${path}: ${room} must not import ${name}, only ${rooms.join(", ")}`;
}

function wordViolations(file: SourceFile): readonly string[] {
  const code = withoutComments(file.text);
  const found: string[] = [];
  const room = roomOf(file.path);
  const decides = !performs(file);
  if (file.path !== CLOCK_FILE) found.push(...wordsIn(code, CLOCK_WORDS));
  if (decides) found.push(...wordsIn(code, IMPURE_WORDS));
  const platform = PLATFORM_ROOMS.includes(room) || PLATFORM_FILES.test(file.path);
  if ((decides || !platform) && PLATFORM_WORD.test(code)) found.push("Bun.");
  if (decides && importsOf(file.text).some((specifier) => /^(?:node|bun):/.test(specifier)))
    found.push("node:");
  const why = decides ? ` (its first line does not begin with "${PERFORMS.trimEnd()}")` : "";
  return found.map((word) => `${file.path}: must not use ${word}${why}`);
}

function wordsIn(code: string, words: Readonly<Record<string, RegExp>>): readonly string[] {
  return Object.entries(words).flatMap(([word, pattern]) => (pattern.test(code) ? [word] : []));
}

const transpiler = new Bun.Transpiler({ loader: "ts", deadCodeElimination: false });

/** The transpiler drops comments and types; what it keeps is what runs. */
function withoutComments(text: string): string {
  return transpiler.transformSync(text);
}

/** Each import cycle once, as the way round. */
function cycles(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path);
    if (start >= 0) found.push(`import cycle: ${[...way.slice(start), path].join(" → ")}`);
    if (start >= 0 || done.has(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...way, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return found;
}

function readTree(): readonly SourceFile[] {
  const root = join(import.meta.dir, "../src");
  return [...new Bun.Glob("**/*.ts").scanSync({ cwd: root })]
    .filter((path) => !path.split("/").includes("gen"))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

describe("the tree", () => {
  const files = readTree();

  test("is as designed", () => {
    expect(violations(files)).toEqual([]);
  });

  test("is really read", () => {
    const paths = files.map((file) => file.path);
    expect(paths).toContain("main.ts");
    expect(paths).toContain("api/v1/pod.ts");
    expect(paths.filter((path) => path.includes("/gen/"))).toEqual([]);
  });
});

describe("the checker", () => {
  const check = (tree: Readonly<Record<string, string>>) =>
    violations(Object.entries(tree).map(([path, text]) => ({ path, text })));
  const performing = (text: string): string => `// Performs: something.\n\n${text}`;

  const cases: Readonly<Record<string, readonly [path: string, text: string, expected: string[]]>> =
    {
      "lets arrows point down": ["podworkers/a.ts", 'import { b } from "../runtime/b.ts";', []],
      "refuses an arrow that points up": [
        "runtime/a.ts",
        'import { b } from "../podworkers/b.ts";',
        ["runtime/a.ts: runtime must not import podworkers (../podworkers/b.ts)"],
      ],
      "refuses a neighbour of the same floor": [
        "status/a.ts",
        'import type { B } from "../image/b.ts";',
        ["status/a.ts: status must not import image (../image/b.ts)"],
      ],
      "refuses what re-exports from above": [
        "runtime/a.ts",
        'export { b } from "../pleg/b.ts";',
        ["runtime/a.ts: runtime must not import pleg (../pleg/b.ts)"],
      ],
      "sees an import over several lines": [
        "lib/a.ts",
        'import {\n  b,\n  type C,\n} from "../api/b.ts";',
        ["lib/a.ts: lib must not import api (../api/b.ts)"],
      ],
      "sees a dynamic import": [
        "cli/a.ts",
        performing('const { run } = await import("../agent/agent.ts");'),
        ["cli/a.ts: cli must not import agent (../agent/agent.ts)"],
      ],
      "sees a type written as an import": [
        "lib/a.ts",
        'export const b: import("../api/b.ts").B = 1;',
        ["lib/a.ts: lib must not import api (../api/b.ts)"],
      ],
      "refuses a room that is on no floor": [
        "misc/a.ts",
        'import { b } from "../lib/b.ts";',
        ["misc/a.ts: the room misc is on no floor"],
      ],
      "keeps gRPC at the edge": [
        "runtime/a.ts",
        'import { Client } from "@grpc/grpc-js";',
        ["runtime/a.ts: runtime must not import @grpc/grpc-js, only cri, containerd"],
      ],
      "keeps SQLite in the store, deep imports too": [
        "agent/a.ts",
        'import Database from "better-sqlite3/linux-x64";',
        ["agent/a.ts: agent must not import better-sqlite3, only store"],
      ],
      "refuses an unknown package": [
        "cli/a.ts",
        'import pad from "left-pad";',
        ["cli/a.ts: the package left-pad is not in the table"],
      ],
      "refuses the platform above the edges": [
        "source/a.ts",
        performing('import { readFileSync } from "node:fs";'),
        ["source/a.ts: only the edges and the doors may import node:fs"],
      ],
      "refuses Bun above the edges": [
        "image/a.ts",
        performing("export const a = Bun.file('x');"),
        ["image/a.ts: must not use Bun."],
      ],
      "refuses a bare timer anywhere": [
        "host/a.ts",
        performing("setTimeout(() => {}, 5);"),
        ["host/a.ts: must not use setTimeout"],
      ],
      "refuses the wall clock in any spelling": [
        "store/a.ts",
        performing("export const a = [Date.now(), new Date(), new Date];"),
        ["store/a.ts: must not use Date.now", "store/a.ts: must not use new Date()"],
      ],
      "lets a given time be formatted": ["store/a.ts", "export const a = new Date(5);", []],
      "does not read comments": ["host/a.ts", "// no Date.now() here\nexport const a = 1;", []],
      "lets the one clock file do all that": [
        "lib/system-clock.ts",
        performing("setTimeout(() => {}, 1);"),
        [],
      ],
      "lets a file that performs wait and use the platform at an edge": [
        "cli/a.ts",
        performing('import { b } from "node:fs";\nexport const c = await b();'),
        [],
      ],
      "refuses an await in a file that decides": [
        "rollout/a.ts",
        "export async function f() { await g(); }",
        ['rollout/a.ts: must not use await (its first line does not begin with "// Performs:")'],
      ],
      "refuses the platform in a file that decides, at an edge too": [
        "host/a.ts",
        'import { b } from "node:fs";\nexport const a = process.env;',
        [
          'host/a.ts: must not use process. (its first line does not begin with "// Performs:")',
          'host/a.ts: must not use node: (its first line does not begin with "// Performs:")',
        ],
      ],
    };

  test.each(Object.entries(cases))("%s", (_sentence, [path, text, expected]) => {
    expect(check({ [path]: text })).toEqual(expected);
  });

  test("keeps what performs out of what decides, but for its types", () => {
    const b = performing("export class B {}");
    const a = 'import { B } from "./b.ts";\nexport const b = new B();';
    const typed = 'import type { B } from "./b.ts";\nexport type C = B;';
    expect(check({ "runtime/a.ts": a, "runtime/b.ts": b })).toEqual([
      "runtime/a.ts: decides, and must not call runtime/b.ts, which performs",
    ]);
    expect(check({ "runtime/a.ts": performing(a), "runtime/b.ts": b })).toEqual([]);
    expect(check({ "runtime/a.ts": typed, "runtime/b.ts": b })).toEqual([]);
  });

  test("wants rooms inside a crowded folder", () => {
    const names = Array.from({ length: 23 }, (_, index) => `runtime/a${index}.ts`);
    const tree = Object.fromEntries(names.map((name) => [name, "export const a = 1;"]));
    expect(check(tree)).toEqual(["runtime/: 23 files; more than 22 want rooms"]);
  });

  test("finds an import cycle, of types too", () => {
    const tree = {
      "lib/a.ts": 'import { b } from "./b.ts";',
      "lib/b.ts": 'import type { C } from "./c.ts";',
      "lib/c.ts": 'export { a } from "./a.ts";',
    };
    expect(check(tree)).toEqual(["import cycle: lib/a.ts → lib/b.ts → lib/c.ts → lib/a.ts"]);
  });
});
