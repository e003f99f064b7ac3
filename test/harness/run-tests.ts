// Runs everything: the checks of the source, the tests in process in random order, the tests on the real parts.
// Ends with what failed, once more, and the line `N passed, N failed`; with arguments, only the test files that match.

import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";

import { failures, MAX_LINES } from "./failures.ts";
import { addCounts, countJUnit, NO_TESTS, summary, type TestCounts } from "./junit.ts";
import { SKIPS_VARIABLE } from "./skip-reasons.ts";
import { spentSince, timesNow } from "./spent-time.ts";
import { sweepLeftovers } from "./temp-directory.ts";

const ROOT = resolve(import.meta.dir, "../..");
const SIMULATION = "test/agent/simulation.test.ts";
const REST_OF_AGENT = [...new Bun.Glob("test/agent/*.test.ts").scanSync(ROOT)]
  .filter((file) => file !== SIMULATION)
  .toSorted();
/** A process each, two at once, the longest first: so both cores have work to the end. */
const IN_PROCESS: readonly (readonly string[])[] = [
  ["test/component"],
  [SIMULATION],
  REST_OF_AGENT,
  ["test/architecture.test.ts", "test/harness", "test/release", "test/unit"],
];
const IN_PROCESS_LANES = 2;
/** Of the whole agent: freed memory stays with the process, since taking it anew is a quarter of the processor's time. */
const OF_AGENT: Readonly<Record<string, string>> = { MIMALLOC_PURGE_DELAY: "-1" };
/** Chromium gives up what it loads whenever a network interface of the machine comes or goes, as those of pods do. */
const ALONE = ["page", "fleet-page"];
/** A test that hangs ends; one that only waits for a busy machine does not. */
const IN_PROCESS_TIMEOUT = "--timeout=60000";
const ON_REAL_PARTS = "test/e2e/**/*.test.ts";
const LANES = 3;
const LONG = [
  "attacks",
  "rollback",
  "rollback-killed",
  "answers",
  "broker-trouble",
  "holds",
  "fleet",
  "trust",
];
/** What depends on the version of containerd most runs on these too: variables that name their binaries. */
const OTHER_CONTAINERDS = ["CONTAINERD17", "CONTAINERD2"];
const ON_OTHER_CONTAINERDS = [
  "image-archives",
  "image-gc",
  "image-pull-secrets",
  "pod-life",
  "registry",
  "registry-hosts",
  "restart-policy",
  "stats",
];
/** So many files on real parts that failed beside others run once more, alone; where more failed, it is not the machine. */
const MAX_SECOND_RUNS = 10;
const bun = process.execPath;
const reports = mkdtempSync(join(tmpdir(), "agent-reports-"));
const skips = join(reports, "skips");
/** Files that have said something. */
let reported = 0;
/** What failed, as it was said. */
const failed: string[] = [];
/** The same of files that passed in their second run. */
const flaky: string[] = [];

/** How long each part took, and how much of the machine was left: a failure on a slow machine tells so. */
const spent: string[] = [];

/** A check of the source counts as one test. */
async function check(name: string, command: readonly string[]): Promise<TestCounts> {
  const code = await aloud(command);
  console.log(`${code === 0 ? "(pass)" : "(fail)"} ${name}\n`);
  return code === 0 ? { ...NO_TESTS, passed: 1 } : { ...NO_TESTS, failed: 1 };
}

/** `run`: performs the command and gives its exit code. */
async function suite(
  name: string,
  args: readonly string[],
  run: (command: readonly string[]) => Promise<number> = aloud,
): Promise<TestCounts> {
  const report = join(reports, `${name}.xml`);
  const code = await run([
    bun,
    "test",
    "--isolate",
    "--reporter=junit",
    `--reporter-outfile=${report}`,
    ...args,
  ]);
  const counts = existsSync(report) ? countJUnit(readFileSync(report, "utf8")) : NO_TESTS;
  // A file that does not load, or an error between two tests, is in no test case.
  return code !== 0 && counts.failed === 0 ? addCounts(counts, { ...NO_TESTS, failed: 1 }) : counts;
}

