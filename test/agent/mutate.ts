// Checks the simulation itself: performs one deliberate bug in a copy of the tree and runs seeds until one fails.
//
//   bun test/agent/mutate.ts                       all of them, each with up to 500 seeds
//   bun test/agent/mutate.ts "no back-off"         one, or some
//   bun test/agent/mutate.ts --seeds 2000          patiently; --first 17 --seeds 1 = with one seed only;
//                                                  --patience 3600 = seconds for each, on a machine that has much to do
//   bun test/agent/mutate.ts --listed              each with the seed of its row in docs/testing.md only; 2 minutes

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MUTATIONS, type Mutation } from "./mutations.ts";
import { simulateJobDays } from "../fakes/job-days.ts";
import { simulate } from "./sim-run.ts";

const ROOT = join(import.meta.dirname, "../..");
const COPIED = [
  "src",
  "test/agent",
  "test/fakes",
  "test/component/store",
  "test/unit/api/digest.ts",
  "package.json",
];
const NOT_FOUND = "not found";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: "string", default: "500" },
    first: { type: "string", default: "0" },
    /** Seconds for one mutation: a mutant may never come to an end. */
    patience: { type: "string", default: "300" },
    /** In the copy: run seeds, say the first that fails. */
    hunt: { type: "boolean", default: false },
    jobs: { type: "boolean", default: false },
    listed: { type: "boolean", default: false },
  },
});
const count = Number(values.seeds);
const first = Number(values.first);

async function hunt(): Promise<string> {
  for (let seed = first; seed < first + count; seed += 1) {
    process.stderr.write(`${seed}\n`);
    const { violation } = await (values.jobs ? simulateJobDays(seed) : simulate(seed));
    if (violation !== undefined) return `${seed} | ${violation.slice(0, 160)}`;
  }
  return NOT_FOUND;
}

function mutated({ file, search, replacement }: Mutation): string {
  const copy = mkdtempSync(join(tmpdir(), "agent-mutant-"));
  for (const part of COPIED) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  const path = join(copy, file);
  const text = readFileSync(path, "utf8");
  if (text.split(search).length !== 2) throw new Error(`${file} has not once: ${search}`);
  writeFileSync(
    path,
    text.replace(search, () => replacement),
  );
  return copy;
}

/** Seed of each row in the table of deliberate bugs. */
function listedSeeds(): ReadonlyMap<string, number> {
  const rows = readFileSync(join(ROOT, "docs/testing.md"), "utf8").matchAll(
    /^\| ([^|]+) \| (\d+) \| [^|]+ \|$/gm,
  );
  return new Map([...rows].map(([, name = "", seed]) => [name, Number(seed)]));
}

interface Seeds {
  readonly first: number;
  readonly count: number;
}

async function find(mutation: Mutation, seeds: Seeds): Promise<string> {
  const copy = mutated(mutation);
  try {
    const script = join(copy, "test/agent/mutate.ts");
    const child = Bun.spawn(
      [
        process.execPath,
        script,
        "--hunt",
        `--seeds=${seeds.count}`,
        `--first=${seeds.first}`,
        ...(mutation.simulation === "jobs" ? ["--jobs"] : []),
      ],
      {
        cwd: copy,
        stdout: "pipe",
        stderr: "pipe",
        timeout: 1_000 * Number(values.patience),
      },
    );
    const [said, error] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    await child.exited;
    if (said.trim() !== "") return said.trim();
    const [last = ""] = error.trim().split("\n").slice(-1);
    return `${last.slice(0, 160)} | never comes to an end`;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

async function main(): Promise<number> {
  const isWanted = ({ name }: Mutation): boolean =>
    positionals.length === 0 || positionals.includes(name);
  const chosen = MUTATIONS.filter(isWanted);
  if (chosen.length === 0) throw new Error(`no such mutation: ${positionals.join(", ")}`);
  const listed = values.listed ? listedSeeds() : undefined;
  let unfound = 0;
  for (const mutation of chosen) {
    const seed = listed?.get(mutation.name);
    if (listed !== undefined && seed === undefined) throw new Error(`no row: ${mutation.name}`);
    const seeds = seed === undefined ? { first, count } : { first: seed, count: 1 };
    const found = await find(mutation, seeds);
    if (found === NOT_FOUND) unfound += 1;
    process.stdout.write(`| ${mutation.name} | ${found} |\n`);
  }
  return unfound === 0 ? 0 : 1;
}

if (values.hunt) {
  process.stdout.write(`${await hunt()}\n`);
  process.exit(0);
}
process.exit(await main());
