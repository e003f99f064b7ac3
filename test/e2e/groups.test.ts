// Nodes in groups: the compiled program, a real broker, a real containerd.

import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { stringify } from "yaml";

import { agentBinary } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { run } from "../harness/run-command.ts";
import { openStage, runningApps } from "./support-b-stage.ts";
import {
  answers,
  becomes,
  checkpoints,
  configMap,
  newMember,
  ownPod,
  pong,
  publish,
  readerPod,
  rejected,
  runs,
  variantOf,
  wordOf,
} from "./support-j-groups.ts";

const stage = await openStage();
const { e2e, temp, containerd } = stage;

e2e.concurrent(
  "a node runs what its groups say, those of its configuration and those of its document",
  async () => {
    const member = await newMember(stage, "grp-three", [
      { name: "kiosks", priority: 10 },
      { name: "berlin", priority: 5 },
    ]);
    const { broker, agent } = member;
    const shared = (variant: string): object => ownPod(member, "shared", variant);
    await publish(broker, "group/kiosks", {
      generation: 1,
      resources: [ownPod(member, "k"), shared("of-kiosks")],
    });
    await publish(broker, "group/berlin", {
      generation: 4,
      resources: [
        ownPod(member, "b"),
        shared("of-berlin"),
        readerPod(member, "me", { from: "agent-node", key: "groups" }),
      ],
    });
    await publish(broker, "group/doors", {
      generation: 2,
      resources: [ownPod(member, "d", "", { nodeSelector: { site: "b1" } })],
    });
    await agent.startReady();
    await runs(member, "b", "k", "me", "shared");
    expect(await variantOf(member, "shared")).toBe("of-kiosks");
    expect(await wordOf(member, "me")).toBe("kiosks,berlin");

    // Joining while connected; the label of the same document lets the pod in.
    await publish(broker, "node/grp-three", {
      generation: 1,
      groups: [{ name: "doors", priority: 20 }],
      labels: { site: "b1" },
      resources: [ownPod(member, "own")],
    });
    await runs(member, "b", "d", "k", "me", "own", "shared");
    await answers(
      member,
      "node 1 200",
      "group/kiosks 1 200",
      "group/berlin 4 200",
      "group/doors 2 200",
    );
    expect(await rejected(member)).toEqual(["Shadowed shared of group/berlin"]);
    await becomes(member, () => wordOf(member, "me"), "kiosks,berlin,doors");
    const { stdout } = await agent.cli("get", "node", agent.nodeName, "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject({ metadata: { labels: { site: "b1" } } });

    expect(await pong(member, "doors")).toMatchObject({ code: 200, data: { node: "grp-three" } });

    // The higher group leaves the name to the lower one.
    await publish(broker, "group/kiosks", { generation: 2, resources: [ownPod(member, "k")] });
    await becomes(member, () => variantOf(member, "shared"), "of-berlin");
    await agent.kill();
    await broker.stop();
  },
  180_000,
);

e2e.concurrent(
  "one device is given other settings by a ConfigMap of its own document, and the group's come back",
  async () => {
    const member = await newMember(stage, "grp-own", [{ name: "kiosks" }]);
    const { broker, agent, name } = member;
    const word = (wanted: string): Promise<void> =>
      becomes(member, () => wordOf(member, "web"), wanted);
    await agent.startReady();
    await publish(broker, "group/kiosks", {
      generation: 1,
      resources: [
        readerPod(member, "web", { from: "settings", key: "word" }),
        configMap("settings", { word: "group" }),
      ],
    });
    await word("group");
    await publish(broker, `node/${name}`, {
      generation: 1,
      resources: [configMap("settings", { word: "device" })],
    });
    await word("device");
    await answers(member, "node 1 200", "group/kiosks 1 200");
    expect(await rejected(member)).toEqual(["Shadowed settings of group/kiosks"]);
    await publish(broker, `node/${name}`, { generation: 2, resources: [], allowEmpty: true });
    await word("group");
    await answers(member, "node 2 200", "group/kiosks 1 200");
    expect(await rejected(member)).toEqual([]);
    await agent.kill();
    await broker.stop();
  },
  180_000,
);

e2e.concurrent(
  "a document that requires another one's generation comes into force with it, in either order",
  async () => {
    const member = await newMember(stage, "grp-needs", [{ name: "a" }, { name: "b" }]);
    const { broker, agent, name } = member;
    await agent.startReady();
    await publish(broker, "group/a", {
      generation: 1,
      requires: { documents: { node: 2 } },
      resources: [ownPod(member, "of-a")],
    });
    await publish(broker, `node/${name}`, { generation: 1, resources: [ownPod(member, "own")] });
    await answers(member, "node 1 200", "group/a 0 412 (412)");
    await publish(broker, `node/${name}`, { generation: 2, resources: [ownPod(member, "own")] });
    await runs(member, "of-a", "own");
    await publish(broker, `node/${name}`, {
      generation: 3,
      requires: { documents: { "group/b": 7 } },
      resources: [ownPod(member, "own", "third")],
    });
    await answers(member, "node 2 200 (412)", "group/a 1 200");
    await publish(broker, "group/b", { generation: 7, resources: [ownPod(member, "of-b")] });
    await runs(member, "of-a", "of-b", "own");
    await answers(member, "node 3 200", "group/a 1 200", "group/b 7 200");
    expect(await variantOf(member, "own")).toBe("third");
    await agent.kill();
    await broker.stop();
  },
  180_000,
);

e2e.concurrent(
  "a group that is left takes its pods along, also when the agent is killed in the middle",
  async () => {
    const member = await newMember(stage, "grp-leave", []);
    const { broker, agent, name } = member;
    const node = (generation: number, ...groups: readonly string[]): Promise<void> =>
      publish(broker, `node/${name}`, {
        generation,
        groups: groups.map((one) => ({ name: one })),
        resources: [ownPod(member, "own")],
      });
    for (const one of ["a", "b", "c"])
      await publish(broker, `group/${one}`, {
        generation: 1,
        resources: [ownPod(member, `of-${one}`)],
      });
    await node(1, "a", "b", "c");
    await agent.startReady();
    await runs(member, "of-a", "of-b", "of-c", "own");

    await node(2, "b", "c");
    await runs(member, "of-b", "of-c", "own");
    await answers(member, "node 2 200", "group/b 1 200", "group/c 1 200");
    expect(checkpoints(member).filter((file) => file.includes("group-a"))).toEqual([]);
    await eventually("the broker has forgotten the subscription", () => {
      const log = readFileSync(broker.logFile, "utf8");
      return /Received UNSUBSCRIBE from grp-leave[^]*?\tagent\/v1\/group\/a\/desired/.test(log);
    });

    // The word is on the disk, and the next moment the agent is dead.
    await node(3, "c");
    await eventually(
      "it is accepted",
      () => agent.logLines().some((line) => line["generation"] === 3),
      { interval: 1, timeout: 60_000 },
    );
    await agent.kill("SIGKILL");
    await broker.stop();
    await agent.startReady();
    await runs(member, "of-c", "own");
    expect(checkpoints(member).filter((file) => file.includes("group-b"))).toEqual([]);

    // And back again, from the beginning.
    await broker.start();
    await node(4, "b", "c");
    await runs(member, "of-b", "of-c", "own");
    await agent.kill();
    await broker.stop();
  },
  180_000,
);

e2e.concurrent(
  "a restart without a broker touches nothing, and the priorities still count",
  async () => {
    const member = await newMember(stage, "grp-offline", [{ name: "low", priority: 1 }]);
    const { broker, agent, name } = member;
    await publish(broker, `node/${name}`, {
      generation: 1,
      groups: [{ name: "high", priority: 2 }],
      resources: [ownPod(member, "own")],
    });
    for (const one of ["low", "high"])
      await publish(broker, `group/${one}`, {
        generation: 1,
        resources: [ownPod(member, `of-${one}`), ownPod(member, "shared", one)],
      });
    await agent.startReady();
    await runs(member, "of-high", "of-low", "own", "shared");
    await answers(member, "node 1 200", "group/low 1 200", "group/high 1 200");
    const before = await runningApps(containerd(), name);
    await broker.stop();
    await agent.restart("SIGKILL");
    await Bun.sleep(4_000);
    expect(await runningApps(containerd(), name)).toEqual(before);
    expect(await variantOf(member, "shared")).toBe("high");
    await broker.start();
    await answers(member, "node 1 200", "group/low 1 200", "group/high 1 200");
    expect(await runningApps(containerd(), name)).toEqual(before);
    await agent.kill();
    await broker.stop();
  },
  180_000,
);

e2e.concurrent(
  "agent fleet apply --group reaches all members, waits for them, and shows what each has",
  async () => {
    const first = await newMember(stage, "grp-fleet-1", [{ name: "kiosks" }, { name: "first" }]);
    const { broker } = first;
    const second = stage.agent("grp-fleet-2", { broker, mqtt: { groups: [{ name: "kiosks" }] } });
    await first.agent.startReady();
    await second.startReady();
    const desk = temp.directory("grp-desk");
    const file = (name: string, content: object): string => {
      const path = join(desk, name);
      writeFileSync(path, stringify(content));
      return path;
    };
    const members = { groups: { kiosks: ["grp-fleet-1", "grp-fleet-2"], first: ["grp-fleet-1"] } };
    const fleetFile = file("fleet.yaml", { mqtt: { url: broker.url }, ...members });
    const fleet = (...args: readonly string[]) =>
      run([agentBinary(), "fleet", ...args, "--nodes", fleetFile], { timeout: 90_000 });
    const map = file("map.yaml", configMap("settings", { word: "group" }));
    const applied = await fleet("apply", "-f", map, "--group", "kiosks", "--wait");
    expect(applied).toMatchObject({ code: 0, stderr: "" });
    expect(applied.stdout).toStartWith("generation 1 of group kiosks is published, sha256:");
    expect(applied.stdout).toContain("grp-fleet-1: Healthy\n");
    expect(applied.stdout).toContain("grp-fleet-2: Healthy\n");
    const web = file("web.yaml", readerPod(first, "web", { from: "settings", key: "word" }));
    expect(await fleet("apply", "-f", web, "--group", "first", "--wait")).toMatchObject({
      code: 0,
    });
    expect(await wordOf(first, "web")).toBe("group");
    expect((await fleet("status")).stdout).toMatch(/^grp-fleet-2 .*group\/kiosks 1 Healthy 200/m);

    // A broker that was emptied: the generation goes on from what the members have.
    await using client = await broker.client();
    await client.publish("agent/v1/group/kiosks/desired", "", { retain: true });
    const again = await fleet("apply", "-f", map, "--group", "kiosks", "--wait");
    expect(again.stdout).toStartWith("generation 2 of group kiosks is published");
    expect(again.code).toBe(0);
    await first.agent.kill();
    await second.kill();
    await broker.stop();
  },
  180_000,
);
