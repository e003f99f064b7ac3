// Logs of containers under a real containerd: rotated, compressed, counted and limited, read over MQTT without a gap, also
// when the agent is killed in the middle.

import { afterAll, beforeAll, expect } from "bun:test";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import type { CommandResponse } from "../../src/protocol/command.ts";
import { parseLogLine, type LogBatch, type LogLine } from "../../src/protocol/log-batch.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import type { BrokerClient, Collector } from "../harness/broker-client.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { openStage } from "./support-b-stage.ts";
import { desired, publishDesired, topicOf } from "./support-b-upstream.ts";

const NODE = "logger";
const MIB = 1024 * 1024;
const MAX_FILES = 4;
const ROTATED = /^0\.log\.\d{8}-\d{6}(\.gz)?$/;

const { e2e, temp, containerd, agent: makeAgent } = await openStage();
let broker: Broker;
let client: BrokerClient;
let said: Collector;
let agent: AgentProcess;

/** Numbered lines: 5 MB a second in the log of `flood`, 40 lines a second in that of `talker`. */
const FLOOD = `i=0; while true; do seq $i $((i+19999)); i=$((i+20000)); sleep 0.2; done`;
const TALK = `i=0; while true; do echo "$i ${"x".repeat(120)}"; i=$((i+1)); sleep 0.025; done`;

function pod(name: string, script: string): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "main", image: BUSYBOX_1.name, command: ["sh", "-c", script] }],
    },
  };
}

/** Where containerd cannot run there is nothing that logs. */
function isAvailable(): boolean {
  try {
    return containerd().endpoint !== "";
  } catch {
    return false;
  }
}

beforeAll(async () => {
  if (!isAvailable()) return;
  broker = await startBroker(temp);
  client = await broker.client();
  said = await client.collect(topicOf(NODE, "#"));
  agent = makeAgent(NODE, {
    broker,
    config: {
      containerLogMaxSize: "16Ki",
      containerLogMaxFiles: MAX_FILES,
      containerLogMonitorInterval: "3s",
      nodeLogsMaxSize: "200Mi",
    },
  });
  await agent.startReady();
  const resources = [pod("talker", TALK), pod("flood", FLOOD)];
  await publishDesired(broker, NODE, desired(NODE, { generation: 1, resources }));
  await eventually("both log", () => ["talker", "flood"].every((name) => names(name).length > 0), {
    timeout: 60_000,
    explain: () => agent.logTail(),
  });
}, 180_000);

afterAll(async () => {
  await agent?.kill();
  await client?.[Symbol.asyncDispose]();
}, 180_000);

function directoryOf(name: string): string | undefined {
  if (!existsSync(agent.paths.podLogs)) return undefined;
  const found = readdirSync(agent.paths.podLogs).find((one) => one.startsWith(`default_${name}_`));
  return found === undefined ? undefined : join(agent.paths.podLogs, found, "main");
}

/** Of its log files, the present one last. */
function names(name: string): readonly string[] {
  const directory = directoryOf(name);
  if (directory === undefined || !existsSync(directory)) return [];
  const all = readdirSync(directory).toSorted();
  return [...all.filter((one) => one !== "0.log"), ...all.filter((one) => one === "0.log")];
}

function rotated(name: string): readonly string[] {
  return names(name).filter((one) => ROTATED.test(one));
}

/** Whole lines of all files; the runtime may have cut one at a rotation. */
function texts(lines: readonly LogLine[]): readonly string[] {
  const whole: string[] = [];
  let begun = "";
  for (const { text, partial } of lines) {
    begun += text;
    if (partial) continue;
    whole.push(begun);
    begun = "";
  }
  return whole;
}

