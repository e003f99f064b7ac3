// How a device boots: without any network, before its runtime, on a root file system that cannot be written and a /tmp that
// executes nothing, and what matters most first.

import { afterAll, expect } from "bun:test";
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { always, eventually } from "../harness/eventually.ts";
import { dockerArchive } from "../harness/images.ts";
import { run } from "../harness/run-command.ts";
import { Stage } from "./support-a-stage.ts";
import { READY, untilPod } from "./support-c-views.ts";
import { startNotifySocket } from "./support-p-notify.ts";

const stage = await Stage.open();
const e2e = stage.test;
const LIMIT = 180_000;
/** How long the runtime stays away. */
const AWAY_MS = 20_000;
const IMAGE = "local/booted:1";

afterAll(() => stage.close(), LIMIT);

/** Starts the agent by a shell script, which ends with it. */
function startIn(agent: AgentProcess, wrapper: readonly string[], script: string): void {
  const path = join(agent.paths.directory, "boot");
  const inside = join(agent.paths.directory, "boot-inside");
  writeFileSync(inside, `#!/bin/sh\nset -e\n${script}\nexec ${agentBinary()} "$@"\n`, {
    mode: 0o755,
  });
  const words = [...wrapper, inside].join(" ");
  writeFileSync(path, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  agent.start(path);
}

function archivePod(name: string): object {
  return stage.manifest({ name, image: IMAGE });
}

function putArchive(agent: AgentProcess): void {
  mkdirSync(agent.paths.images, { recursive: true });
  writeFileSync(
    join(agent.paths.images, "booted.tar"),
    dockerArchive({ name: IMAGE, version: "booted" }),
  );
}

e2e(
  "without any network the agent is ready, and pods run from archives",
  async () => {
    const agent = stage.agent({
      name: "alone",
      instance: "alone",
      // Nobody answers there, and no name can be looked up.
      mqttUrl: "mqtt://broker.invalid",
    });
    putArchive(agent);
    agent.writeManifest("alone.yaml", archivePod("alone"));
    // Its own namespace has no link but a loopback that is down.
    startIn(
      agent,
      ["unshare", "--net"],
      `[ "$(ip -o link | wc -l)" = 1 ] && ! ip route | grep -q .`,
    );
    await agent.waitReady();
    await stage.journalIs("alone", ["start a"]);
    await untilPod(agent, "alone", READY);
    await agent.kill();
  },
  LIMIT,
);

e2e(
  "a containerd that comes later is waited for, and told of, and fails nothing",
  async () => {
    const notified = await startNotifySocket(stage.temp);
    const socket = join(stage.temp.directory("late"), "c.sock");
    const agent = stage.agent({
      name: "early",
      instance: "early",
      endpoint: `unix://${socket}`,
      env: { NOTIFY_SOCKET: notified.path },
    });
    agent.writeManifest("early.yaml", stage.manifest({ name: "early" }));
    agent.start();
    const health = (): Promise<string> => agent.api("/healthz").then((answer) => answer.text());
    await eventually("its health tells what is missing", async () =>
      /runtime/.test(await health()),
    );
    await always("it waits, and is not ready", AWAY_MS, () => {
      expect(agent.running).toBe(true);
      return !notified.lines().includes("READY=1");
    });
    expect(notified.lines().join("\n")).toMatch(/^STATUS=.*waits for the container runtime/m);
    const check = await run([agentBinary(), "check", "--config", agent.paths.config], {
      timeout: 60_000,
    });
    expect(check.stdout).toMatch(/error +runtime +there is no socket .*\n +→ install containerd/);

    symlinkSync(stage.containerd.endpoint.slice("unix://".length), `${socket}.new`);
    renameSync(`${socket}.new`, socket);
    await agent.waitReady();
    await stage.journalIs("early", ["start a"]);
    await eventually("the service manager learns it", () => notified.lines().includes("READY=1"));
    await agent.kill();
  },
  LIMIT,
);

e2e.each(["rw,noexec", "ro,noexec"])(
  "a root file system that cannot be written and a /tmp that is %s are no hindrance",
  async (tmp) => {
    const name = `fixed-${tmp.slice(0, 2)}`;
    const agent = stage.agent({ name, instance: name });
    putArchive(agent);
    agent.writeManifest("fixed.yaml", archivePod(name));
    startIn(agent, MOUNTS, readOnly(agent.paths.directory, tmp));
    await agent.waitReady();
    await stage.journalIs(name, ["start a"]);
    await untilPod(agent, name, READY);
    await agent.kill();
  },
  LIMIT,
);

e2e(
  "a stateDir that executes nothing, or that cannot be written, is refused with what helps",
  async () => {
    for (const [name, options, says] of [
      ["still", "rw,noexec", /noexec.*mount it with exec or set another stateDir/],
      ["stone", "ro", /cannot lock \S+agent\.lock: EROFS/],
    ] as const) {
      const agent = stage.agent({ name, instance: name });
      mkdirSync(agent.paths.state, { recursive: true });
      const own = agent.paths.state;
      const script = `${readOnly(agent.paths.directory, "rw,noexec")}\nmount --bind ${own} ${own}\nmount -o remount,bind,${options} ${own}`;
      startIn(agent, MOUNTS, script);
      expect(await agent.exited()).toBe(1);
      const last = agent.logLines().find(({ msg }) => msg === "the agent cannot continue");
      expect(String(last?.["error"])).toMatch(says);
    }
  },
  LIMIT,
);

e2e(
  "at a boot pods start in the order of their priority, those of files first",
  async () => {
    const agent = stage.agent({
      name: "ranked",
      instance: "ranked",
      config: { priorityClasses: { shop: 1_000, batch: -1_000 } },
    });
    const ranks = ["batch", undefined, "shop", "system-node-critical"] as const;
    const names = (rank: string): readonly string[] =>
      [1, 2, 3, 4].map((number) => `${rank}-${number}`);
    for (const rank of ranks)
      for (const name of names(rank ?? "plain")) {
        const pod = stage.manifest({ name }) as { spec: object };
        pod.spec = {
          ...pod.spec,
          ...(rank === undefined ? {} : { priorityClassName: rank }),
        };
        agent.writeManifest(`${name}.yaml`, pod);
      }
    const mark = stage.mark();
    await agent.startReady();
    await eventually(
      "all sandboxes are there",
      async () => (await sandboxesSince(mark)).length === 16,
    );
    const order = (await sandboxesSince(mark)).map((name) => name.replace(/-\d$/, ""));
    // Four calls run at once, and may overtake each other.
    expect(order.slice(0, 4)).not.toContain("batch");
    const ranked = ["system-node-critical", "shop", "plain", "batch"];
    expect(ranked.toSorted((a, b) => placeOf(a, order) - placeOf(b, order))).toEqual(ranked);
    await agent.kill();
  },
  LIMIT,
);

/** The middle of its places. */
function placeOf(rank: string, order: readonly string[]): number {
  const places = order.flatMap((one, place) => (one === rank ? [place] : []));
  return places.reduce((sum, place) => sum + place, 0) / places.length;
}

/** Names of pods by the creation of their sandboxes. */
async function sandboxesSince(mark: number): Promise<readonly string[]> {
  const created = stage.watch.events
    .slice(mark)
    .filter(({ topic }) => topic === "/containers/create")
    .map(({ containerId }) => containerId);
  const names: string[] = [];
  for (const id of created) {
    const { Labels } = await stage.info(id);
    const isSandbox = Labels["io.cri-containerd.kind"] === "sandbox";
    if (isSandbox) names.push(Labels["io.kubernetes.pod.name"] ?? "");
  }
  return names;
}

/** What is mounted inside stays inside. */
const MOUNTS = ["unshare", "--mount", "--propagation", "private"] as const;

/** Everything but `own` is read-only, and /tmp is mounted with these options; the binary stays a program. */
function readOnly(own: string, tmp: string): string {
  const program = dirname(agentBinary());
  const probe = "/tmp/agt-probe-$$";
  return [
    "mount --bind /tmp /tmp",
    `mount --bind ${own} ${own}`,
    `mount --bind ${program} ${program}`,
    `mount -o remount,bind,${tmp} /tmp`,
    `mount -o remount,bind,rw,exec ${own}`,
    `mount -o remount,bind,ro,exec ${program}`,
    "mount -o remount,bind,ro /",
    // As meant: mounts without effect would show nothing.
    `touch ${own}/written`,
    "if touch /etc/agt-written 2>/dev/null; then exit 9; fi",
    `if cp /bin/true ${probe} 2>/dev/null; then chmod 755 ${probe}; if ${probe} 2>/dev/null; then exit 8; fi; rm ${probe}; fi`,
  ].join("\n");
}
