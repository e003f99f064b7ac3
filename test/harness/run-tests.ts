// Runs everything: the checks of the source, the tests in process in random order, the tests on the real parts.
// Ends with what failed, once more, and the line `N passed, N failed`; with arguments, only the test files that match.

import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";

import { failures, MAX_LINES } from "./failures.ts";
import { addCounts, countJUnit, NO_TESTS, summary, type TestCounts } from "./junit.ts";
import { SKIPS_VARIABLE } from "./skip-reasons.ts";
import { sweepLeftovers } from "./temp-directory.ts";

const ROOT = resolve(import.meta.dir, "../..");
const IN_PROCESS = [
  "test/architecture.test.ts",
  "test/harness",
  "test/unit",
  "test/component",
  "test/agent",
];
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
const bun = process.execPath;
const reports = mkdtempSync(join(tmpdir(), "agent-reports-"));
const skips = join(reports, "skips");
/** Files that have said something. */
let reported = 0;
/** What failed, as it was said. */
const failed: string[] = [];

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

/** Each file in a process of its own, a few at once: they mostly wait, and what one says stays together. */
async function sideBySide(files: readonly string[]): Promise<TestCounts> {
  const waiting = [...files].toSorted((a, b) => rank(a) - rank(b));
  const all: TestCounts[] = [];
  const lane = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift())
      all.push(await suite(basename(file), ["--timeout=180000", file], (command) => told(command)));
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return all.reduce(addCounts, NO_TESTS);
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
  return keepFailures(await child.exited, Buffer.concat(said).toString());
}

/** Says everything when it has ended. */
async function told(command: readonly string[]): Promise<number> {
  const path = join(reports, `${reported}.log`);
  reported += 1;
  const log = openSync(path, "a");
  const code = await start(command, log).exited;
  closeSync(log);
  const said = readFileSync(path);
  process.stdout.write(said);
  rmSync(path);
  return keepFailures(code, said.toString());
}

/** The exit code. A command that failed without a failed test is kept by its last words. */
function keepFailures(code: number, said: string): number {
  const found = failures(said);
  failed.push(...found);
  if (code !== 0 && found.length === 0) failed.push(said.split("\n").slice(-MAX_LINES).join("\n"));
  return code;
}

function start<Output extends "pipe" | number>(
  command: readonly string[],
  output: Output,
): Bun.Subprocess<"ignore", Output, Output> {
  return Bun.spawn([...command], {
    cwd: ROOT,
    stdin: "ignore",
    stdout: output,
    stderr: output,
    env: { ...process.env, [SKIPS_VARIABLE]: skips },
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
  const inProcess = withTests(IN_PROCESS);
  if (inProcess.length > 0)
    counts = addCounts(
      counts,
      await suite("in-process", ["--randomize", IN_PROCESS_TIMEOUT, ...inProcess]),
    );
  const real = [...new Bun.Glob(ON_REAL_PARTS).scanSync(ROOT)].toSorted();
  return addCounts(counts, await sideBySide(real));
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
console.log(summary(counts));
process.exit(counts.failed > 0 || counts.passed + counts.skipped === 0 ? 1 : 0);
