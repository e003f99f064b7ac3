// Runs everything: the checks of the source, the tests in process in random order, the tests on the real parts.
// The last line is `N passed, N failed`; with arguments, only the test files that match them.

import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";

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
const ON_REAL_PARTS = "test/e2e/**/*.test.ts";
const LANES = 3;
const LONG = [
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

/** A check of the source counts as one test. */
async function check(name: string, command: readonly string[]): Promise<TestCounts> {
  const code = await inherit(command);
  console.log(`${code === 0 ? "(pass)" : "(fail)"} ${name}\n`);
  return code === 0 ? { ...NO_TESTS, passed: 1 } : { ...NO_TESTS, failed: 1 };
}

/** `run`: performs the command and gives its exit code. */
async function suite(
  name: string,
  args: readonly string[],
  run: (command: readonly string[]) => Promise<number> = inherit,
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

async function inherit(command: readonly string[]): Promise<number> {
  return start(command, "inherit").exited;
}

/** Says everything when it has ended. */
async function told(command: readonly string[]): Promise<number> {
  const said = join(reports, `${reported}.log`);
  reported += 1;
  const log = openSync(said, "a");
  const code = await start(command, log).exited;
  closeSync(log);
  process.stdout.write(readFileSync(said));
  rmSync(said);
  return code;
}

function start(command: readonly string[], output: "inherit" | number): Bun.Subprocess {
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
    counts = addCounts(counts, await suite("in-process", ["--randomize", ...inProcess]));
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
console.log(summary(counts));
process.exit(counts.failed > 0 || counts.passed + counts.skipped === 0 ? 1 : 0);
