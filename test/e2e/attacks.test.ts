// What a hostile document, container, server or broker may cost the compiled agent: it answers, it stays small, it does
// not end, and a newer document still reaches it. In a memory cgroup of a small device.

import { expect } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { PodView } from "../../src/node/api-views.ts";
import { startBroker } from "../harness/broker.ts";
import { always, eventually } from "../harness/eventually.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { run } from "../harness/run-command.ts";
import { getNode } from "./support-a-agent.ts";
import { desired, publishDesired, topicOf, Upstream } from "./support-b-upstream.ts";
import { openStage } from "./support-b-stage.ts";
import { AttackWatch, confined, PEAK_MIB, release, type Confined } from "./support-l-attacked.ts";
import { Flood, FRAMES, PACKETS } from "./support-l-floods.ts";
import {
  containerOf,
  inPhase,
  isTrue,
  podOf,
  READY,
  untilEvent,
  untilGone,
  untilPod,
} from "./support-c-views.ts";

const stage = await openStage();
const { e2e } = stage;
const ATTACK_MS = 8_000;

/** Runs the attack on an agent of its own, and judges what it cost. */
async function attacked(
  name: string,
  options: Parameters<typeof stage.agent>[1],
  attack: (agent: Confined, watch: AttackWatch) => Promise<void>,
): Promise<void> {
  const node = confined(stage.agent(name, options), stage.temp);
  try {
    await node.start();
    const watch = new AttackWatch(name, node);
    await attack(node, watch);
    const seen = await watch.end();
    expect(node.agent.running).toBe(true);
    expect(seen.unanswered).toEqual([]);
    expect(seen.peakMiB).toBeLessThan(PEAK_MIB);
  } finally {
    await release(node);
  }
}

function pod(name: string, container: object = {}, spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        { name: "a", image: BUSYBOX_1.name, command: ["sleep", "1000000"], ...container },
      ],
      ...spec,
    },
  };
}

/** `$(A9)` is ten times `$(A8)`, and so on: a few kilobytes that ask for gigabytes. */
const BOMB = [
  { name: "A0", value: "x".repeat(100) },
  ...Array.from({ length: 12 }, (_, at) => ({
    name: `A${at + 1}`,
    value: `$(A${at})`.repeat(10),
  })),
];

e2e("an expansion bomb in a document", async () => {
  const broker = await startBroker(stage.temp, { name: "bomb-broker" });
  await attacked("bomb", { broker }, async (node, watch) => {
    const { agent } = node;
    const upstream = await Upstream.follow(await broker.client(), agent.nodeName);
    const bomb = pod("bomb", { env: BOMB, command: ["$(A12)"], args: ["$(A12)"] });
    await publishDesired(broker, "bomb", desired("bomb", { generation: 1, resources: [bomb] }));
    const refused = { is: "is refused", when: isRefused };
    await untilPod(agent, "bomb", refused);
    await watch.restart(node);
    await untilPod(agent, "bomb", refused);
    await publishDesired(
      broker,
      "bomb",
      desired("bomb", { generation: 2, resources: [pod("healed")] }),
    );
    await upstream.ack("a newer document heals", (ack) => ack.generation === 2 && ack.code === 200);
  });
});

function isRefused(view: PodView): boolean {
  return containerOf(view, "a").state.waiting?.reason === "CreateContainerConfigError";
}

e2e("a ConfigMap that a document lists a thousand times", async () => {
  const broker = await startBroker(stage.temp, { name: "items-broker" });
  await attacked("items", { broker }, async (node, watch) => {
    const { agent } = node;
    const content = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "large" } };
    agent.writeManifest("large.yaml", { ...content, data: { key: "x".repeat(900_000) } });
    const items = Array.from({ length: 1000 }, (_, at) => ({ key: "key", path: `p${at}` }));
    const volumes = [{ name: "v", configMap: { name: "large", items } }];
    const volumeMounts = [{ name: "v", mountPath: "/v" }];
    const greedy = pod("greedy", { volumeMounts }, { volumes });
    await publishDesired(broker, "items", desired("items", { generation: 1, resources: [greedy] }));
    const refused = { is: "is refused", when: isRefused };
    await untilPod(agent, "greedy", refused);
    await watch.restart(node);
    await untilPod(agent, "greedy", refused);
  });
});

