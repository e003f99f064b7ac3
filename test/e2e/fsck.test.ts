// `agent fsck` on the compiled binary and a real containerd: a blob and a database that are damaged, found, named and repaired,
// while the containers run on; and the light check that follows an unclean stop by itself.

import { afterAll, expect } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { dockerArchive } from "../harness/images.ts";
import { run } from "../harness/run-command.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
const e2e = stage.test;

afterAll(() => stage.close(), 180_000);

/** Each test has its own. */
const imageOf = (name: string): string => `local/kept-${name}:1`;

interface Finding {
  readonly part: string;
  readonly file: string;
  readonly what: string;
  readonly remedy: string;
  readonly outcome: string;
  readonly images?: readonly string[];
  readonly pods?: readonly string[];
}

async function fsck(
  agent: AgentProcess,
  ...flags: readonly string[]
): Promise<{ readonly code: number; readonly items: readonly Finding[] }> {
  const words = ["fsck", "-o", "json", "--config", agent.paths.config, ...flags];
  const { code, stdout, stderr } = await run([agentBinary(), ...words]);
  if (!stdout.startsWith("{")) throw new Error(`fsck ended with ${code}: ${stdout}${stderr}`);
  return { code, items: (JSON.parse(stdout) as { items: readonly Finding[] }).items };
}

function blobs(): string {
  return join(stage.containerd.root, "io.containerd.content.v1.content/blobs/sha256");
}

/** The largest blob that is there now and was not `before`: the layer. */
function newLayer(before: ReadonlySet<string>): string {
  const [first] = readdirSync(blobs())
    .filter((name) => !before.has(name))
    .map((name) => join(blobs(), name))
    .toSorted((a, b) => statSync(b).size - statSync(a).size);
  if (first === undefined) throw new Error("there is no new blob");
  return first;
}

function flipByte(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

function pod(name: string, image = imageOf(name)): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "main", image, command: ["/bin/busybox", "sleep", "100000"] }],
    },
  };
}

/** An agent whose one pod runs an image of its archive directory, and the layer of that image. */
async function running(name: string): Promise<{ agent: AgentProcess; layer: string; id: string }> {
  const agent = stage.agent({ name, nodeName: name, instance: name });
  const before = new Set(readdirSync(blobs()));
  mkdirSync(agent.paths.images, { recursive: true });
  writeFileSync(
    join(agent.paths.images, "kept.tar"),
    dockerArchive({ name: imageOf(name), version: `kept ${name}`, ballast: 2_000_000 }),
  );
  agent.writeManifest(`${name}.yaml`, pod(name));
  await agent.startReady();
  const id = await stage.running(name);
  return { agent, layer: newLayer(before), id };
}

e2e(
  "a flipped byte in a layer is found, named with image and pods, repaired while the container runs on, and imported again",
  async () => {
    const { agent, layer, id } = await running("flipped");
    expect(await fsck(agent)).toEqual({ code: 0, items: [] });
    const whole = readFileSync(layer);
    flipByte(layer, 1_000_000);

    // A size tells nothing of it.
    expect((await fsck(agent, "--light")).code).toBe(0);
    const found = await fsck(agent);
    expect(found.code).toBe(4);
    expect(found.items).toHaveLength(1);
    expect(found.items[0]).toMatchObject({
      part: "image",
      file: layer,
      what: "its content does not have its digest",
      outcome: "Found",
      images: ["docker.io/local/kept-flipped:1"],
      pods: ["default/flipped"],
    });
    expect(found.items[0]?.remedy).toContain("agent fsck --repair");

    const mark = stage.mark();
    const repaired = await fsck(agent, "--repair");
    expect(repaired.items).toMatchObject([{ file: layer, outcome: "Repaired" }]);
    expect(repaired.items[0]?.remedy).toBe("the images were removed and brought again");
    expect(repaired.code).toBe(1);
    expect(Buffer.compare(readFileSync(layer), whole)).toBe(0);
    expect(await fsck(agent)).toEqual({ code: 0, items: [] });
    await stage.staysQuiet(mark, 1_000);
    expect(await stage.running("flipped")).toBe(id);

    await stage.clear(agent);
    await agent.kill();
  },
  240_000,
);

