// The binary for arm64 itself, emulated, against this machine's containerd: the pods are this machine's, all of the agent
// is arm64's, its helper processes too. A whole arm64 machine is what test/device has.

import { afterAll, expect } from "bun:test";
import { join } from "node:path";
import { writeFileSync } from "node:fs";

import type { CheckResult } from "../../src/cli/check/finding.ts";
import { eventually } from "../harness/eventually.ts";
import { arm64Binary } from "../harness/foreign-binary.ts";
import { PAUSE } from "../harness/images.ts";
import { isUnavailable } from "../harness/private-containerd.ts";
import { run, type CommandResult } from "../harness/run-command.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { Stage } from "./support-a-stage.ts";
import { containerOf, podOf, READY, untilGone, untilPod } from "./support-c-views.ts";

/** Emulated, each start of the binary takes seconds. */
const PATIENCE = 180_000;

// The agent's own sandbox image is arm64's, so containerd gets one of this machine.
const stage = await Stage.open({ sandboxImage: PAUSE.name });
const binary = arm64Binary(stage.temp);
const path = isUnavailable(binary) ? "" : binary.path;
afterAll(() => {
  if (!isUnavailable(binary)) binary[Symbol.dispose]();
  stage.close();
});
const e2e = stage.available && isUnavailable(binary) ? testWhenAvailable(binary) : stage.test;

async function arm64(...args: readonly string[]): Promise<CommandResult> {
  return run([path, ...args], { timeout: PATIENCE });
}

e2e("verbs without an agent", async () => {
  const version = await arm64("version", "-o", "json");
  expect(JSON.parse(version.stdout)).toMatchObject({
    clientVersion: { platform: "linux/arm64" },
  });
  const file = join(stage.temp.directory("files"), "pod.yaml");
  const spec = { containers: [{ name: "a", image: "a", imagePullPolice: "Never" }] };
  writeFileSync(
    file,
    JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec }),
  );
  const refused = await arm64("validate", file);
  expect(refused.code).toBe(2);
  expect(refused.stdout + refused.stderr).toContain("imagePullPolice");
});

e2e("a pod of a file starts, is probed, outlives the agent, and goes with its file", async () => {
  const agent = stage.agent({ name: "emulated" });
  const pod = stage.manifest({ name: "lives" }) as {
    spec: { containers: Record<string, unknown>[] };
  };
  const [main] = pod.spec.containers;
  if (main === undefined) throw new Error("the recipe has no container");
  main["readinessProbe"] = { exec: { command: ["true"] }, periodSeconds: 2, timeoutSeconds: 20 };
  agent.writeManifest("lives.yaml", pod);
  agent.start(path);
  await agent.waitReady(PATIENCE);
  const started = await untilPod(agent, "lives", { ...READY, timeout: PATIENCE });
  const before = containerOf(started, "main");
  expect(stage.journal("lives")).toEqual(["start a"]);

  const checked = await arm64("check", "-o", "json", "--config", agent.paths.config);
  const { items } = JSON.parse(checked.stdout) as { readonly items: readonly CheckResult[] };
  // Not its libraries: they lie elsewhere, and only the emulator finds them.
  const levels = ["runtime", "network", "manifests", "agent"].map((name) => [
    name,
    items.find((one) => one.check === name)?.level,
  ]);
  expect(levels).toEqual([
    ["runtime", "ok"],
    ["network", "ok"],
    ["manifests", "ok"],
    ["agent", "ok"],
  ]);

  expect(await agent.kill("SIGKILL")).toBe(137);
  agent.start(path);
  await agent.waitReady(PATIENCE);
  await untilPod(agent, "lives", { ...READY, timeout: PATIENCE });
  const after = containerOf(await podOf(agent, "lives"), "main");
  expect(after.containerID).toBe(before.containerID);
  expect(stage.journal("lives")).toEqual(["start a"]);

  agent.removeManifest("lives.yaml");
  await untilGone(agent, "lives");
  await eventually("its container has ended", () => stage.journal("lives").at(-1) === "stop a");
  expect(await agent.kill("SIGTERM")).toBe(0);
});
