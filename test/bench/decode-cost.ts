// Measures what hostile texts cost: time and memory of decoding one file, or one MQTT document, in a process of its own
// that is compiled as the agent is. Shown, never judged.
// bun test/bench/decode-cost.ts [--documents] [--only WORDS] [--runs N]

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { decodeManifest } from "../../src/api/decode/decode-manifest.ts";
import { DOCUMENT_LIMITS, FILE_LIMITS } from "../../src/api/yaml/text-limits.ts";
import { readEnvelope } from "../../src/source/document/decode.ts";
import { sha256 } from "../unit/api/digest.ts";
import { SHAPES, type Shape } from "./decode-cases.ts";
import { spread } from "./statistics.ts";
import { byteLength } from "../../src/lib/short-text.ts";

const MIB = 1024 * 1024;
/** What the longest text of a kind may cost. */
const DEMANDS = {
  file: { limits: FILE_LIMITS, ms: 1000, mib: 150 },
  document: { limits: DOCUMENT_LIMITS, ms: 150, mib: 50 },
};
/** What a node has decoded before the first bad file comes. */
const ORDINARY =
  "apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec:\n  containers: [{ name: a, image: local/busybox:1 }]\n";

interface Cost {
  readonly ms: number;
  readonly mib: number;
  readonly said: string;
}

interface Measured {
  readonly shape: string;
  readonly bytes: number;
  /** Median of the runs. */
  readonly ms: number;
  /** Most of the runs: how far the process grew. */
  readonly mib: number;
  readonly said: string;
}

const { values: flags } = parseArgs({
  options: {
    only: { type: "string" },
    runs: { type: "string", default: "5" },
    documents: { type: "boolean", default: false },
    /** In the child: which shape, how often repeated. */
    shape: { type: "string" },
    count: { type: "string", default: "0" },
  },
});

const DEMAND = DEMANDS[flags.documents ? "document" : "file"];

function decode(text: string): string {
  return flags.documents ? decodeDocument(text) : decodeFile(text);
}

function decodeFile(text: string): string {
  const context = { source: "file", ref: "x.yaml", nodeName: "pi-1", sha256 } as const;
  const { pods, errors, notices } = decodeManifest(text, context);
  const first = errors[0]?.message ?? notices[0]?.message ?? "";
  return `${pods.length} pods, ${errors.length} errors, ${notices.length} notices ${first.slice(0, 60)}`;
}

function decodeDocument(text: string): string {
  const read = readEnvelope(new TextEncoder().encode(text));
  return read.type === "Invalid" ? (read.errors[0]?.message ?? "") : read.type;
}

function measureHere(text: string): Cost {
  for (let round = 0; round < 20; round++) decode(ORDINARY);
  Bun.gc(true);
  const before = process.memoryUsage.rss() / MIB;
  const start = threadMs();
  const said = decode(text);
  const ms = threadMs() - start;
  const mib = peakMib() - before;
  return { ms, mib, said };
}

/** Processor time of the thread that decodes: what the machine does beside it does not count. */
function threadMs(): number {
  const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
  return Number(nanoseconds) / 1e6;
}

/** Of this process since its start. */
function peakMib(): number {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return Number(kib) / 1024;
}

/** The most repetitions that fit, and the most that are not refused for being too many. */
function countsOf({ text }: Shape): readonly number[] {
  const most = search((count) => byteLength(text(count)) <= DEMAND.limits.bytes);
  const accepted = search((count) => count <= most && !isTooMuch(text(count)));
  return accepted === most ? [most] : [accepted, most];
}

/** The largest count that fits, to one part in 50. */
function search(fits: (count: number) => boolean): number {
  let low = 1;
  while (low < DEMAND.limits.bytes && fits(2 * low)) low *= 2;
  let high = 2 * low;
  while (high - low > Math.max(1, low / 50)) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

function isTooMuch(text: string): boolean {
  return /more than|deeper/.test(decode(text));
}

/** This file as a program, with the flags of build.sh: how much is compiled when decides what a decode costs. */
function compile(directory: string): string {
  const script = readFileSync(join(import.meta.dir, "../../build.sh"), "utf8");
  const flags = /"\$BUN" build ([^"$]*)"--conditions/.exec(script)?.[1];
  if (flags === undefined) throw new Error("build.sh: no flags of the compiler found");
  const program = join(directory, "decode-cost");
  const words = flags.split(/[\s\\]+/).filter((word) => word !== "");
  const conditions = `--conditions=linux-${process.arch}`;
  const files = [import.meta.path, "--outfile", program];
  const { stderr, success } = Bun.spawnSync([
    process.execPath,
    "build",
    ...words,
    conditions,
    ...files,
  ]);
  if (!success) throw new Error(stderr.toString());
  return program;
}

function measure(shape: Shape, { count, program }: { count: number; program: string }): Measured {
  const runs = Array.from({ length: Number(flags.runs) }, () =>
    inChild([
      program,
      "--shape",
      shape.name,
      "--count",
      String(count),
      ...(flags.documents ? ["--documents"] : []),
    ]),
  );
  return {
    shape: shape.name,
    bytes: byteLength(shape.text(count)),
    ms: spread(runs.map((run) => run.ms)).median,
    mib: Math.max(...runs.map((run) => run.mib)),
    said: runs[0]?.said ?? "",
  };
}

function inChild(command: readonly string[]): Cost {
  const { stdout, stderr, success } = Bun.spawnSync([...command]);
  if (!success) throw new Error(`${command.join(" ")}: ${stderr.toString()}`);
  return JSON.parse(stdout.toString()) as Cost;
}

function line({ shape, bytes, ms, mib, said }: Measured): string {
  const mark = ms > DEMAND.ms || mib > DEMAND.mib ? "!" : " ";
  const cells = [
    shape.padEnd(40),
    `${bytes} B`.padStart(10),
    `${ms.toFixed(0)} ms`.padStart(7),
    `${mib.toFixed(0)} MiB`.padStart(7),
  ];
  return `${mark} ${cells.join("  ")}  ${said}\n`;
}

function main(): void {
  const chosen = SHAPES.find(({ name }) => name === flags.shape);
  if (chosen !== undefined) {
    process.stdout.write(JSON.stringify(measureHere(chosen.text(Number(flags.count)))));
    return;
  }
  const directory = mkdtempSync(join(tmpdir(), "decode-cost-"));
  try {
    const program = compile(directory);
    const shapes = SHAPES.filter(({ name }) => name.includes(flags.only ?? ""));
    const all = shapes.flatMap((shape) =>
      countsOf(shape).map((count) => measure(shape, { count, program })),
    );
    for (const one of all.toSorted((a, b) => b.ms - a.ms)) process.stdout.write(line(one));
    process.stdout.write(`demand: ${DEMAND.ms} ms, ${DEMAND.mib} MiB each; ! = more\n`);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

main();
