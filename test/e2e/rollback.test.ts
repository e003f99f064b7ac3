// Updates that go wrong, on the real parts: each is taken back by the node itself, and everything is as it was before.

import { afterAll, expect } from "bun:test";

import { eventually } from "../harness/eventually.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { run } from "../harness/run-command.ts";
import { Registry } from "./support-e-registry.ts";
import type { RollbackNode, Wish } from "./support-h-node.ts";
import { RollbackStage } from "./support-h-rollback.ts";
import { MovingRegistry } from "./support-h-registry.ts";
import { configMap, volumeClaim, type TickingPod } from "./support-h-ticks.ts";

const stage = await RollbackStage.open();
afterAll(async () => {
  locked[Symbol.dispose]();
  await stage.unblock();
});
const { hub } = stage;
const { e2e } = stage.stage;
const LIMIT = 360_000;
const locked = new Registry(BUSYBOX_1, { username: "somebody", password: "else" });

interface BadUpdate {
  readonly what: string;
  readonly node: string;
  readonly reason: RegExp;
  readonly good?: Partial<TickingPod>;
  readonly bad: (node: RollbackNode) => Wish;
  /** The old container never stops. */
  readonly harmless?: boolean;
  /** The document's ConfigMap stays as it is: only the pod does not get to see it. */
  readonly holdsBad?: boolean;
}

const never = { readinessProbe: { exec: { command: ["false"] }, periodSeconds: 1 } };

const BAD: readonly BadUpdate[] = [
  {
    what: "an image that its registry does not have",
    node: "image-not-found",
    reason: /ImageNotFound/,
    bad: (node) => ({
      resources: [...node.objects(), node.app({ image: hub.reference("nobody/has-it:1") })],
    }),
    harmless: true,
  },
  {
    what: "an image with an impossible name",
    node: "image-name",
    reason: /InvalidImageName/,
    bad: (node) => ({ resources: [...node.objects(), node.app({ image: "Not A Name" })] }),
    harmless: true,
  },
  {
    what: "an image that its registry gives to others only",
    node: "image-denied",
    reason: /ImageDenied/,
    bad: (node) => ({
      resources: [...node.objects(), node.app({ image: `127.0.0.1:${locked.port}/web:1` })],
    }),
    harmless: true,
  },
  {
    what: "a command that ends at once, again and again",
    node: "crash-loop",
    reason: /CrashLoopBackOff/,
    bad: (node) => ({
      resources: [...node.objects(), node.app({ variant: "bad", behaviour: "crash" })],
    }),
  },
  {
    what: "an image that ends at once, again and again",
    node: "crash-image",
    reason: /CrashLoopBackOff/,
    bad: (node) => {
      hub.move("crash-image:2", "broken");
      const app = node.app({ variant: "bad", image: hub.reference("crash-image:2") });
      return { resources: [...node.objects(), app] };
    },
  },
  {
    what: "a pod that is never ready",
    node: "never-ready",
    reason: /ProgressDeadlineExceeded/,
    bad: (node) => ({
      resources: [...node.objects(), node.app({ variant: "bad", container: never })],
      policy: { progressDeadlineSeconds: 8 },
    }),
  },
  {
    what: "a ConfigMap that is not there",
    node: "no-config",
    reason: /ProgressDeadlineExceeded/,
    bad: (node) => ({
      resources: [...node.objects(), node.app({ variant: "bad", config: "elsewhere" })],
      policy: { progressDeadlineSeconds: 8 },
    }),
    harmless: true,
  },
  {
    what: "a ConfigMap that is taken away from under the same pod",
    node: "config-gone",
    reason: /ProgressDeadlineExceeded|CrashLoopBackOff/,
    bad: (node) => ({
      resources: [volumeClaim("store"), node.app()],
      policy: { progressDeadlineSeconds: 8 },
    }),
  },
  {
    what: "a bad ConfigMap, read as environment",
    node: "config-env",
    reason: /CrashLoopBackOff/,
    good: { reads: "env" },
    bad: (node) => ({ resources: [...node.objects("bad"), node.app({ reads: "env" })] }),
    holdsBad: true,
  },
  {
    what: "a bad ConfigMap, read as a volume",
    node: "config-volume",
    reason: /CrashLoopBackOff/,
    good: { reads: "volume" },
    bad: (node) => ({ resources: [...node.objects("bad"), node.app({ reads: "volume" })] }),
    holdsBad: true,
  },
  {
    what: "a bad ConfigMap, read both ways",
    node: "config-both",
    reason: /CrashLoopBackOff/,
    bad: (node) => ({ resources: [...node.objects("bad"), node.app()] }),
    holdsBad: true,
  },
];