async function inProcess(paths: readonly string[]): Promise<TestCounts> {
  const found = withTests(paths);
  if (found.length === 0) return NO_TESTS;
  const name = `in-process-${IN_PROCESS.indexOf(paths)}`;
  const isOfAgent = found.every((path) => path.startsWith("test/agent/"));
  const run = (command: readonly string[]): Promise<number> =>
    told(command, { title: name, env: isOfAgent ? OF_AGENT : {}, failed });
  return suite(name, ["--randomize", IN_PROCESS_TIMEOUT, ...found], run);
}

/** A test file on real parts; `containerd`: a directory with another one than that on PATH. */
interface RealFile {
  readonly file: string;
  readonly containerd?: { readonly name: string; readonly directory: string };
}

/** One run of a file in a process of its own. */
interface Outcome extends RealFile {
  readonly counts: TestCounts;
  /** What failed, as it was said. */
  readonly failed: readonly string[];
}

/** A few at once: they mostly wait, and what one says stays together. */
function sideBySide(files: readonly RealFile[]): Promise<readonly Outcome[]> {
  const sorted = files.toSorted((a, b) => rank(a.file) - rank(b.file));
  return inLanes(sorted, LANES, runFile);
}

/** In their order, so many at a time. */
async function inLanes<T, R>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const waiting = [...items];
  const all: R[] = [];
  const lane = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
      all.push(await work(one));
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return all;
}

async function runFile(one: RealFile): Promise<Outcome> {
  const { file, containerd } = one;
  const title = titleOf(one);
  const path = `${containerd === undefined ? "" : `${containerd.directory}:`}${process.env["PATH"] ?? ""}`;
  const said: string[] = [];
  const run = (command: readonly string[]): Promise<number> =>
    told(command, { title, env: { PATH: path }, failed: said });
  const counts = await suite(title, ["--timeout=180000", file], run);
  return { ...one, counts, failed: said };
}

function titleOf({ file, containerd }: RealFile): string {
  return `${basename(file)}${containerd === undefined ? "" : ` on ${containerd.name}`}`;
}

/** With a second run, alone, of what failed: a machine that was too slow for several at once is no fault, but it is said. */
async function withSecondRuns(outcomes: readonly Outcome[]): Promise<readonly Outcome[]> {
  const bad = outcomes.filter(({ counts }) => counts.failed > 0);
  if (bad.length > MAX_SECOND_RUNS) return outcomes;
  const again = new Map<Outcome, Outcome>();
  for (const first of bad) {
    const second = await runFile(first);
    again.set(first, second);
    if (second.counts.failed > 0) continue;
    flaky.push(`${titleOf(first)} failed beside others and passed alone:`, ...first.failed);
  }
  return outcomes.map((outcome) => again.get(outcome) ?? outcome);
}

/** The longest begin first. */
function rank(file: string): number {
  const place = LONG.indexOf(basename(file, ".test.ts"));
  return place < 0 ? LONG.length : place;
}

/** Says everything as it comes. */
async function aloud(command: readonly string[]): Promise<number> {
  const child = start(command, "pipe");
  const said: Uint8Array[] = [];
  const pass = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const bytes of stream) {
      said.push(bytes);
      process.stdout.write(bytes);
    }
  };
  await Promise.all([pass(child.stdout), pass(child.stderr)]);
  return keepFailures(await child.exited, Buffer.concat(said).toString(), failed);
}

interface Telling {
  readonly title: string;
  readonly env: Readonly<Record<string, string>>;
  /** Takes what failed. */
  readonly failed: string[];
}

/** Says everything when it has ended. */
async function told(
  command: readonly string[],
  { title, env, failed: kept }: Telling,
): Promise<number> {
  const path = join(reports, `${reported}.log`);
  reported += 1;
  const log = openSync(path, "a");
  const code = await start(command, log, env).exited;
  closeSync(log);
  const said = readFileSync(path);
  if (title.includes(" on ")) process.stdout.write(`\n${title}:\n`);
  process.stdout.write(said);
  rmSync(path);
  return keepFailures(code, said.toString(), kept);
}

