// Claims: directories of the node that outlive pods and declarations, and go only when a person says so.

import { afterAll, beforeAll, expect } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { always, eventually } from "../harness/eventually.ts";
import { runSync } from "../harness/run-command.ts";
import { containerOf, READY, untilGone, untilPod } from "./support-c-views.ts";
import { World } from "./support-e-world.ts";

const world = await World.open();
const { e2e } = world;
let agent: AgentProcess;

beforeAll(async () => {
  if (!world.stage.available) return;
  agent = world.agent("claims");
  await agent.startReady();
}, 180_000);

afterAll(() => world.close(), 180_000);

const STAT = "stat -c '%a %u:%g' /claim /claim/file";

/** Of the given name, as files of their own. */
function putClaim(node: AgentProcess, name: string): void {
  node.writeManifest(`claim-${name}.yaml`, world.fixture("claim", { NAME: name }));
}

function putClaimant(node: AgentProcess, pod: string, claim: string): void {
  node.writeManifest(`${pod}.yaml`, world.fixture("claimant", { POD: pod, NAME: claim }));
}

async function untilWaits(node: AgentProcess, pod: string): Promise<string> {
  const waiting = await untilPod(node, pod, {
    is: "waits for its claim",
    when: (found) =>
      containerOf(found, "main").state.waiting?.reason === "CreateContainerConfigError",
  });
  return containerOf(waiting, "main").state.waiting?.message ?? "";
}

async function remove(node: AgentProcess, pod: string): Promise<void> {
  node.removeManifest(`${pod}.yaml`);
  await untilGone(node, pod);
}

e2e.concurrent("a claim is waited for, and outlives its pods and its declaration", async () => {
  putClaimant(agent, "writer", "data");
  expect(await untilWaits(agent, "writer")).toContain(
    'volume "data": persistentvolumeclaim "data" not found',
  );
  const start = performance.now();
  putClaim(agent, "data");
  await untilPod(agent, "writer", READY);
  console.log(`a pod was ready ${Math.round(performance.now() - start)} ms after its claim`);
  const place = { agent, pod: "writer" };
  await world.inside(place, "echo first >/claim/file; chmod 600 /claim/file");
  const data = join(agent.paths.state, "claims/default/data");
  expect(await world.inside(place, STAT)).toBe("2777 0:3456\n600 0:3456\n");
  expect((await agent.cli("get", "pvc", "data")).stdout).toMatch(
    /^data +Bound +default\/data +1Gi +RWO +\d/m,
  );

  await remove(agent, "writer");
  expect(readFileSync(join(data, "file"), "utf8")).toBe("first\n");
  putClaimant(agent, "writer", "data");
  await untilPod(agent, "writer", READY);
  // A new life: what is there is shared with the pod's group anew.
  expect(await world.inside(place, STAT)).toBe("2777 0:3456\n660 0:3456\n");
  expect(await world.inside(place, "cat /claim/file")).toBe("first\n");

  // Its declaration goes: whoever has it keeps it, nobody else gets it.
  agent.removeManifest("claim-data.yaml");
  await eventually(
    "it is no longer declared",
    async () => !(await agent.cli("get", "pvc")).stdout.includes("data"),
  );
  agent.writeManifest("reads-data.yaml", world.fixture("claim-reader", { NAME: "data" }));
  expect(await untilWaits(agent, "reads-data")).toContain('persistentvolumeclaim "data" not found');
  expect(await world.inside(place, "cat /claim/file")).toBe("first\n");
  await remove(agent, "writer");
  expect(readFileSync(join(data, "file"), "utf8")).toBe("first\n");
  putClaim(agent, "data");
  await untilPod(agent, "reads-data", READY);
  const reader = { agent, pod: "reads-data" };
  expect(await world.inside(reader, "cat /claim/file")).toBe("first\n");
  expect(await world.inside(reader, "touch /claim/x 2>&1 || true")).toContain("Read-only");
});

e2e.concurrent("while the disk of claims is missing, nothing is written in its place", async () => {
  const claimRoot = world.directory("disk");
  const node = world.agent("usb", { config: { claimRoot, claimRootMustBeMount: true } });
  await node.startReady();
  putClaim(node, "photos");
  putClaimant(node, "camera", "photos");
  expect(await untilWaits(node, "camera")).toContain(`waits for ${claimRoot} to be a mount point`);
  await always("nothing is made", 1_000, () => readdirSync(claimRoot).length === 0);

  const start = performance.now();
  const { code, stderr } = runSync(["mount", "-t", "tmpfs", "tmpfs", claimRoot]);
  expect([code, stderr]).toEqual([0, ""]);
  await untilPod(node, "camera", READY);
  console.log(
    `a pod was ready ${Math.round(performance.now() - start)} ms after the disk of its claim`,
  );
  await world.inside({ agent: node, pod: "camera" }, "echo click >/claim/photo");
  expect(readFileSync(join(claimRoot, "default/photos/photo"), "utf8")).toBe("click\n");
  await remove(node, "camera");
  runSync(["umount", claimRoot]);
  expect(readdirSync(claimRoot)).toEqual([]);
  await node.kill();
});

e2e.concurrent("its data goes when a person says so, and no pod uses it", async () => {
  const data = join(agent.paths.state, "claims/default/scratch");
  putClaim(agent, "scratch");
  putClaimant(agent, "user", "scratch");
  await untilPod(agent, "user", READY);
  await world.inside(
    { agent, pod: "user" },
    "mkdir -p /claim/a/b; ln -s / /claim/a/root; echo x >/claim/a/b/c",
  );

  const without = await agent.cli("delete", "pvc", "scratch");
  expect(without.code).toBe(1);
  expect(without.stderr).toContain("claim-scratch.yaml: remove it from ");
  const used = await agent.cli("delete", "pvc", "scratch", "--data");
  expect(used.code).toBe(1);
  expect(used.stderr).toContain("is used by default/user");
  expect(readFileSync(join(data, "a/b/c"), "utf8")).toBe("x\n");

  await remove(agent, "user");
  const done = await agent.cli("delete", "pvc", "scratch", "--data");
  expect(done).toMatchObject({ code: 0, stderr: "" });
  expect(existsSync(data)).toBe(false);
  expect(existsSync("/etc/passwd")).toBe(true);
  const gone = await agent.cli("delete", "pvc", "scratch", "--data");
  expect(gone.code).toBe(1);
  expect(gone.stderr).toContain("has no data on this node");

  // Its declaration is still there: the next pod begins with an empty one.
  putClaimant(agent, "user", "scratch");
  await untilPod(agent, "user", READY);
  expect(await world.inside({ agent, pod: "user" }, "ls -A /claim")).toBe("");
});
