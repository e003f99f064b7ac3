// An agent at high churn for a long time: its memory, files and rows must stay flat, and in the end exactly what is wanted runs.
//
// ./build.sh soak [--minutes 60] [--json FILE]        AGENT_TEST_SEED repeats the same actions

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { Ledger } from "../e2e/support-b-pods.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { AgentProcess } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX_1, importImages } from "../harness/images.ts";
import { isUnavailable, startPrivateContainerd } from "../harness/private-containerd.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";
import { Churn } from "./churn.ts";
import { takeSample, trends, type Sample, type Trend } from "./samples.ts";
import { lost } from "./wanted.ts";

const { values: flags } = parseArgs({
  options: { minutes: { type: "string", default: "60" }, json: { type: "string" } },
});
const minutes = Number(flags.minutes);
const NODE = "soak";
const NAMES = Array.from({ length: 12 }, (_, index) => `file-${index}`);
/** Between two actions. */
const SHORTEST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 4_000;
const SAMPLE_MS = 10_000;
const SETTLE_MS = 300_000;

const temp = makeTempDirectory();
const started = await startPrivateContainerd(temp);
if (isUnavailable(started)) {
  console.error(`no soak here: ${started.unavailable}`);
  process.exit(1);
}
const containerd = started;
await importImages(containerd, temp.directory("images"), [BUSYBOX_1]);
const broker = await startBroker(temp);
const { endpoint, cgroupRoot } = containerd;
const agent = new AgentProcess(temp, {
  endpoint,
  cgroupRoot,
  name: NODE,
  nodeName: NODE,
  instance: NODE,
  mqttUrl: broker.url,
  // A container that the churn kills again and again comes back soon.
  config: { crashLoopBackOff: { maxContainerRestartPeriod: "10s" } },
});
const seed = Number(process.env["AGENT_TEST_SEED"] ?? Date.now() % 1_000_000);
const dice = new Mulberry32(seed);
const ledger = new Ledger(temp.directory("ledger"));
const churn = new Churn({ agent, ledger, broker, containerd, dice, names: NAMES, node: NODE });

async function soak(): Promise<readonly Sample[]> {
  for (const name of NAMES) churn.edit(name);
  await agent.startReady();
  await churn.publish();
  const { pid } = agent;
  if (pid === undefined) throw new Error("the agent does not run");
  const samples: Sample[] = [];
  const end = performance.now() + minutes * 60_000;
  let next = performance.now();
  while (performance.now() < end) {
    await churn.act();
    await Bun.sleep(SHORTEST_PAUSE_MS + dice.below(LONGEST_PAUSE_MS - SHORTEST_PAUSE_MS));
    if (!agent.running) throw new Error(`the agent has ended\n${agent.logTail(60)}`);
    if (performance.now() < next) continue;
    next = performance.now() + SAMPLE_MS;
    samples.push(takeSample(pid, agent.paths.state));
    if (samples.length % 30 === 0) console.log(JSON.stringify(samples.at(-1)));
  }
  return samples;
}

/** The newest of everything is written once more, because a broker that was killed may have lost it. */
async function settle(): Promise<readonly string[]> {
  await churn.publish();
  // A look that throws leaves what was last found.
  let last: readonly string[] = ["nothing could be looked at"];
  const isRight = async (): Promise<boolean> => {
    last = await lost({ containerd, ledger, churn, agent, instance: NODE });
    return last.length === 0;
  };
  await eventually("exactly what is wanted runs", isRight, { timeout: SETTLE_MS }).catch(() => {});
  return last;
}

function table(found: readonly Trend[]): string {
  const rows = found.map(({ measure, middle, end, peak, isFlat }) => [
    measure.padEnd(24),
    ...[middle, end, peak].map((value) => value.toFixed(1).padStart(10)),
    isFlat ? "  flat" : "  GROWS",
  ]);
  const head = `${"".padEnd(24)}${"middle".padStart(10)}${"end".padStart(10)}${"peak".padStart(10)}`;
  return [head, ...rows.map((row) => row.join(""))].join("\n");
}

console.log(`AGENT_TEST_SEED=${seed}, ${minutes} minutes`);
let missing: readonly string[] = [];
let found: readonly Trend[] = [];
try {
  const samples = await soak();
  missing = await settle();
  found = trends(samples);
  const report = {
    seed,
    minutes,
    actions: Object.fromEntries(churn.done),
    trends: found,
    missing,
  };
  if (flags.json !== undefined)
    writeFileSync(flags.json, `${JSON.stringify(report, undefined, 2)}\n`);
  console.log(table(found));
  console.log([...churn.done].map(([name, count]) => `${name}: ${count}`).join(", "));
  for (const one of missing) console.log(`LOST: ${one}`);
  if (missing.length > 0) console.log(agent.logTail(80));
} finally {
  temp.remove();
}
process.exit(
  missing.length === 0 && found.length > 0 && found.every(({ isFlat }) => isFlat) ? 0 : 1,
);
