// Updates that wait: an operator, the pod's own annotation or the application itself says so, and the old container runs on.

import { expect } from "bun:test";

import { parse } from "yaml";

import { always, eventually } from "../harness/eventually.ts";
import { untilGone } from "./support-c-views.ts";
import { HoldStage, type HeldNode } from "./support-k-holds.ts";

const stage = await HoldStage.open();
const { hub } = stage;
const { e2e } = stage.stage;
const LIMIT = 360_000;

/** `get pods -o yaml`: why the update is held. */
async function condition(node: HeldNode): Promise<string> {
  const { status } = parse(await node.cli("get", "pods", "web", "-o", "yaml")) as {
    readonly status: {
      readonly conditions: readonly { readonly type: string; readonly message?: string }[];
    };
  };
  return status.conditions.find(({ type }) => type === "agent/UpdateHeld")?.message ?? "";
}

e2e.concurrent(
  "a held pod runs on while the image of its update is fetched, over kill -9, until it is released",
  async () => {
    await using node = await stage.node("hold-pod");
    const before = await node.good([node.pod()]);
    expect(await node.cli("hold", "web")).toBe("pod/web held: updates wait until agent release\n");
    hub.move("hold-pod:2", "2");
    const image = hub.reference("hold-pod:2");
    await node.publish([node.pod({ image })]);
    await node.held(/^pod default\/web: held since /, before);
    await eventually("the image of the update is there", () => node.hasImage(image), {
      timeout: 60_000,
      explain: () => node.agent.logTail(40),
    });
    expect(hub.timesAsked("hold-pod:2")).toBeGreaterThan(0);

    await node.agent.kill("SIGKILL");
    await node.agent.startReady(60_000);
    await node.staysHeld(before);
    expect(await node.cli("get", "pods")).toContain("(update held");
    expect(await condition(node)).toStartWith("held since ");

    // What is fetched needs no registry any more.
    const asked = hub.timesAsked("hold-pod:2");
    expect(await node.cli("release", "web")).toBe("pod/web released: updates go on\n");
    await node.replaced(before);
    await node.healthy();
    expect(await node.inside(await node.container(), "cat /etc/image-version")).toBe("2\n");
    expect(hub.timesAsked("hold-pod:2")).toBe(asked);
    expect(await node.cli("get", "pods")).not.toContain("(update held");
  },
  LIMIT,
);

e2e.concurrent(
  "a hold of the whole node keeps every pod as it is, and a new pod runs all the same",
  async () => {
    await using node = await stage.node("hold-all");
    const before = await node.good([node.pod(), node.pod({ name: "other" })]);
    const other = await node.container("other");
    expect(await node.cli("hold", "--all")).toBe(
      "all pods held: updates wait until agent release --all\n",
    );
    await node.publish([
      node.pod({ variant: "2" }),
      node.pod({ name: "other", variant: "2" }),
      node.pod({ name: "newcomer" }),
    ]);
    await node.held(
      /all updates of this node are held since .*; agent release --all ends it/,
      before,
    );
    await node.container("newcomer");
    await node.cli("release", "web");
    await node.staysHeld(before);
    expect(await node.container("other")).toBe(other);
    expect(await node.cli("release", "--all")).toBe("all pods released: updates go on\n");
    await node.replaced(before);
    await node.healthy();
    expect(await node.container("other")).not.toBe(other);
  },
  LIMIT,
);

e2e.concurrent(
  "a pod that asks for it by its annotation waits for its release, each revision anew",
  async () => {
    await using node = await stage.node("hold-annotation");
    const annotations = { "agent/hold-upgrade": "true" };
    const before = await node.good([node.pod({ annotations })]);
    await node.publish([node.pod({ variant: "2", annotations })]);
    await node.held(/held by its annotation agent\/hold-upgrade; agent release ends it/, before);
    await node.cli("release", "web");
    await node.replaced(before);
    await node.healthy();
    const second = await node.container();
    await node.publish([node.pod({ variant: "3", annotations })]);
    await node.held(/agent\/hold-upgrade/, second);
    // A document that no longer asks for it ends it as well.
    await node.publish([node.pod({ variant: "3" })]);
    await node.replaced(second);
    await node.healthy();
  },
  LIMIT,
);

e2e.concurrent(
  "an application's lock holds its update, is named with its age, and its end is seen within seconds",
  async () => {
    await using node = await stage.node("lock");
    const before = await node.good([node.lockingPod("1")]);
    await node.inside(before, "touch /lock/main");
    await node.publish([node.lockingPod("2")]);
    await node.held(/^pod default\/web: locked by container main for (less than a|1) min/, before);
    expect(await condition(node)).toMatch(/^locked by container main for /);
    await node.staysHeld(before, 8_000);
    await node.inside(before, "rm /lock/main");
    // The lock is looked at every few seconds; a slow machine needs some more for the switch.
    expect(await node.replaced(before)).toBeLessThan(60_000);
    await node.healthy();
  },
  LIMIT,
);

