// Measures the agent against bare CRI calls on one private containerd, and prints a table. Times are shown, never judged by an exit code.
// bun test/bench/bench.ts [--quick] [--pairs N] [--json FILE] [--markdown FILE] [--only one,beside,rich,ready,edit,crash,mqtt,answers,many,idle,probes,link] [--logs DIRECTORY]

import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { messageOf } from "../../src/lib/errors.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";
import { AgentSide } from "./agent-side.ts";
import { answerLines } from "./answer-lines.ts";
import { BUDGETS } from "./budgets.ts";
import {
  containerdAlone,
  fillNode,
  idle,
  settle,
  starts,
  type Idle,
  type Starts,
} from "./idle-lines.ts";
import { onePodBeside } from "./beside-lines.ts";
import { linkCosts, linkLine } from "./link-lines.ts";
import { bestWidths, manyPods, MANY, type Widths } from "./many-lines.ts";
import type { Bench } from "./pairs.ts";
import { crash, edit, onePod, overMqtt } from "./pod-lines.ts";
import { onePodReady, probing, PODS } from "./probe-lines.ts";
import { richPod } from "./rich-lines.ts";
import { memoryOf, type Memory } from "./process-facts.ts";
import { markdown, ms, printed, ratioLine, valueLine, type Line, type Results } from "./report.ts";
import { spread } from "./statistics.ts";
import { makeWorld } from "./world.ts";

const FULL = {
  pairs: 20,
  many: 3,
  widths: [1, 2, 4, 8, 16],
  rounds: 2,
  rest: { quietSeconds: 15, atMostSeconds: 30 },
  empty: 20,
  probes: 30,
  idle: 60,
  alone: 30,
  starts: 7,
  link: { first: 65, quiet: 15, idle: 60 },
};
const QUICK = {
  pairs: 3,
  many: 1,
  widths: [4, 8],
  rounds: 1,
  rest: { quietSeconds: 3, atMostSeconds: 6 },
  empty: 5,
  probes: 8,
  idle: 8,
  alone: 5,
  starts: 3,
  link: { first: 65, quiet: 5, idle: 20 },
};

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    pairs: { type: "string" },
    json: { type: "string" },
    only: { type: "string" },
    logs: { type: "string" },
    markdown: { type: "string" },
  },
});
const whole = flags.quick ? QUICK : FULL;
const size = { ...whole, pairs: Number(flags.pairs ?? whole.pairs) };
const begin = performance.now();
const lines: Line[] = [];
const failures: string[] = [];

function say(text: string): void {
  console.error(`[${((performance.now() - begin) / 1_000).toFixed(0).padStart(4)} s] ${text}`);
}

function wanted(name: string): boolean {
  return flags.only === undefined || flags.only.split(",").includes(name);
}

/** A line that cannot be measured does not keep the others from it. */
async function measure(name: string, work: () => Promise<readonly Line[]>): Promise<void> {
  if (!wanted(name)) return;
  say(name);
  try {
    lines.push(...(await work()));
  } catch (thrown) {
    failures.push(`${name}: ${messageOf(thrown)}`);
    say(`not measured: ${messageOf(thrown)}`);
  }
}

async function podLines(bench: Bench, widths: Widths): Promise<void> {
  const { pairs } = size;
  const { agent } = bench;
  await measure("one", async () => [ratioLine(BUDGETS.one, await onePod(bench, pairs))]);
  if (agent !== undefined)
    await measure("beside", async () => {
      const beside = await onePodBeside(bench, agent, size);
      const budgets = [BUDGETS.beside50, BUDGETS.beside100];
      return beside.flatMap((one, at) => budgets.slice(at, at + 1).map((of) => ratioLine(of, one)));
    });
  await measure("rich", async () => [
    ratioLine(BUDGETS.rich, await richPod(bench, pairs, makeTempDirectory().path)),
  ]);
  await measure("ready", async () => [ratioLine(BUDGETS.ready, await onePodReady(bench, pairs))]);
  await measure("edit", async () => [ratioLine(BUDGETS.edit, await edit(bench, pairs))]);
  await measure("crash", async () => [ratioLine(BUDGETS.crash, await crash(bench, pairs))]);
  await measure("mqtt", async () => [ratioLine(BUDGETS.mqtt, await overMqtt(bench, pairs))]);
  if (agent !== undefined) await measure("answers", () => answerLines(bench, agent, pairs));
  await measure("many", async () => {
    const { start, remove } = await manyPods(bench, { count: size.many, widths });
    return [ratioLine(BUDGETS.manyStart, start), ratioLine(BUDGETS.manyRemove, remove)];
  });
}

async function probeLine(bench: Bench, agent: AgentSide): Promise<void> {
  await measure("probes", async () => {
    const { cpu, cpuWithout, seconds, perSecond, memory } = await probing(
      bench,
      agent,
      size.probes,
    );
    const notes = [
      `over ${seconds} s; ${PODS} pods, ${perSecond.toFixed(0)} probes a second were answered`,
      `the same pods without probes ${cpuWithout.toFixed(2)} %`,
      `RSS (anonymous) meanwhile ${megabytes(memory)}`,
    ];
    return [valueLine(BUDGETS.probes, { value: cpu, text: `${cpu.toFixed(2)} %`, notes })];
  });
}

async function idleLines(bench: Bench, agent: AgentSide, empty: Idle | undefined): Promise<void> {
  await measure("idle", async () => {
    await fillNode(bench, agent);
    await settle(bench, size.rest);
    say(`${MANY} pods run; ${size.idle} s of doing nothing`);
    const full = await idle(bench, agent, size.idle);
    await agent.process.kill("SIGTERM");
    await Bun.sleep(2_000);
    const alone = await containerdAlone(bench, size.alone);
    say("starts beside running pods");
    const started = await starts(bench, agent, size.starts);
    await Bun.sleep(size.rest.quietSeconds * 1_000);
    const fresh = memoryOf(agent.pid);
    return [startLine(started), ...restLines({ empty, full, alone, fresh })];
  });
}