e2e("generations without end", async () => {
  const broker = await startBroker(stage.temp, { name: "endless-broker" });
  await attacked("endless", { broker }, async ({ agent }) => {
    const client = await broker.client();
    const upstream = await Upstream.follow(client, agent.nodeName);
    const LAST = 20_000;
    const written = bytesWritten(agent.pid);
    for (let generation = 1; generation <= LAST; generation += 100)
      await Promise.all(
        Array.from({ length: 100 }, async (_, at) =>
          client.publish(
            topicOf("endless", "desired"),
            desired("endless", {
              generation: generation + at,
              resources: [configMap(generation + at)],
            }),
            { retain: true },
          ),
        ),
      );
    await upstream.ack("the newest counts", (ack) => ack.generation === LAST && ack.code === 200);
    const mebibytes = (bytesWritten(agent.pid) - written) / 1024 / 1024;
    const accepted = new Set(upstream.acks().map(({ generation }) => generation)).size;
    console.log(`endless: ${accepted} acknowledged, ${mebibytes.toFixed(1)} MiB written`);
    expect(mebibytes).toBeLessThan(20);
  });
});

function configMap(generation: number): object {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "one" },
    data: { generation: String(generation) },
  };
}

function bytesWritten(pid: number | undefined): number {
  const io = readFileSync(`/proc/${pid ?? 0}/io`, "utf8");
  return Number(/^write_bytes: (\d+)/m.exec(io)?.[1]);
}

e2e("commands without end", async () => {
  const broker = await startBroker(stage.temp, { name: "orders-broker" });
  await attacked("orders", { broker }, async () => {
    const client = await broker.client();
    for (let sent = 0; sent < 20_000; sent += 100)
      await Promise.all(
        Array.from({ length: 100 }, async (_, at) => {
          const id = `01JD${String(sent + at).padStart(22, "0")}`;
          const command = { id, verb: "restart", target: { node: "orders" }, args: { pod: "x" } };
          await client.publish(topicOf("orders", "command"), command);
        }),
      );
    const ping = { id: `01JE${"0".repeat(22)}`, verb: "ping" };
    const answers = await client.collect(topicOf("orders", "response"));
    const isAnswered = async (): Promise<boolean> => {
      await client.publish(topicOf("orders", "command"), ping);
      await Bun.sleep(1_000);
      return answers.messages.some(({ payload }) => payload.includes(ping.id));
    };
    // The broker hands on what has gathered first.
    await eventually("a ping is answered", isAnswered, { timeout: 90_000 });
  });
});

for (const [what, unit] of Object.entries(PACKETS))
  e2e(`a broker that floods with ${what}`, async () => {
    using flood = await Flood.broker(unit);
    const name = `broker-${Object.keys(PACKETS).indexOf(what)}`;
    const mqtt = { url: `mqtt://127.0.0.1:${flood.port}` };
    await attacked(name, { config: { mqtt } }, async ({ agent }) => {
      await eventually("it has connected", () => flood.connections > 0);
      // Agents on one containerd may not have pods of one name.
      agent.writeManifest("well.yaml", pod(`well-${name}`));
      await always("it runs", ATTACK_MS, () => agent.running);
      await untilPod(agent, `well-${name}`, READY);
      console.log(`${name}: ${flood.connections} connections, ${flood.written} bytes`);
    });
  });

for (const [what, unit] of Object.entries(FRAMES))
  e2e(`a gRPC server that floods a probe with ${what}`, async () => {
    const name = `grpc-${Object.keys(FRAMES).indexOf(what)}`;
    await attacked(name, {}, async ({ agent }) => {
      const { addresses = [] } = (await getNode(agent)).status;
      const host = addresses.find(({ type }) => type === "InternalIP")?.address ?? "127.0.0.1";
      using flood = await Flood.grpc(host, unit);
      const grpc = { port: flood.port };
      const probe = { grpc, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 1000 };
      const probed = { readinessProbe: probe };
      agent.writeManifest("probed.yaml", pod("probed", probed, { hostNetwork: true }));
      await eventually("it is probed", () => flood.connections > 2);
      await always("it runs", ATTACK_MS, () => agent.running);
      expect(isTrue(await podOf(agent, "probed"), "Ready")).toBe(false);
      console.log(`${name}: ${flood.connections} connections, ${flood.written} bytes`);
    });
  });

e2e("exec probes that write 16 MiB each", async () => {
  await attacked("output", {}, async ({ agent }) => {
    const command = ["head", "-c", "16777216", "/dev/zero"];
    const probe = { exec: { command }, periodSeconds: 1, timeoutSeconds: 30 };
    const containers = ["a", "b", "c", "d"].map((name) => ({
      name,
      image: BUSYBOX_1.name,
      command: ["sleep", "1000000"],
      livenessProbe: { ...probe, failureThreshold: 1000 },
      readinessProbe: { ...probe, failureThreshold: 1000 },
    }));
    for (const name of ["p0", "p1", "p2", "p3"])
      agent.writeManifest(`${name}.yaml`, pod(name, {}, { containers }));
    const unhealthy = { reason: "Unhealthy", message: /output/ };
    await untilEvent(agent, "p0", unhealthy);
    await always("it runs", 2 * ATTACK_MS, () => agent.running);
  });
});