/** The exit code. A command that failed without a failed test is kept by its last words. */
function keepFailures(code: number, said: string, kept: string[]): number {
  const found = failures(said);
  kept.push(...found);
  if (code !== 0 && found.length === 0) kept.push(said.split("\n").slice(-MAX_LINES).join("\n"));
  return code;
}

function start<Output extends "pipe" | number>(
  command: readonly string[],
  output: Output,
  env: Readonly<Record<string, string>> = {},
): Bun.Subprocess<"ignore", Output, Output> {
  return Bun.spawn([...command], {
    cwd: ROOT,
    stdin: "ignore",
    stdout: output,
    stderr: output,
    env: { ...process.env, ...env, [SKIPS_VARIABLE]: skips },
  });
}

function withTests(paths: readonly string[]): readonly string[] {
  const holdsTests = (path: string): boolean =>
    path.endsWith(".ts")
      ? existsSync(join(ROOT, path))
      : [...new Bun.Glob(`${path}/**/*.test.ts`).scanSync(ROOT)].length > 0;
  return paths.filter(holdsTests);
}

async function everything(): Promise<TestCounts> {
  let counts = await check("format", [bun, "fmt", "--check", "src", "test/**/*.ts"]);
  counts = addCounts(counts, await check("types", [bun, "check"]));
  const lint = [join(ROOT, "node_modules/.bin/oxlint"), "--type-aware", "src", "test"];
  counts = addCounts(counts, await check("lint", lint));
  let began = timesNow();
  counts = (await inLanes(IN_PROCESS, IN_PROCESS_LANES, inProcess)).reduce(addCounts, counts);
  spent.push(`in process: ${spentSince(began)}`);
  began = timesNow();
  const real = [...new Bun.Glob(ON_REAL_PARTS).scanSync(ROOT)].toSorted();
  const others = OTHER_CONTAINERDS.flatMap((name) => onOther(name, real));
  const isAlone = ({ file }: RealFile): boolean => ALONE.includes(basename(file, ".test.ts"));
  const all: readonly RealFile[] = [...real.map((file) => ({ file })), ...others];
  const first = [
    ...(await sideBySide(all.filter(isAlone))),
    ...(await sideBySide(all.filter((one) => !isAlone(one)))),
  ];
  const outcomes = await withSecondRuns(first);
  failed.push(...outcomes.flatMap((outcome) => outcome.failed));
  counts = outcomes.map((outcome) => outcome.counts).reduce(addCounts, counts);
  spent.push(`on the real parts: ${spentSince(began)}`);
  return counts;
}

function onOther(name: string, real: readonly string[]): readonly RealFile[] {
  const binary = process.env[name] ?? "";
  if (binary === "") {
    console.log(`skipped: $${name} names no containerd to test on\n`);
    return [];
  }
  if (!existsSync(binary)) throw new Error(`$${name} names ${binary}, which does not exist`);
  return real
    .filter((file) => ON_OTHER_CONTAINERDS.includes(basename(file, ".test.ts")))
    .map((file) => ({ file, containerd: { name, directory: dirname(resolve(binary)) } }));
}

const filters = process.argv.slice(2);
const counts =
  filters.length === 0
    ? await everything()
    : await suite("chosen", ["--timeout=180000", ...filters]);
sweepLeftovers();
if (existsSync(skips))
  for (const reason of new Set(readFileSync(skips, "utf8").trim().split("\n"))) console.log(reason);
rmSync(reports, { recursive: true, force: true });
if (failed.length > 0) console.log(`\nWhat failed, once more:\n\n${failed.join("\n\n")}\n`);
if (flaky.length > 0) console.log(`\nFlaky:\n\n${flaky.join("\n\n")}\n`);
if (spent.length > 0) console.log(`${spent.join("\n")}\n`);
console.log(summary(counts));
process.exit(counts.failed > 0 || counts.passed + counts.skipped === 0 ? 1 : 0);