function startLine({ times, disturbed, calls }: Starts): Line {
  const { median, q1, q3, min, max, n } = spread(times);
  return valueLine(BUDGETS.start, {
    value: median,
    text: ms(median),
    spread: `${ms(q1)}–${ms(q3)} (${ms(min)}–${ms(max)})`,
    n,
    notes: [`containers started or ended meanwhile: ${disturbed}`, `calls of one start: ${calls}`],
  });
}

interface AtRest {
  readonly empty: Idle | undefined;
  readonly full: Idle;
  /** Percent of a core. */
  readonly alone: number;
  readonly fresh: Memory;
}

function restLines({ empty, full, alone, fresh }: AtRest): readonly Line[] {
  const window = `over ${full.seconds} s`;
  const above = full.containerdCpu - alone;
  const perMinute = (bytes: number): number => (bytes * 60) / full.seconds;
  return [
    valueLine(BUDGETS.cpu, {
      value: full.cpu,
      text: `${full.cpu.toFixed(2)} %`,
      notes: [`${window}; with 0 pods ${empty?.cpu.toFixed(2) ?? "?"} %`],
    }),
    valueLine(BUDGETS.containerd, {
      value: above,
      text: `${above.toFixed(2)} %`,
      notes: [
        `with the agent ${full.containerdCpu.toFixed(2)} %, without ${alone.toFixed(2)} %; one tick of 10 ms is ${(1 / full.seconds).toFixed(2)} %`,
      ],
    }),
    ...(empty === undefined
      ? []
      : [valueLine(BUDGETS.rssEmpty, { value: empty.memory.rss, text: megabytes(empty.memory) })]),
    valueLine(BUDGETS.rssFull, {
      value: full.memory.rss,
      text: megabytes(full.memory),
      notes: [
        "after all the pods of this run came and went",
        `started anew beside ${MANY} running pods: ${megabytes(fresh)}`,
      ],
    }),
    valueLine(BUDGETS.anonymous, {
      value: full.memory.anonymous,
      text: `${full.memory.anonymous.toFixed(0)} MB`,
    }),
    valueLine(BUDGETS.written, {
      value: perMinute(full.written - full.logged),
      text: `${(perMinute(full.written - full.logged) / 1_000).toFixed(1)} kB a minute`,
      notes: [
        `${window}; its log took ${full.logged} bytes more`,
        `files of the stateDir that changed: ${full.changed.join(", ") || "none"}`,
      ],
    }),
    valueLine(BUDGETS.upstream, {
      value: perMinute(full.upstream),
      text: `${(perMinute(full.upstream) / 1_000).toFixed(1)} kB a minute`,
      notes: [
        `${window}, as the broker counts what it receives`,
        `published: ${full.published.join(", ") || "nothing"}`,
      ],
    }),
  ];
}

function resultsText(
  { containerd }: Bench["world"],
  measured: readonly Line[],
  unmeasured: readonly string[],
): string {
  const machine = `${process.arch}, ${cpus().length} cores, containerd ${containerd.version}, ${containerd.snapshotter}`;
  const results: Results = { machine, lines: measured, failures: unmeasured };
  return `${JSON.stringify(results, null, 2)}\n`;
}

function megabytes({ rss, anonymous }: Memory): string {
  return `${rss.toFixed(0)} (${anonymous.toFixed(0)}) MB`;
}

async function main(): Promise<void> {
  const temp = makeTempDirectory();
  const world = await makeWorld(temp);
  if (typeof world === "string") {
    console.log(`skipped: ${world}`);
    return;
  }
  const agent = world.agent === undefined ? undefined : new AgentSide(world.agent, world.client);
  const bench: Bench = { world, agent, say };
  say(`containerd ${world.containerd.version}, ${world.containerd.snapshotter}`);
  const widths = wanted("many")
    ? await bestWidths(bench, size.widths, size.rounds)
    : { start: 1, remove: 1 };
  let empty: Idle | undefined;
  if (agent === undefined) say("the agent is not built: only the bare calls are measured");
  else {
    await agent.process.startReady();
    await settle(bench, size.rest);
    empty = await idle(bench, agent, size.empty);
  }
  await podLines(bench, widths);
  if (agent !== undefined) {
    await idleLines(bench, agent, empty);
    await probeLine(bench, agent);
    await measure("link", async () =>
      (await linkCosts(world, size.link)).map((cost) => linkLine(cost, size.link)),
    );
  }
  console.log(printed(lines));
  const seconds = Math.round((performance.now() - begin) / 1_000);
  const load = loadavg()[0]?.toFixed(1) ?? "?";
  console.log(
    `\n${seconds} s${flags.quick ? ", --quick: too few pairs to judge by" : ""}; load of the machine at the end ${load}`,
  );
  for (const failure of failures) console.log(`not measured: ${failure}`);
  if (flags.logs !== undefined) {
    mkdirSync(flags.logs, { recursive: true });
    copyFileSync(world.containerd.logFile, join(flags.logs, "containerd.log"));
    if (agent !== undefined) copyFileSync(agent.process.paths.log, join(flags.logs, "agent.log"));
  }
  if (flags.markdown !== undefined) writeFileSync(flags.markdown, markdown(lines));
  if (flags.json !== undefined) writeFileSync(flags.json, resultsText(world, lines, failures));
}

await main();
process.exit(failures.length === 0 ? 0 : 1);