e2e(
  "hooks that write a megabyte each, all at once",
  async () => {
    await attacked("hooks", {}, async ({ agent }) => {
      const gate = stage.temp.directory("hooks-gate");
      const command = [
        "sh",
        "-c",
        "until [ -e /gate/go ]; do sleep 0.2; done; head -c 1040000 /dev/zero",
      ];
      const volumes = [{ name: "gate", hostPath: { path: gate } }];
      const containers = Array.from({ length: 20 }, (_, at) => ({
        name: `c${at}`,
        image: BUSYBOX_1.name,
        command: ["sh", "-c", "trap 'exit 0' TERM; sleep 1000000 & wait"],
        lifecycle: { preStop: { exec: { command } } },
        volumeMounts: [{ name: "gate", mountPath: "/gate" }],
      }));
      const names = Array.from({ length: 8 }, (_, at) => `h${at}`);
      for (const name of names)
        agent.writeManifest(
          `${name}.yaml`,
          pod(name, {}, { containers, volumes, terminationGracePeriodSeconds: 120 }),
        );
      for (const name of names) await untilPod(agent, name, { ...READY, timeout: 120_000 });
      for (const name of names) agent.removeManifest(`${name}.yaml`);
      await Bun.sleep(15_000);
      writeFileSync(join(gate, "go"), "");
      // 160 containers, each of them behind a hook.
      for (const name of names) await untilGone(agent, name, 120_000);
    });
  },
  360_000,
);

e2e("a termination message of a gigabyte", async () => {
  await attacked("message", {}, async ({ agent }) => {
    const command = ["sh", "-c", "dd if=/dev/zero of=/dev/termination-log bs=1 seek=1G count=0"];
    agent.writeManifest("long.yaml", pod("long", { command }, { restartPolicy: "Never" }));
    const view = await untilPod(agent, "long", inPhase("Succeeded"));
    expect(containerOf(view, "a").state.terminated?.message?.length ?? 0).toBeLessThan(5_000);
  });
});

e2e(
  "an emptyDir of many files, removed with a kill in the middle",
  async () => {
    await attacked("files", {}, async (node, watch) => {
      const { agent } = node;
      const fill = `mkdir /v/d; cd /v/d; touch f; i=0; while [ $i -lt 40 ]; do mkdir $i; seq 1 5000 | sed "s,^,$i/," | xargs touch; i=$((i+1)); done; echo done >/dev/termination-log`;
      const volumes = [{ name: "v", emptyDir: {} }];
      const mounts = { volumeMounts: [{ name: "v", mountPath: "/v" }] };
      const command = ["sh", "-c", fill];
      const many = pod("many", { command, ...mounts }, { volumes, restartPolicy: "Never" });
      agent.writeManifest("many.yaml", many);
      await untilPod(agent, "many", { ...inPhase("Succeeded"), timeout: 120_000 });
      const pods = join(agent.paths.state, "pods");
      const [uid = ""] = readdirSync(pods);
      agent.removeManifest("many.yaml");
      await untilGone(agent, "many");
      await watch.restart(node);
      agent.writeManifest("well.yaml", pod("well-files"));
      await untilPod(agent, "well-files", READY);
      const directory = join(pods, uid);
      await eventually("the directory of the pod is gone", () => !existsSync(directory), {
        timeout: 120_000,
      });
    });
  },
  300_000,
);

e2e(
  "a claim of many files, deleted with a kill in the middle",
  async () => {
    await attacked("claim", {}, async (node, watch) => {
      const { agent } = node;
      // As a pod that is gone has left it.
      const namespace = join(agent.paths.state, "claims/default");
      const data = join(namespace, "many");
      mkdirSync(data, { recursive: true });
      // Few inodes: where many were deleted just now, ext4 is slow to give out new ones.
      const fill = `cd ${data}; mkdir 1; seq 5000 | sed s,^,1/, | xargs touch; for i in $(seq 2 40); do cp -al 1 $i; done`;
      expect(await run(["sh", "-c", fill], { timeout: 120_000 })).toMatchObject({ code: 0 });
      const deleted = await agent.cli("delete", "pvc", "many", "--data");
      expect(deleted).toMatchObject({ code: 0 });
      const removed = join(namespace, ".removed/0");
      expect([existsSync(data), existsSync(removed)]).toEqual([false, true]);
      await watch.restart(node);
      expect(existsSync(removed)).toBe(true);
      await eventually("the space is free", () => !existsSync(removed), { timeout: 120_000 });
    });
  },
  300_000,
);