/** undefined = a file went away while all were read. */
function numbers(name: string): readonly number[] | undefined {
  const directory = directoryOf(name) ?? "";
  const before = names(name);
  try {
    const contents = before.map((one) => {
      const bytes = readFileSync(join(directory, one));
      return (one.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
    });
    if (names(name).join() !== before.join()) return undefined;
    const lines = contents.join("").split("\n").slice(0, -1);
    const parsed = lines.map(
      (line) => parseLogLine(line) ?? ({ time: "", stream: "stdout", text: "?" } as const),
    );
    // The oldest file may begin in the middle of a line.
    return texts(parsed)
      .slice(1)
      .map((text) => Number(text.split(" ")[0]));
  } catch {
    return undefined;
  }
}

/** Every number once, in order. */
async function isWhole(name: string): Promise<number> {
  const found = await eventually(
    `the logs of ${name} are read between two rotations`,
    () => numbers(name),
    {
      timeout: 30_000,
      interval: 20,
    },
  );
  const first = found[0] ?? 0;
  const wrong = found.findIndex((number, index) => number !== first + index);
  if (wrong >= 0)
    throw new Error(`not in order: ${found.slice(Math.max(0, wrong - 2), wrong + 3).join()}`);
  return found.length;
}

function sizeOf(name: string): number {
  const path = join(directoryOf(name) ?? "", "0.log");
  return existsSync(path) ? statSync(path).size : 0;
}

async function logs(args: object): Promise<CommandResponse> {
  const id = `01JD${String(Date.now()).padStart(22, "0")}`;
  const command = { id, verb: "logs", target: { node: NODE }, args };
  await client.publish(topicOf(NODE, "command"), command);
  return eventually(
    "the logs are answered",
    () =>
      said.messages
        .filter(({ topic }) => topic === topicOf(NODE, "response"))
        .map(({ payload }) => JSON.parse(payload) as CommandResponse)
        .find((answer) => answer.id === id && ["done", "failed"].includes(answer.phase)),
    { timeout: 60_000, explain: () => agent.logTail() },
  );
}

e2e(
  "a flood is rotated and compressed; of its lines, the newest are all there",
  async () => {
    await eventually(
      "the oldest of its files is compressed, and there are as many as there may be",
      () => names("flood").length === MAX_FILES && names("flood")[0]?.endsWith(".gz") === true,
      { timeout: 60_000, explain: () => `${names("flood").join()}\n${agent.logTail()}` },
    );
    for (let n = 0; n < 20; n += 1) {
      // One may be under way to its compressed form.
      const plain = names("flood").map((one) => one.replace(/\.(?:gz|tmp)$/, ""));
      expect(new Set(plain).size).toBeLessThanOrEqual(MAX_FILES);
      await Bun.sleep(100);
    }
    expect(await isWhole("flood")).toBeGreaterThan(10_000);
    const bytes = names("flood").map((one) => statSync(join(directoryOf("flood") ?? "", one)).size);
    expect(Math.max(...bytes)).toBeLessThan(60 * MIB);
  },
  120_000,
);

e2e(
  "logs that are followed over rotations lose and repeat no line",
  async () => {
    const before = new Set(rotated("talker"));
    const answer = await logs({ pod: "talker", follow: true, seconds: 12 });
    expect(answer).toMatchObject({ phase: "done", data: { why: "Expired", dropped: 0 } });
    const batches = said.messages
      .filter(({ topic }) => topic === topicOf(NODE, "log/default/talker/main"))
      .map(({ payload }) => JSON.parse(payload) as LogBatch)
      .filter(({ id }) => id === answer.id);
    const found = texts(batches.flatMap(({ lines }) => lines)).map((text) =>
      Number.parseInt(text, 10),
    );
    expect(found.length).toBeGreaterThan(100);
    expect(found).toEqual(found.map((_, index) => (found[0] ?? 0) + index));
    expect(rotated("talker").filter((one) => !before.has(one)).length).toBeGreaterThan(0);

    const tail = await logs({ pod: "talker", tail: 100 });
    const { lines = [] } = (tail.data ?? {}) as { readonly lines?: readonly LogLine[] };
    const last = texts(lines).map((text) => Number.parseInt(text, 10));
    expect(last.slice(1)).toEqual(last.slice(1).map((_, index) => (last[1] ?? 0) + index));
    expect(last.length).toBeGreaterThan(90);
  },
  120_000,
);

e2e(
  "kill -9 at any moment of a rotation: the next agent goes on, and nothing is lost",
  async () => {
    for (const wait of [1300, 2100, 900]) {
      await Bun.sleep(wait);
      await agent.kill("SIGKILL");
      agent.forgetHands();
      await agent.startReady();
    }
    // Exactly between rename and reopen.
    await agent.kill("SIGKILL");
    agent.forgetHands();
    const directory = directoryOf("flood") ?? "";
    renameSync(join(directory, "0.log"), join(directory, "0.log.20991231-235958"));
    await agent.startReady();
    await eventually("containerd writes to the log of that name again", () => sizeOf("flood") > 0, {
      timeout: 60_000,
      explain: () => agent.logTail(),
    });
    await isWhole("flood");
    await isWhole("talker");
    await eventually(
      "the order goes on above a time of the future",
      () => rotated("flood").some((one) => one.startsWith("0.log.21000101-")),
      {
        timeout: 60_000,
        explain: () => `${names("flood").join()}\n${agent.logTail()}`,
      },
    );
    await isWhole("flood");
  },
  180_000,
);

e2e(
  "a log that someone removes is opened again",
  async () => {
    rmSync(join(directoryOf("talker") ?? "", "0.log"));
    await eventually("containerd writes to a new one", () => sizeOf("talker") > 0, {
      timeout: 60_000,
      explain: () => agent.logTail(),
    });
  },
  120_000,
);
