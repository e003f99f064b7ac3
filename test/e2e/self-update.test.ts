// The agent updates itself under a supervisor, with real binaries: good and bad ones, killed at random moments. In the end an
// agent always runs, and no container was touched.

import { expect } from "bun:test";
import { createHash } from "node:crypto";
import { copyFileSync, createReadStream, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { run, type CommandResult } from "../harness/run-command.ts";
import { listTasks } from "../harness/containerd-lists.ts";
import type { SelfUpdateView } from "../../src/self-update/self-update-view.ts";
import { Dice } from "./support-b-dice.ts";
import { plainPod } from "./support-b-pods.ts";
import { openStage, runningApps } from "./support-b-stage.ts";
import { desired, publishDesired } from "./support-b-upstream.ts";
import { makeKey, signed, trustKey } from "./support-f-signing.ts";
import { badVersions, secondVersion, Supervisor } from "./support-i-versions.ts";

const { e2e, temp, containerd, agent: makeAgent } = await openStage();

const SECOND = "0.1.8+second";
const KILLS = 20;
const PLATFORM = process.arch === "arm64" ? "linux-arm64" : "linux-x64";

let made: Promise<string> | undefined;
const second = (): Promise<string> => (made ??= secondVersion(temp, SECOND));

function sha256(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

async function view(agent: AgentProcess): Promise<SelfUpdateView> {
  return (await (await agent.api("/self-update")).json()) as SelfUpdateView;
}

function idle(agent: AgentProcess, what: string): Promise<SelfUpdateView> {
  const look = async (): Promise<SelfUpdateView | false> => {
    const seen = await view(agent);
    return seen.phase === "Idle" && seen;
  };
  return eventually(`nothing is under way: ${what}`, look, {
    timeout: 60_000,
    explain: () => agent.logTail(60),
  });
}

/** Ids and processes of the containers: another one of either means that something was restarted. */
async function untouched(name: string): Promise<readonly string[]> {
  const tasks = await listTasks(containerd());
  const pids = new Map(tasks.map(({ id, pid }) => [id, pid]));
  const apps = await runningApps(containerd(), name);
  return apps.map((app) => `${app.name} ${app.id} ${pids.get(app.id)}`);
}

async function startWithPods(agent: AgentProcess, name: string): Promise<readonly string[]> {
  for (const pod of ["one", "two"]) agent.writeManifest(`${pod}.yaml`, plainPod(pod));
  return eventually(
    "both pods run",
    async () => {
      const found = await untouched(name);
      // A task that is not listed yet has no pid.
      return found.length === 2 && found.every((app) => !app.endsWith("undefined")) && found;
    },
    { timeout: 60_000, explain: () => agent.logTail(60) },
  );
}

/** With the binary that is under test, whatever runs. */
function update(agent: AgentProcess, ...args: readonly string[]): Promise<CommandResult> {
  const command = [agentBinary(), "self-update", ...args, "--socket", agent.paths.socket];
  return run(command, { timeout: 120_000 });
}

e2e(
  "bad versions are refused or left again, a good one stays, and --back goes back",
  async () => {
    // As under systemd: what reports to the service manager ends with the agent. Nothing listens there.
    const NOTIFY_SOCKET = "/nonexistent/notify";
    const agent = makeAgent("local", { env: { AGENT_TRIAL_SECONDS: "20", NOTIFY_SOCKET } });
    const supervisor = new Supervisor(agent);
    supervisor.start();
    const pods = await startWithPods(agent, "local");
    const first = (await idle(agent, "at the start")).version;
    const bad = await badVersions(temp);

    const digest = await update(agent, bad.path("crashes"), "--sha256", "0".repeat(64));
    expect(digest.stderr).toContain("has the digest");
    const unsigned = await update(agent, bad.path("crashes"));
    expect(unsigned.stderr).toContain("--allow-unsigned");
    const migration = await update(agent, bad.path("unmigratable"), "--allow-unsigned");
    expect(migration.stderr).toContain("cannot open the database");
    const again = await update(agent, bad.path("unmigratable"), "--allow-unsigned");
    expect(again.stderr).toContain("has failed on this node before");
    expect(supervisor.starts).toBe(1);

    const crash = await update(agent, bad.path("crashes"), "--allow-unsigned");
    expect(crash.stderr).toContain("was started 3 times");
    expect(supervisor.starts).toBe(5);
    const hang = await update(agent, bad.path("hangs"), "--allow-unsigned");
    expect(hang.stderr).toContain("did not prove itself within 20 s");
    expect([digest, unsigned, migration, again, crash, hang].map(({ code }) => code)).toEqual(
      Array.from({ length: 6 }, () => 1),
    );
    const after = await view(agent);
    expect([after.version, after.failed.length]).toEqual([first, 3]);

    const good = await update(agent, await second(), "--sha256", sha256(await second()));
    expect([good.stderr, good.stdout]).toEqual(["", `the agent runs version ${SECOND}\n`]);
    const status = await update(agent, "--status");
    expect(status.stdout).toContain(
      `Last:      Updated: the agent was updated from version ${first}`,
    );
    const back = await update(agent, "--back");
    expect([back.stderr, back.stdout]).toEqual(["", `the agent runs version ${first}\n`]);
    expect(await untouched("local")).toEqual(pods);
    await supervisor.stop();
  },
  180_000,
);

e2e(
  "a signed document updates the agent, an unsigned one and a bad signature do not",
  async () => {
    const broker = await startBroker(temp, { name: "update-broker" });
    const trustPath = join(temp.directory("update-etc"), "trust.d");
    const agent = makeAgent("remote", { broker, config: { trustPath } });
    const supervisor = new Supervisor(agent);
    supervisor.start();
    const pods = await startWithPods(agent, "remote");
    const binary = await second();
    const size = Bun.file(binary).size;
    let requests = 0;
    const server = createServer((request, response) => {
      requests += 1;
      const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
      const range = { "content-range": `bytes ${from}-${size - 1}/${size}` };
      response.writeHead(from === 0 ? 200 : 206, { "content-length": size - from, ...range });
      // The first answer ends in the middle.
      const end = requests === 1 ? size >> 1 : size;
      createReadStream(binary, { start: from, end: end - 1 })
        .on("end", () => (requests === 1 ? response.destroy() : response.end()))
        .pipe(response, { end: false });
    });
    const port = await new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        resolve(typeof address === "object" ? (address?.port ?? 0) : 0);
      });
    });
    const artifact = { url: `http://127.0.0.1:${port}/agent`, sha256: sha256(binary), size };
    const content = (generation: number): object => ({
      ...desired("remote", { generation, epoch: "e1", resources: [] }),
      allowEmpty: true,
      issuedAt: new Date().toISOString(),
      agent: { version: SECOND, artifacts: { [PLATFORM]: artifact } },
    });

    await publishDesired(broker, "remote", content(1));
    await eventually("the unsigned document is refused", () =>
      agent.logLines().some((line) => JSON.stringify(line).includes("cannot change the version")),
    );

    const key = makeKey();
    trustKey(trustPath, "root.pub", key);
    const other = join(temp.directory("other"), "agent");
    copyFileSync(agentBinary(), other);
    const release = (sha: string): object => ({
      version: "0.2.0",
      platform: PLATFORM,
      sha256: sha,
      size: Bun.file(other).size,
    });
    writeFileSync(`${other}.sig`, signed(release(sha256(other)), [makeKey()], "release"));
    const stranger = await update(agent, other);
    expect(stranger.stderr).toContain("unknown key");
    writeFileSync(`${other}.sig`, signed(release("0".repeat(64)), [key], "release"));
    expect((await update(agent, other)).stderr).toContain("has the digest");

    await publishDesired(broker, "remote", signed(content(2), [key]));
    await eventually(
      "the document has updated the agent",
      async () => {
        const seen = await view(agent);
        return seen.version === SECOND && seen.phase === "Idle";
      },
      { timeout: 120_000, explain: () => agent.logTail(60) },
    );
    const events = await (await agent.api("/events")).text();
    expect(events).toContain("AgentUpdated");
    expect(requests).toBe(2);
    server.close();
    expect(await untouched("remote")).toEqual(pods);
    await supervisor.stop();
    await broker.stop();
  },
  180_000,
);