e2e(
  "after kill -9 a light check finds a truncated blob by itself; without an agent fsck brings the image again from its archive",
  async () => {
    const { agent, layer } = await running("cut");
    expect(existsSync(join(agent.paths.state, "running"))).toBe(true);
    await agent.kill("SIGKILL");
    truncateSync(layer, 70_000);
    await agent.startReady();
    const conditions = async (): Promise<readonly { type: string; message: string }[]> => {
      const node: unknown = await (await agent.api("/node")).json();
      return (node as { status: { conditions: { type: string; message: string }[] } }).status
        .conditions;
    };
    const damaged = await eventually(
      "the node reports the damage",
      async () => (await conditions()).find(({ type }) => type === "StorageDamaged"),
      { timeout: 120_000, interval: 500, explain: () => agent.logTail(40) },
    );
    expect(damaged.message).toContain(`image ${layer}: it has 70,000 bytes instead of`);
    const events = (await agent.cli("get", "events")).stdout;
    expect(events).toContain("UncleanStop");
    expect(events).toContain("StorageDamaged");

    await agent.kill();
    expect(existsSync(join(agent.paths.state, "running"))).toBe(false);
    const found = await fsck(agent, "--light");
    expect([found.code, found.items[0]?.pods]).toEqual([4, ["default/cut"]]);
    const repaired = await fsck(agent, "--repair", "--yes");
    expect(repaired.code).toBe(1);
    expect(repaired.items[0]?.remedy).toBe("the images were removed and brought again");
    expect(await fsck(agent)).toEqual({ code: 0, items: [] });

    // A new pod can be made of it.
    agent.writeManifest("again.yaml", pod("again", imageOf("cut")));
    await agent.startReady();
    await stage.running("again");
    await stage.clear(agent);
    await agent.kill();
  },
  300_000,
);

e2e(
  "an image that nobody but a person can bring again is removed only with --force",
  async () => {
    const agent = stage.agent({ name: "foreign", nodeName: "foreign", instance: "foreign" });
    const before = new Set(readdirSync(blobs()));
    const path = join(stage.temp.path, "foreign.tar");
    writeFileSync(path, dockerArchive({ name: "local/foreign:1", version: "foreign" }));
    const { containerd } = stage;
    await containerd.ctr("images", "import", "--snapshotter", containerd.snapshotter, path);
    const layer = newLayer(before);
    flipByte(layer, 5_000);
    // No pod needs it.
    expect((await fsck(agent)).items).toEqual([]);
    const found = await fsck(agent, "--all");
    expect(found.items).toMatchObject([{ file: layer, images: ["docker.io/local/foreign:1"] }]);
    const kept = await fsck(agent, "--all", "--repair");
    expect([kept.code, existsSync(layer)]).toEqual([4, true]);
    expect(kept.items[0]?.remedy).toContain("--repair --force");
    const forced = await fsck(agent, "--all", "--repair", "--force");
    expect([forced.code, existsSync(layer)]).toEqual([1, false]);
  },
  120_000,
);

e2e(
  "a corrupt database is found beside a running agent, and repaired when it is stopped; no container is restarted",
  async () => {
    const { agent, id } = await running("rows");
    const mark = stage.mark();
    await agent.kill();
    const database = join(agent.paths.state, "agent.db");
    const copy = join(stage.temp.path, "whole.db");
    copyFileSync(database, copy);
    const bytes = readFileSync(database);
    bytes.fill(0x5a, 4096 * 3, 4096 * 3 + 2000);
    writeFileSync(database, bytes);

    const found = await fsck(agent);
    expect(found.items).toMatchObject([{ part: "database", file: database, outcome: "Found" }]);
    expect(found.code).toBe(4);
    const text = await run([agentBinary(), "fsck", "--config", agent.paths.config]);
    expect(text.code).toBe(4);
    expect(text.stdout).toContain(`damaged    database ${database}: `);

    const repaired = await fsck(agent, "--repair");
    expect(repaired.code).toBe(1);
    expect(existsSync(`${database}.corrupt-1`)).toBe(true);
    expect((await fsck(agent)).items).toEqual([]);
    await agent.startReady();
    await stage.staysQuiet(mark, 2_000);
    expect(await stage.running("rows")).toBe(id);

    // Beside an agent the state is only looked at.
    writeFileSync(join(agent.paths.state, "trust.json"), "{");
    writeFileSync(join(agent.paths.state, "desired/mqtt-node.prev"), "torn");
    const beside = await fsck(agent, "--repair");
    expect(beside.code).toBe(4);
    expect(beside.items).toHaveLength(2);
    for (const { remedy } of beside.items) expect(remedy).toContain("systemctl stop agent");
    await stage.clear(agent);
    await agent.kill();
  },
  240_000,
);

e2e("a wrong manifest is judged as agent validate does, and wrong flags are refused", async () => {
  const agent = stage.agent({ name: "typo", nodeName: "typo", instance: "typo" });
  agent.writeManifest("a.yaml", { apiVersion: "v1", kind: "Pod", metadata: { name: "A_" } });
  const found = await fsck(agent);
  expect(found.code).toBe(4);
  expect(found.items.every(({ part }) => part === "manifest")).toBe(true);
  const told = await run([agentBinary(), "validate", join(agent.paths.manifests, "a.yaml")]);
  for (const { what } of found.items) expect(told.stdout + told.stderr).toContain(what);
  for (const flags of [["--light", "--all"], ["--force"]])
    expect((await run([agentBinary(), "fsck", ...flags])).code).toBe(2);
});
