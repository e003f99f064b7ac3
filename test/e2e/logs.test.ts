// `agent logs` on a real containerd: rotation, restarts, partial lines, every byte, and a large log.

import { afterAll, expect } from "bun:test";
import { mkdirSync, openSync, readFileSync, writeSync, closeSync } from "node:fs";
import { join } from "node:path";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { run } from "../harness/run-command.ts";
import { getPod } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
afterAll(() => stage.close());
const e2e = stage.test;
let agent: AgentProcess;

function manifest(name: string, script: string, restartPolicy = "Never"): object {
  const command = ["sh", "-c", script];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: 0,
      hostNetwork: true,
      containers: [{ name: "main", image: "local/busybox:1", command }],
    },
  };
}

async function untilPhase(name: string, phase: string): Promise<void> {
  const is = async (): Promise<boolean> =>
    (await getPod(agent, name).catch(() => undefined))?.status.phase === phase;
  await eventually(`${name} is ${phase}`, is, { timeout: 60_000, explain: () => agent.logTail() });
}

async function logs(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await agent.cli("logs", ...args);
  if (code !== 0) throw new Error(`agent logs ${args.join(" ")} ended with ${code}: ${stderr}`);
  return stdout;
}

e2e("the agent starts, and its containers write", async () => {
  agent = stage.agent({
    config: { containerLogMaxSize: "64Ki", containerLogMonitorInterval: "3s" },
  });
  const bytes = String.raw`printf 'a\000b\377\033[31m\n'; head -c 40000 /dev/zero | tr '\0' x; echo; echo end`;
  agent.writeManifest("bytes.yaml", JSON.stringify(manifest("bytes", bytes)));
  const crash = "echo run $(cat /proc/sys/kernel/random/uuid); sleep 1; exit 1";
  agent.writeManifest("crash.yaml", JSON.stringify(manifest("crash", crash, "Always")));
  const count =
    "i=0; while [ $i -lt 6000 ]; do echo line-$i-0123456789012345678901234567890; i=$((i+1)); [ $((i % 50)) = 0 ] && sleep 0.1; done";
  agent.writeManifest("count.yaml", JSON.stringify(manifest("count", count)));
  await agent.startReady();
  await untilPhase("bytes", "Succeeded");
});

e2e("every byte and every part of a long line comes out of a pipe", async () => {
  const direct = await run([agentBinary(), "logs", "bytes", "--socket", agent.paths.socket], {});
  const whole = Buffer.from(direct.stdout);
  expect(whole.length).toBeGreaterThan(40_000);
  expect(direct.stdout).toContain(`${"x".repeat(40_000)}\nend\n`);
  expect(await logs("bytes", "--tail", "1")).toBe("end\n");
  expect(await logs("bytes", "--tail", "2")).toBe(`${"x".repeat(40_000)}\nend\n`);
  const stamped = (await logs("bytes", "--tail", "1", "--timestamps")).split(" ");
  expect(Date.parse(stamped[0] ?? "")).toBeGreaterThan(0);
});

e2e(
  "a log is followed over its rotations, without a line missing or twice, to the pod's end",
  async () => {
    const followed = await logs("-f", "count", "--limit-bytes", "100000000");
    const numbers = followed
      .trimEnd()
      .split("\n")
      .map((line) => Number(line.split("-")[1]));
    const [first = 0] = numbers;
    // What was rotated and compressed before the start of the follow is not shown.
    expect(numbers).toEqual(Array.from({ length: 6000 - first }, (_, index) => first + index));
    expect(numbers.length).toBeGreaterThan(1000);
    await untilPhase("count", "Succeeded");
  },
  120_000,
);

e2e(
  "a log is followed into the next instance of its container, and -p shows the one before",
  async () => {
    const controller = new AbortController();
    const child = Bun.spawn(
      [agentBinary(), "logs", "-f", "crash", "--socket", agent.paths.socket],
      {
        stdout: "pipe",
        signal: controller.signal,
      },
    );
    const decoder = new TextDecoder();
    let text = "";
    for await (const part of child.stdout) {
      text += decoder.decode(part, { stream: true });
      if (text.split("\n").length > 2) break;
    }
    controller.abort();
    await child.exited;
    const runs = text.trimEnd().split("\n");
    expect(new Set(runs).size).toBe(runs.length);
    const isRestarted = async (): Promise<boolean> =>
      ((await getPod(agent, "crash")).status.containerStatuses?.[0]?.restartCount ?? 0) > 0;
    await eventually("the container was restarted", isRestarted, { timeout: 60_000 });
    expect(await logs("crash", "-p")).toStartWith("run ");
  },
  120_000,
);

e2e("the last lines of a gigabyte come without reading it", async () => {
  const { metadata } = await getPod(agent, "bytes");
  const pod = metadata as typeof metadata & { readonly uid: string };
  const directory = join(agent.paths.podLogs, `default_bytes_${pod.uid}`, "main");
  mkdirSync(directory, { recursive: true });
  const descriptor = openSync(join(directory, "0.log"), "r+");
  const lines = Array.from({ length: 20 }, (_, n) => `2026-11-21T08:00:00Z stdout F last ${n}\n`);
  // A hole of a gigabyte.
  writeSync(descriptor, `\n${lines.join("")}`, 2 ** 30);
  closeSync(descriptor);
  const before = rssKiB(agent.pid);
  const shown = await logs("bytes", "--tail", "10");
  expect(shown.split("\n").slice(0, -1)).toEqual(lines.slice(-10).map((one) => one.slice(30, -1)));
  expect(rssKiB(agent.pid) - before).toBeLessThan(32 * 1024);
});

function rssKiB(pid: number | undefined): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

e2e("agent restart waits until the containers run again", async () => {
  agent.writeManifest("stay.yaml", JSON.stringify(manifest("stay", "exec sleep 1000", "Always")));
  await untilPhase("stay", "Running");
  const { code, stdout } = await agent.cli("restart", "stay");
  expect([code, stdout]).toEqual([0, "pod/stay restarted: main (restart 1)\n"]);
  const refused = await agent.cli("restart", "bytes");
  expect([refused.code, refused.stderr]).toEqual([
    1,
    "Error: no container of the pod runs, so there is none to restart\n",
  ]);
});