e2e.concurrent(
  "with onFailure keep the new revision is tried on, with hold nothing runs until somebody comes",
  async () => {
    await using node = await stage.node("keep-and-hold");
    await node.goodApp();
    const waits = (variant: string): object => node.app({ variant, behaviour: "waits" });
    const kept = await node.publish({
      resources: [...node.objects(), waits("bad-kept")],
      policy: { onFailure: "keep" },
    });
    const failed = await node.ack("it has failed", ({ code }) => code === 424);
    expect(failed).toMatchObject({ generation: kept, phase: "Degraded" });
    const starts = node.ticks.starts("web", "bad-kept");
    await eventually("it is tried on", () => node.ticks.starts("web", "bad-kept") > starts, {
      timeout: 60_000,
    });
    expect(node.ticks.starts("web", "good")).toBe(1);
    node.putData("now-it-works");
    await node.ack("it works", (ack) => ack.generation === kept && ack.code === 200);
    node.removeData("now-it-works");

    const held = await node.publish({
      resources: [...node.objects(), waits("bad-held")],
      policy: { onFailure: "hold" },
    });
    const stopped = await node.ack(
      "it failed",
      (ack) => ack.generation === held && ack.code === 424,
    );
    expect(stopped).toMatchObject({ phase: "Degraded", observedGeneration: kept });
    // Three crashes, and not one more start, also by an agent that is new.
    await node.stays(3_000, () => node.ticks.starts("web", "bad-held") === 3);
    await node.agent.restart("SIGKILL");
    await node.stays(4_000, () => node.ticks.starts("web", "bad-held") === 3);
    expect(await node.running()).toEqual([]);
  },
  LIMIT,
);

e2e.concurrent(
  "a hostNetwork pod that takes the route to the broker away is taken back, and the line is there again",
  async () => {
    const { farAddress, farUrl, route } = stage.secure;
    await using node = await stage.node("cut-off", { mqttUrl: farUrl });
    const spec = { hostNetwork: true };
    const before = await node.goodApp({ spec });
    const isReachable = async (): Promise<boolean> =>
      (await run(["ip", "route", "get", farAddress])).code === 0;
    expect(await isReachable()).toBe(true);
    const command = [
      "sh",
      "-c",
      `trap 'ip route del ${route}; exit 0' TERM; ip route add ${route}; sleep 1000000 & wait`,
    ];
    const securityContext = { capabilities: { add: ["NET_ADMIN"] } };
    const generation = await node.publish({
      resources: [...node.objects(), node.app({ spec, container: { command, securityContext } })],
      policy: { progressDeadlineSeconds: 20 },
    });
    await eventually("the route is gone", async () => !(await isReachable()), { timeout: 60_000 });
    await node.rolledBack({ generation, reason: /UpstreamLost/, before });
    expect(await isReachable()).toBe(true);
    expect(await node.upstream.untilState("online")).toMatchObject({ state: "online" });
  },
  LIMIT,
);

e2e.concurrent(
  "a tag that moved: the image of before runs again by its digest, also while its registry is away",
  async () => {
    using own = new MovingRegistry();
    const good = own.move("app:stable", "first");
    await using node = await stage.node("moved-tag");
    const fromTag = { image: own.reference("app:stable"), imagePullPolicy: "Always" };
    const before = await node.goodApp(fromTag);
    expect(before.imageID).toContain(good);
    expect(before.inside).toContain("first\n");

    own.move("app:stable", "broken");
    const container = { env: [{ name: "MODE", value: "good" }] };
    const resources = [...node.objects(), node.app({ ...fromTag, variant: "bad", container })];
    const generation = await node.publish({ resources });
    await eventually("the bad image has been started", () => node.ticks.starts("web") > 1, {
      timeout: 60_000,
    });
    await own.goAway();
    await node.rolledBack({ generation, reason: /CrashLoopBackOff/, before });
    await node.survives(before);
  },
  LIMIT,
);

e2e.concurrent(
  "what is known as bad is neither pulled nor started again, unless somebody asks for it",
  async () => {
    hub.move("known-bad:2", "broken");
    await using node = await stage.node("known-bad");
    const before = await node.goodApp();
    const bad = node.app({
      variant: "bad",
      image: hub.reference("known-bad:2"),
      imagePullPolicy: "Always",
    });
    const resources = [...node.objects(), bad];
    const first = await node.publish({ resources });
    await node.rolledBack({ generation: first, reason: /CrashLoopBackOff/, before });
    const starts = node.ticks.starts("web");
    const pulls = hub.timesAsked("known-bad:2");
    expect(pulls).toBeGreaterThan(0);

    const second = await node.publish({ resources: [...resources, configMap("x", "unrelated")] });
    await node.rolledBack({ generation: second, reason: /known bad/, before });
    await node.stays(3_000, () => node.ticks.starts("web") === starts);
    expect(node.downtime("web")).toBe(0);
    expect(hub.timesAsked("known-bad:2")).toBe(pulls);

    const third = await node.publish({ resources, policy: { retryFailed: true } });
    await node.rolledBack({
      generation: third,
      reason: /^(?!.*known bad).*CrashLoopBackOff/,
      before,
    });
    expect(node.ticks.starts("web", "bad")).toBeGreaterThanOrEqual(6);
    expect(hub.timesAsked("known-bad:2")).toBeGreaterThan(pulls);
  },
  LIMIT,
);

