// A staged rollout over three nodes: the compiled program, a real broker, a real containerd, signed throughout.

import { expect } from "bun:test";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { stringify } from "yaml";

import { agentBinary } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { execSync } from "../harness/exec-sync.ts";
import { eventually } from "../harness/eventually.ts";
import { run, type CommandResult } from "../harness/run-command.ts";
import { plainPod } from "./support-b-pods.ts";
import { openStage, runningApps } from "./support-b-stage.ts";

const stage = await openStage();
const { e2e, temp, containerd, agent: makeAgent } = stage;

const NODES = ["roll-1", "roll-2", "roll-3"];
const READ_VARIANT = ["sh", "-c", "tr '\\0' '\\n' </proc/1/cmdline | tail -n 1"];

/** What runs on each node: `web 1`. */
async function variants(): Promise<readonly string[]> {
  return Promise.all(
    NODES.map(async (node) => {
      const apps = await runningApps(containerd(), node);
      const said = await Promise.all(
        apps.map(async ({ id, name }) => {
          const { stdout } = await execSync(containerd(), id, READ_VARIANT);
          return `${name} ${stdout.trim()}`;
        }),
      );
      return said.join(",");
    }),
  );
}

e2e(
  "a good version reaches three nodes one by one, a bad one is taken back from the first",
  async () => {
    const broker = await startBroker(temp, { name: "roll-broker" });
    const desk = temp.directory("roll-desk");
    const keys = join(desk, "keys");
    expect(await run([agentBinary(), "fleet", "keygen", "--dir", keys])).toMatchObject({ code: 0 });
    const trustPath = temp.directory("roll-trust.d");
    copyFileSync(join(keys, "root.pub"), join(trustPath, "root.pub"));
    const agents = NODES.map((name) =>
      makeAgent(name, { broker, mqtt: { groups: [{ name: "kiosks" }] }, config: { trustPath } }),
    );
    for (const agent of agents) await agent.startReady();
    const fleet = (...args: readonly string[]): Promise<CommandResult> =>
      run([agentBinary(), "fleet", ...args, "--url", broker.url], { timeout: 170_000 });
    const trust = ["trust", "publish", "-f", join(keys, "trust.json")];
    expect(await fleet(...trust)).toMatchObject({ code: 0 });
    const nodes = join(desk, "fleet.yaml");
    writeFileSync(
      nodes,
      stringify({ mqtt: { url: broker.url }, nodes: NODES, groups: { kiosks: NODES } }),
    );
    const of = ["--group", "kiosks", "--nodes", nodes, "--key", join(keys, "signing.pem")];
    const pace = ["--steps", "1,2,100%", "--bake", "1s", "--timeout", "2m"];
    const history = ["--history", join(desk, "history")];
    const rollout = (...args: readonly string[]): Promise<CommandResult> =>
      fleet("rollout", ...args, ...of, ...pace, ...history);
    const version = (name: string, pod: object): string => {
      const path = join(desk, `${name}.yaml`);
      const policy = { minReadySeconds: 3, progressDeadlineSeconds: 60 };
      const document = { apiVersion: "agent/v1", kind: "DesiredState", policy, resources: [pod] };
      writeFileSync(path, stringify(document));
      return path;
    };

    const first = await rollout("-f", version("first", plainPod("web", "1")));
    expect(first).toMatchObject({ code: 0 });
    expect(await variants()).toEqual(["web 1", "web 1", "web 1"]);

    const second = await rollout("-f", version("second", plainPod("web", "2")));
    expect(second).toMatchObject({ code: 0 });
    expect(second.stdout).toMatch(/\(step 1 of 3\): 1 healthy, 2 waiting\n/);
    expect(second.stdout).toMatch(/\(step 2 of 3\): 2 healthy, 1 waiting\n/);
    expect(await variants()).toEqual(["web 2", "web 2", "web 2"]);
    const before = await runningApps(containerd());

    const crashes = plainPod("web", "3", {
      containers: [{ name: "main", image: "local/busybox:1", command: ["sh", "-c", "exit 3"] }],
    });
    const third = await rollout("-f", version("third", crashes));
    expect(third.code).toBe(1);
    expect(third.stderr).toContain("stopped: 1 nodes have failed, 100 %");
    expect(third.stdout).toContain(
      "taken back: generation 4 of group kiosks has the content of generation 2",
    );
    await eventually(
      "all run the good version again",
      async () => {
        const now = await variants();
        if (now.join() !== "web 2,web 2,web 2") throw new Error(now.join());
        return true;
      },
      { timeout: 60_000, explain: () => agents.map((agent) => agent.logTail(20)).join("\n") },
    );
    // Two nodes have never tried it.
    const after = await runningApps(containerd());
    const kept = after.filter(({ id }) => before.some((one) => one.id === id));
    expect(kept).toHaveLength(2);
    const status = await fleet("status", "--nodes", nodes);
    for (const node of NODES)
      expect(status.stdout).toMatch(new RegExp(`^${node} .*group/kiosks 4 Healthy 200`, "m"));
    for (const agent of agents) await agent.kill();
    await broker.stop();
  },
  300_000,
);
