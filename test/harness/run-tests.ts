// Runs everything: the checks of the source, the tests in process in random order, the tests on the real parts.
// The last line is `N passed, N failed`; with arguments, only the test files that match them.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

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
const ON_REAL_PARTS = ["test/e2e"];
const bun = process.execPath;
const reports = mkdtempSync(join(tmpdir(), "agent-reports-"));
const skips = join(reports, "skips");

/** A check of the source counts as one test. */
async function check(name: string, command: readonly string[]): Promise<TestCounts> {
  const code = await inherit(command);
  console.log(`${code === 0 ? "(pass)" : "(fail)"} ${name}\n`);
  return code === 0 ? { ...NO_TESTS, passed: 1 } : { ...NO_TESTS, failed: 1 };
}

async function suite(name: string, args: readonly string[]): Promise<TestCounts> {
  const report = join(reports, `${name}.xml`);
  const code = await inherit([
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

async function inherit(command: readonly string[]): Promise<number> {
  const child = Bun.spawn([...command], {
    cwd: ROOT,
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    env: { ...process.env, [SKIPS_VARIABLE]: skips },
  });
  return child.exited;
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
  const real = withTests(ON_REAL_PARTS);
  if (real.length > 0)
    counts = addCounts(counts, await suite("real-parts", ["--timeout=180000", ...real]));
  return counts;
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
