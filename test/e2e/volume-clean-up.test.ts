// What pods leave on the node: no mount and no directory of theirs, and every byte that was never theirs.

import { afterAll, expect } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { PodView } from "../../src/node/api-views.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { output } from "../harness/run-command.ts";
import { findPod, READY, untilGone, untilPod } from "./support-c-views.ts";
import { World } from "./support-e-world.ts";

const world = await World.open();
const { e2e } = world;

afterAll(() => world.close(), 180_000);

/** Mount points below the directory of pods. */
function podMounts(agent: AgentProcess): readonly string[] {
  const pods = `${join(agent.paths.state, "pods")}/`;
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((path) => path.startsWith(pods));
}

function podDirectories(agent: AgentProcess): readonly string[] {
  const pods = join(agent.paths.state, "pods");
  return existsSync(pods) ? readdirSync(pods) : [];
}

/** Somebody's data, and what has to be there of it afterwards. */
function hostData(name: string): string {
  const root = world.directory(name);
  mkdirSync(join(root, "part"));
  writeFileSync(join(root, "part/file"), "precious");
  writeFileSync(join(root, "file"), "precious");
  return root;
}

function isWhole(root: string): boolean {
  return ["part/file", "file"].every(
    (path) => readFileSync(join(root, path), "utf8") === "precious",
  );
}

function putPods(agent: AgentProcess, root: string, names: readonly string[], grace = 1): void {
  for (const name of names) {
    const text = world.fixture("leaves-nothing", { NAME: name, ROOT: root, GRACE: grace });
    agent.writeManifest(`leaves-${name}.yaml`, text);
  }
}

/** Also one that has gone already. */
function isStopping(pod: PodView | undefined): boolean {
  return pod?.metadata.deletionTimestamp !== undefined || pod === undefined;
}

e2e.concurrent("a pod that is deleted leaves no mount and no directory", async () => {
  const agent = world.agent("tidy");
  await agent.startReady();
  const root = hostData("tidy-data");
  world.put(agent, "left");
  putPods(agent, root, ["one"]);
  await untilPod(agent, "leaves-one", READY);
  // Memory, the Secret, and four parts of volumes.
  expect(podMounts(agent).length).toBe(6);
  agent.removeManifest("leaves-one.yaml");
  await untilGone(agent, "leaves-one");
  expect(podMounts(agent)).toEqual([]);
  expect(podDirectories(agent)).toEqual([]);
  expect(isWhole(root)).toBe(true);
  const claim = join(agent.paths.state, "claims/default/left");
  expect(readdirSync(claim).toSorted()).toEqual(["deep", "kept-one", "part"]);
  await agent.kill();
});

e2e.concurrent(
  "killed in the middle of removals, the agent finishes them, and touches nothing else",
  async () => {
    const agent = world.agent("killed");
    await agent.startReady();
    const root = hostData("killed-data");
    world.put(agent, "left");
    const claim = join(agent.paths.state, "claims/default/left");
    let cut = 0;
    for (const [round, left] of [1, 0.99, 0.6, 0.3].entries()) {
      const names = ["a", "b", "c"].map((name) => `${name}-${round}`);
      putPods(agent, root, names);
      for (const name of names) await untilPod(agent, `leaves-${name}`, READY);
      const all = podMounts(agent).length;
      expect(all).toBe(18);
      for (const name of names) agent.removeManifest(`leaves-${name}.yaml`);
      await eventually(
        "the removal is under way",
        async () => isStopping(await findPod(agent, `leaves-${names[0]}`)),
        {
          interval: 1,
        },
      );
      while (podMounts(agent).length > all * left) await Bun.sleep(0);
      await agent.kill("SIGKILL");
      const rest = podMounts(agent).length;
      if (rest > 0) cut += 1;
      console.log(`killed when ${rest} of ${all} mounts were left`);
      await agent.startReady();
      await eventually(
        "nothing of the pods is left",
        () => podDirectories(agent).length === 0 && podMounts(agent).length === 0,
        { timeout: 60_000, explain: () => agent.logTail(60) },
      );
      for (const name of names) {
        await untilGone(agent, `leaves-${name}`);
        expect(readFileSync(join(claim, `kept-${name}`), "utf8")).toBe("kept\n");
      }
      expect(isWhole(root)).toBe(true);
    }
    expect(cut).toBeGreaterThan(0);
    await agent.kill();
  },
);

e2e.concurrent("a mount that a pod leaves in its volume is unmounted, never emptied", async () => {
  const agent = world.agent("shares");
  const { directory } = agent.paths;
  await output(["mount", "--bind", directory, directory]);
  await output(["mount", "--make-rshared", directory]);
  await agent.startReady();
  const root = hostData("left-data");
  world.put(agent, "leaves-a-mount", { ROOT: root });
  await untilPod(agent, "leaves-a-mount", READY);
  await eventually("the mount is seen on the node", () =>
    podMounts(agent).some((path) => path.endsWith("/scratch/data")),
  );
  agent.removeManifest("leaves-a-mount.yaml");
  await untilGone(agent, "leaves-a-mount");
  expect(podMounts(agent)).toEqual([]);
  expect(podDirectories(agent)).toEqual([]);
  expect(isWhole(root)).toBe(true);
  await agent.kill();
});