e2e.concurrent(
  "a lock counts no more when the container that made it has ended, although its file is still there",
  async () => {
    await using node = await stage.node("lock-restart");
    const first = await node.good([node.lockingPod("1")]);
    await node.inside(first, "touch /lock/main");
    await node.end(first);
    await node.replaced(first);
    const second = await node.container();
    expect(await node.inside(second, "ls /lock")).toBe("main\n");
    const generation = await node.publish([node.lockingPod("2")]);
    await node.replaced(second);
    await node.healthy();
    const codes = node.upstream.acks().filter((ack) => ack.generation === generation);
    expect(codes.filter(({ code }) => code === 423)).toEqual([]);

    // The new pod has a volume of its own; its lock ends with its container as well.
    const third = await node.container();
    expect(await node.inside(third, "ls /lock")).toBe("");
    await node.inside(third, "touch /lock/main");
    await node.publish([node.lockingPod("3")]);
    await node.held(/locked by container main/, third);
    await node.end(third);
    await node.replaced(third);
    await node.healthy();
    const words = await node.inside(await node.container(), "tr '\\0' ' ' </proc/1/cmdline");
    expect(words).toEndWith("sh 3 lock-restart ");
  },
  LIMIT,
);

e2e.concurrent(
  "a lock ends by itself after maxLockSeconds",
  async () => {
    await using node = await stage.node("lock-ends");
    const before = await node.good([node.lockingPod("1")]);
    await node.inside(before, "touch /lock/main");
    const start = performance.now();
    await node.publish([node.lockingPod("2")], { maxLockSeconds: 25 });
    await node.held(/locked by container main/, before);
    await node.replaced(before);
    expect(performance.now() - start).toBeGreaterThan(20_000);
    await node.healthy();
    // It is not taken away either while it holds a lock.
    const second = await node.container();
    await node.inside(second, "touch /lock/main");
    await node.publish([node.pod({ name: "other" })]);
    await node.held(/^pod default\/web: locked by container main/, second);
    await node.container("other");
    await node.inside(second, "rm /lock/main");
    await untilGone(node.agent, "web");
    await node.healthy();
  },
  LIMIT,
);

e2e.concurrent(
  "what a held pod reads stays as it is too, and is there when it is released",
  async () => {
    await using node = await stage.node("hold-content");
    const config = (mode: string): object => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "config" },
      data: { mode },
    });
    const pod = node.pod({
      container: { volumeMounts: [{ name: "config", mountPath: "/config" }] },
      volumes: [{ name: "config", configMap: { name: "config" } }],
    });
    const before = await node.good([config("old"), pod]);
    const read = (): Promise<string> => node.inside(before, "cat /config/mode");
    await node.cli("hold", "web");
    await node.publish([config("new"), pod]);
    await node.held(/held since /, before);
    await always("it reads what it read", 3_000, async () => (await read()) === "old");
    await node.agent.restart("SIGKILL");
    await always("it reads what it read", 3_000, async () => (await read()) === "old");
    await node.cli("release", "web");
    await eventually("it reads the new content", async () => (await read()) === "new", {
      timeout: 60_000,
      explain: () => node.agent.logTail(40),
    });
    await node.healthy();
    expect(await node.container()).toBe(before);
  },
  LIMIT,
);

e2e.concurrent(
  "a revision that is known as bad is tried again when it is released",
  async () => {
    await using node = await stage.node("release-bad");
    const scratch = {
      container: { volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] },
      volumes: [{ name: "scratch", emptyDir: {} }],
    };
    const before = await node.good([node.pod(scratch)]);
    await node.inside(before, "touch /scratch/of-the-one-before");
    hub.move("release-bad:2", "broken");
    const image = hub.reference("release-bad:2");
    await node.publish([node.pod({ image, container: { imagePullPolicy: "Always" } })]);
    await node.ack("it is rolled back", ({ phase }) => phase === "RolledBack");
    const back = await node.container();
    expect(back).not.toBe(before);
    expect(await node.inside(back, "ls /scratch")).toBe("");
    expect(await node.cli("get", "pods")).toContain("(rolled back)");
    hub.move("release-bad:2", "2");
    await node.staysHeld(back);
    await node.cli("release", "web");
    await node.healthy();
    expect(await node.inside(await node.container(), "cat /etc/image-version")).toBe("2\n");
  },
  LIMIT,
);

e2e.concurrent(
  "pods of files are not held, and what nobody knows is not either",
  async () => {
    await using node = await stage.node("hold-file");
    node.agent.writeManifest("local.yaml", node.pod({ name: "local" }));
    await node.container("local");
    const refused = await node.agent.cli("hold", "local");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toBe(
      `Error: pod default/local is declared by ${node.agent.paths.manifests}/local.yaml: edits of a file are not held, and files never roll back\n`,
    );
    expect(await node.agent.cli("hold", "nobody")).toMatchObject({
      code: 1,
      stderr: 'Error: pods "nobody" not found in namespace "default"\n',
    });
  },
  LIMIT,
);
