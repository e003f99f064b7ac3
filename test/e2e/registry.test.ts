// Pulls from Debian's docker-registry through a line of ours, which may be slow, cut, silent, refusing or gone: each failure
// has its own reason and its back-off, ends when its cause ends, and disturbs no other pod.

import { afterAll, beforeAll, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { DockerRegistry } from "../harness/docker-registry.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { containerOf, READY, untilEvent, untilPod, podOf } from "./support-c-views.ts";
import { World } from "./support-e-world.ts";
import { Line } from "./support-m-line.ts";

const MB = 1_000_000;
const USER = { username: "fleet", password: "correct-horse-battery-staple" };

const world = await World.open();
const { e2e } = world;
let agent: AgentProcess;
let registry: DockerRegistry;
let guarded: DockerRegistry;
let authFile = "";

beforeAll(async () => {
  if (!world.stage.available) return;
  const { temp } = world.stage;
  registry = await DockerRegistry.start(temp, { name: "registry" });
  guarded = await DockerRegistry.start(temp, { name: "guarded-registry", user: USER });
  authFile = join(temp.directory("registry-auth"), "config.json");
  agent = world.agent("registry", {
    config: { registryAuthFile: authFile, maxParallelImagePulls: 3 },
  });
  await agent.startReady();
  put("bystander", BUSYBOX_1.name);
  await untilPod(agent, "bystander", READY);
}, 180_000);

afterAll(() => world.close(), 180_000);

function put(name: string, image: string): void {
  agent.writeManifest(`${name}.yaml`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        { name: "main", image, command: ["sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"] },
      ],
    },
  });
}

function auth(auths: Readonly<Record<string, object>>): void {
  writeFileSync(authFile, JSON.stringify({ auths }), { mode: 0o600 });
}

/** Waits until the container waits with one of these reasons, and gives its message. */
async function refusedWith(name: string, message: RegExp): Promise<void> {
  await untilPod(agent, name, {
    is: `waits because of ${message.source}`,
    when: (pod) => {
      const { waiting } = containerOf(pod, "main").state;
      const isRefusal = ["ErrImagePull", "ImagePullBackOff"].includes(waiting?.reason ?? "");
      return isRefusal && message.test(waiting?.message ?? "");
    },
  });
  await untilEvent(agent, name, { reason: "Failed", message });
  await untilEvent(agent, name, { reason: "BackOff" });
}

/** Neither restarted nor stopped by anything that happened to others. */
async function bystanderRuns(): Promise<void> {
  const { restartCount, ready } = containerOf(await podOf(agent, "bystander"), "main");
  expect([restartCount, ready]).toEqual([0, true]);
}

e2e("two pods with one image cost one pull", async () => {
  using line = new Line(registry.port);
  await registry.push("shared:1", { version: "shared" });
  put("shared-a", line.reference("shared:1"));
  put("shared-b", line.reference("shared:1"));
  await untilPod(agent, "shared-a", READY);
  await untilPod(agent, "shared-b", READY);
  expect(line.count(/^HEAD \/v2\/shared\/manifests\/1 /)).toBe(1);
  // Each of them has waited for it.
  const metrics = await (await agent.api("/metrics")).text();
  const sample = (name: string): number =>
    Number(new RegExp(`^${RegExp.escape(name)} (.+)$`, "m").exec(metrics)?.[1]);
  const ofSize = '{image_size_in_bytes="0-10MB"}';
  expect(sample(`kubelet_image_pull_duration_seconds_count${ofSize}`)).toBe(2);
  const pulls = sample(`kubelet_image_pull_duration_seconds_sum${ofSize}`);
  const waited =
    sample("kubelet_pod_start_total_duration_seconds_sum") -
    sample("kubelet_pod_start_sli_duration_seconds_sum");
  // The bystander has pulled nothing.
  expect(sample("kubelet_pod_start_sli_duration_seconds_count")).toBe(3);
  expect(waited).toBeGreaterThan(0.9 * pulls);
});

e2e(
  "a line that is cut every 2 MB brings the image all the same",
  async () => {
    using line = new Line(registry.port);
    await registry.push("cut:1", { version: "cut", ballast: 5 * MB });
    line.trouble = { cutAfter: 2 * MB };
    put("cut", line.reference("cut:1"));
    await untilPod(agent, "cut", { ...READY, timeout: 100_000 });
    expect(line.cuts).toBeGreaterThan(1);
  },
  120_000,
);