e2e(
  `killed at ${KILLS} random moments of updates, an agent runs in the end and no container was touched`,
  async () => {
    const dice = new Dice();
    console.log(`AGENT_TEST_SEED=${dice.seed}`);
    const agent = makeAgent("killed");
    const supervisor = new Supervisor(agent);
    supervisor.start();
    const pods = await startWithPods(agent, "killed");
    const first = (await idle(agent, "at the start")).version;
    const order = async (): Promise<void> => {
      const { version } = await view(agent);
      const source = version === first ? await second() : agentBinary();
      const query = new URLSearchParams({ source, retry: "", allowUnsigned: "" });
      await fetch(`http://agent/self-update?${query.toString()}`, {
        unix: agent.paths.socket,
        method: "POST",
      });
    };
    const switches = new Set<string>();
    for (let kills = 0; kills < KILLS; kills += 1) {
      await order().catch(() => undefined);
      await Bun.sleep(dice.between(0, 2_000));
      await agent.kill("SIGKILL");
      agent.forgetHands();
      const { version } = await eventually("an agent answers again", () => view(agent), {
        timeout: 60_000,
        explain: () => agent.logTail(60),
      });
      switches.add(version);
    }
    const settled = await idle(agent, "after the kills");
    expect([first, SECOND]).toContain(settled.version);
    // The kills met more than the beginning.
    expect(switches.size).toBe(2);
    const target = settled.version === first ? await second() : agentBinary();
    const last = await update(agent, target, "--allow-unsigned", "--retry");
    expect(last.stderr).toBe("");
    expect((await idle(agent, "at the end")).version).not.toBe(settled.version);
    expect(await untouched("killed")).toEqual(pods);
    await supervisor.stop();
  },
  240_000,
);