e2e.concurrent(
  "a first install that fails has nothing to go back to: it is tried until it works",
  async () => {
    await using node = await stage.node("first-install");
    const resources = [...node.objects(), node.app({ behaviour: "waits" })];
    const generation = await node.publish({ resources });
    const failed = await node.ack("it has failed", ({ code }) => code === 424);
    expect(failed).toMatchObject({ generation, phase: "Degraded", observedGeneration: 0 });
    expect(failed.lastGood).toBeUndefined();
    const starts = node.ticks.starts("web");
    await eventually("it is tried again", () => node.ticks.starts("web") > starts + 1, {
      timeout: 60_000,
    });
    node.putData("now-it-works");
    const good = await node.ack("it works", ({ code }) => code === 200);
    expect(good).toMatchObject({ generation, phase: "Healthy", observedGeneration: generation });
  },
  LIMIT,
);

e2e.concurrent(
  "of an atomic document all pods go back when one is bad",
  async () => {
    await using node = await stage.node("atomic");
    const other = { name: "other", claim: undefined } as const;
    await node.good({ resources: [...node.objects(), node.app(), node.app(other)] });
    const before = await node.remember("web");
    const otherBefore = await node.remember("other", before);
    const generation = await node.publish({
      resources: [
        ...node.objects(),
        node.app({ variant: "bad", behaviour: "crash" }),
        node.app({ ...other, variant: "good-2" }),
      ],
      policy: { atomic: true },
    });
    await node.rolledBack({ generation, reason: /AtomicUpdate|CrashLoopBackOff/, before });
    await node.asBefore(otherBefore);
    expect(node.ticks.lines("other").at(-1)).toMatchObject({ kind: "tick", variant: "good" });
    expect(node.ticks.starts("other", "good-2")).toBe(1);
  },
  LIMIT,
);

e2e.concurrent(
  "a pod that is renamed serves under its old name until the new one is ready",
  async () => {
    await using node = await stage.node("rename");
    await node.goodApp({ claim: undefined });
    const readinessProbe = {
      exec: { command: ["true"] },
      initialDelaySeconds: 2,
      periodSeconds: 1,
    };
    const renamed = node.app({ name: "web-2", claim: undefined, container: { readinessProbe } });
    await node.good({ resources: [...node.objects(), renamed] });
    await eventually("only the new one runs", async () => {
      expect(await node.running()).toEqual(["web-2"]);
      return true;
    });
    const end = node.ticks.lines("web").at(-1)?.at ?? 0;
    const start = node.ticks.lines("web-2")[0]?.at ?? 0;
    // Ready after two seconds at the soonest, and then for one more.
    expect(end - start).toBeGreaterThan(2.5);
    expect(node.ticks.starts("web")).toBe(1);
    node.tell("(renamed, not taken back)", 0);
  },
  LIMIT,
);

e2e.concurrent(
  "with stop-then-pull the old pod stops before anybody asks for the new image",
  async () => {
    await using node = await stage.node("stop-then-pull");
    const before = await node.goodApp();
    const image = hub.reference("nobody/has-this-either:1");
    const generation = await node.publish({
      resources: [...node.objects(), node.app({ image })],
      policy: { strategy: "stop-then-pull" },
    });
    await node.rolledBack({ generation, reason: /ImageNotFound/, before });
    const [asked] = hub.asked.filter((one) => one.image === "nobody/has-this-either:1");
    const [first] = node.ticks.lines("web");
    const old = node.ticks.lines("web").filter(({ instance }) => instance === first?.instance);
    expect(old.at(-1)?.at).toBeLessThanOrEqual(asked?.at ?? 0);
    expect(node.downtime("web")).toBeGreaterThan(0);
  },
  LIMIT,
);

for (const { what, node: name, reason, good, bad, harmless, holdsBad } of BAD)
  e2e.concurrent(
    `${what} is taken back`,
    async () => {
      await using node = await stage.node(name);
      const before = await node.goodApp(good);
      const generation = await node.publish(bad(node));
      await node.rolledBack({ generation, reason, before });
      if (harmless === true) {
        expect(node.downtime("web")).toBe(0);
        expect((await node.look()).containerId).toBe(before.containerId);
        expect(node.ticks.starts("web")).toBe(1);
      }
      if (holdsBad === true) {
        const { stdout } = await node.agent.cli("get", "configmap", "config", "-o", "yaml");
        expect(stdout).toContain("mode: bad");
      }
      await node.survives(before);
    },
    LIMIT,
  );