e2e(
  "a slow pull shows its bytes, a silent one holds up nothing and goes on when the line does",
  async () => {
    using line = new Line(registry.port);
    await registry.push("slow:1", { version: "slow", ballast: 12 * MB });
    line.trouble = { rate: 2 * MB };
    put("slow", line.reference("slow:1"));
    const shown = await untilPod(agent, "slow", {
      is: "shows how far its image is",
      when: (pod) => / of 1\d\.\d MiB/.test(containerOf(pod, "main").state.waiting?.message ?? ""),
    });
    const { waiting } = containerOf(shown, "main").state;
    expect(waiting?.reason).toBe("ContainerCreating");
    expect(waiting?.message).toMatch(
      /^pulling image ".*slow:1": \d+\.\d MiB of 1\d\.\d MiB \(\d+ %\)$/,
    );
    line.trouble = { stallAfter: 0 };
    put("meanwhile", BUSYBOX_1.name);
    await untilPod(agent, "meanwhile", READY);
    expect(containerOf(await podOf(agent, "slow"), "main").state.waiting).toBeDefined();
    line.trouble = {};
    await untilPod(agent, "slow", READY);
  },
  120_000,
);

e2e(
  "a pull that no pod wants any more ends",
  async () => {
    using line = new Line(registry.port);
    await registry.push("unwanted:1", { version: "unwanted", ballast: 4 * MB });
    line.trouble = { stallAfter: MB };
    put("unwanted", line.reference("unwanted:1"));
    await eventually("the layer is under way", () => Promise.resolve(line.stalled > 0), {
      timeout: 60_000,
    });
    agent.removeManifest("unwanted.yaml");
    await eventually(
      "containerd has closed its connections",
      () => Promise.resolve(line.stalled === 0),
      { timeout: 60_000 },
    );
  },
  120_000,
);

/** Without and with wrong credentials of registryAuthFile it is refused; corrected ones count at the next try. */
async function correctedCredentials(): Promise<void> {
  await guarded.push("secret:1", { version: "secret" });
  const place = `127.0.0.1:${guarded.port}`;
  put("secret", `${place}/secret:1`);
  await refusedWith("secret", /401 Unauthorized|authorization failed|no basic auth/);
  auth({ [place]: { ...USER, password: "wrong" } });
  put("secret-too", `${place}/secret:1`);
  await refusedWith("secret-too", /401 Unauthorized|authorization failed/);
  auth({ [place]: USER });
  await untilPod(agent, "secret", READY);
  await untilPod(agent, "secret-too", READY);
  expect(agent.logTail(10_000)).not.toContain(USER.password);
}

/** An image that does not exist yet is awaited. */
async function imageOfLater(): Promise<void> {
  put("later", `127.0.0.1:${registry.port}/later:1`);
  await refusedWith("later", /not found/);
  await registry.push("later:1", { version: "later" });
  await untilPod(agent, "later", READY);
}

/** A registry that denies access is asked again. */
async function deniedImage(): Promise<void> {
  using line = new Line(registry.port);
  await registry.push("denied:1", { version: "denied" });
  line.trouble = { denied: "denied" };
  put("denied", line.reference("denied:1"));
  await refusedWith("denied", /403 Forbidden|denied/);
  const asked = line.requests.length;
  line.trouble = {};
  await untilPod(agent, "denied", READY);
  expect(line.requests.length).toBeGreaterThan(asked);
}

/** A registry that is gone is asked until it is back. */
async function goneRegistry(): Promise<void> {
  using line = new Line(registry.port);
  await registry.push("gone:1", { version: "gone" });
  line.goAway();
  put("gone", line.reference("gone:1"));
  await refusedWith("gone", /connection refused/);
  line.comeBack();
  await untilPod(agent, "gone", READY);
}

e2e(
  "each failure has its reason and its back-off, and ends with its cause",
  async () => {
    await Promise.all([correctedCredentials(), imageOfLater(), deniedImage(), goneRegistry()]);
    await bystanderRuns();
  },
  120_000,
);
