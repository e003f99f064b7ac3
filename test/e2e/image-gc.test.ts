// A small disk of images, a loop-mounted file system: what nothing needs goes, the least recently used first, and
// everything else stays.

import { afterAll, expect } from "bun:test";
import { statfsSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { importImages } from "../harness/images.ts";
import { run } from "../harness/run-command.ts";
import { Stage } from "./support-a-stage.ts";
import { READY, untilGone, untilPod } from "./support-c-views.ts";
import { MovingRegistry } from "./support-h-registry.ts";

const MEGABYTE = 1024 * 1024;
const FOREIGN = "local/foreign:1";
const GC = {
  imageGCHighThresholdPercent: 60,
  imageGCLowThresholdPercent: 45,
  imageMinimumGCAge: "0s",
};

const stage = await Stage.open({ diskMegabytes: 192 });
const { test: e2e } = stage;

afterAll(() => stage.close(), 180_000);

e2e(
  "the least recently used images go, protected ones stay, and what cannot be freed is reported",
  async () => {
    using registry = new MovingRegistry();
    const name = (image: string): string => registry.reference(`${image}:1`);
    for (const image of ["keeper", "a", "b", "c", "d", "e", "f", "g", "last"])
      registry.move(`${image}:1`, incompressible());
    await importImages(stage.containerd, stage.temp.directory("foreign"), [
      { name: FOREIGN, version: incompressible() },
    ]);
    const agent = stage.agent({ config: GC });
    await agent.startReady();
    const runPod = async (image: string): Promise<void> => {
      agent.writeManifest(`${image}.yaml`, podOf(image, name(image)));
      await untilPod(agent, image, READY);
    };
    await runPod("keeper");
    const unused: string[] = [];
    // Measured all the time: an image that is being unpacked takes more for a moment, in which the agent may look, and on a busy
    // machine the first ones go before the last pod has stopped.
    let fullest = 0;
    using _measuring = setInterval(() => (fullest = Math.max(fullest, usedPercent())), 20);
    for (const image of ["a", "b", "c", "d", "e", "f", "g"]) {
      await runPod(image);
      const used = usedPercent();
      agent.removeManifest(`${image}.yaml`);
      await untilGone(agent, image);
      unused.push(name(image));
      if (used >= 60 || removedBy(agent).length > 0) break;
    }
    expect(fullest).toBeGreaterThanOrEqual(60);
    await eventually("the disk is below the low threshold", () => usedPercent() <= 46, {
      timeout: 90_000,
      explain: () => `${usedPercent()} %\n${agent.logTail()}`,
    });
    const removed = removedBy(agent);
    expect(removed.length).toBeGreaterThan(0);
    expect(removed.length).toBeLessThan(unused.length);
    expect(removed).toEqual(unused.slice(0, removed.length));
    const left = await stage.containerd.ctr("images", "list", "-q");
    for (const one of removed) expect(left).not.toContain(one);
    const kept = [name("keeper"), FOREIGN, "local/busybox:1", "pause"];
    for (const one of [...kept, ...unused.slice(removed.length)]) expect(left).toContain(one);

    // The rest of the disk is of others: all unused images go, and that is not enough.
    writeFileSync(join(stage.containerd.root, "ballast"), Buffer.alloc(70 * MEGABYTE));
    await runPod("last");
    await eventually(
      "an event names what cannot be freed",
      () => agent.logLines().some(({ reason }) => reason === "FreeDiskSpaceFailed"),
      { timeout: 90_000, explain: () => `${usedPercent()} %\n${agent.logTail()}` },
    );
    expect(removedBy(agent)).toEqual(unused);
    const end = await stage.containerd.ctr("images", "list", "-q");
    for (const one of [...kept, name("last")]) expect(end).toContain(one);
    await untilPod(agent, "keeper", READY);

    // What an operator pulls is this agent's, and goes by an order.
    unlinkSync(join(stage.containerd.root, "ballast"));
    const order = async (...args: readonly string[]) =>
      run([agentBinary(), "images", ...args, "--socket", agent.paths.socket], { timeout: 60_000 });
    expect(await order("pull", name("a"))).toEqual({
      code: 0,
      stdout: `pulled ${name("a")}\n`,
      stderr: "",
    });
    expect(await order("pull", name("none"))).toMatchObject({ code: 1, stdout: "" });
    expect((await order("prune", "--dry-run")).stdout).toContain(`would remove ${name("a")} (`);
    expect(await order("rm", name("keeper"))).toMatchObject({ code: 1 });
    expect(await order("rm", FOREIGN)).toMatchObject({ code: 1 });
    expect((await order("rm", name("a"))).stdout).toStartWith(`removed ${name("a")} (`);
    expect(await stage.containerd.ctr("images", "list", "-q")).not.toContain(name("a"));
  },
  180_000,
);

function podOf(pod: string, image: string): object {
  const command = ["sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: pod },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "main", image, command }] },
  };
}

/** Text that gzip and file systems cannot make smaller. */
function incompressible(): string {
  const bytes = new Uint8Array(4 * MEGABYTE);
  for (let at = 0; at < bytes.length; at += 65_536)
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes.toBase64();
}

function usedPercent(): number {
  const { blocks, bavail } = statfsSync(stage.containerd.root);
  return 100 - Math.floor((bavail * 100) / blocks);
}

/** In the order in which they went. */
function removedBy(agent: AgentProcess): readonly string[] {
  const lines = agent.logLines().filter(({ msg }) => msg === "RemoveImage");
  return lines.map((line) => String(line["image"]));
}
