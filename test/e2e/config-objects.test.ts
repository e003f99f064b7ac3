// Where ConfigMaps and Secrets come from, who may use them, and what pods do while they are missing.

import { afterAll, beforeAll, expect } from "bun:test";

import type { PodView } from "../../src/node/api-views.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { always, eventually } from "../harness/eventually.ts";
import { getRejected } from "./support-a-agent.ts";
import { desired, publishDesired } from "./support-b-upstream.ts";
import { containerOf, podOf, READY, rowOf, untilEvent, untilPod } from "./support-c-views.ts";
import { World } from "./support-e-world.ts";

const world = await World.open();
const { e2e } = world;
let agent: AgentProcess;

beforeAll(async () => {
  if (!world.stage.available) return;
  agent = world.agent("objects");
  await agent.startReady();
}, 180_000);

afterAll(() => world.close(), 180_000);

interface Missing {
  readonly pod: string;
  readonly says: string;
  /** Runs although `main` waits. */
  readonly hasOther: boolean;
}

const CONFIG_ERROR = "CreateContainerConfigError";
const WHERE = "no manifest or desired document that this pod may use has";
const MISSING: readonly Missing[] = [
  {
    pod: "waits-configmap",
    says: `configmap "late" not found: ${WHERE} ConfigMap default/late`,
    hasOther: true,
  },
  {
    pod: "waits-secret",
    says: `secret "late" not found: ${WHERE} Secret default/late`,
    hasOther: true,
  },
  {
    pod: "waits-key",
    says: "couldn't find key value in ConfigMap default/early",
    hasOther: true,
  },
  {
    pod: "waits-volume",
    says: `volume "config": configmap "late" not found in namespace "default": ${WHERE} it`,
    hasOther: false,
  },
  { pod: "waits-item", says: 'volume "keys": secret "early" has no key "value"', hasOther: false },
];

e2e.concurrent("pods wait for what is missing, name it, and start when it appears", async () => {
  world.put(agent, "waits-for-keys", { KEY: "another" });
  world.put(agent, "waits");
  for (const { pod, says, hasOther } of MISSING) {
    const waiting = await untilPod(agent, pod, {
      is: "waits for its object",
      when: (found) =>
        containerOf(found, "main").state.waiting?.reason === "CreateContainerConfigError" &&
        (!hasOther || containerOf(found, "other").state.running !== undefined),
    });
    expect(waiting.status.phase).toBe("Pending");
    expect(containerOf(waiting, "main").state.waiting?.message).toBe(says);
    expect(await rowOf(agent, pod)).toEqual({
      ready: hasOther ? "1/2" : "0/1",
      status: "CreateContainerConfigError",
      restarts: 0,
    });
    const [reason, message] = hasOther ? ["Failed", `Error: ${says}`] : [CONFIG_ERROR, says];
    const event = await untilEvent(agent, pod, { reason, type: "Warning" });
    expect(event.message).toBe(message);
  }
  const since = performance.now();
  world.put(agent, "waits-no-longer");
  world.put(agent, "waits-for-keys", { KEY: "value" });
  for (const { pod } of MISSING) {
    await untilPod(agent, pod, READY);
    console.log(`${pod} was ready ${Math.round(performance.now() - since)} ms after its object`);
  }
  const place = { agent, pod: "waits-configmap" };
  expect((await world.environment(place)).get("VALUE")).toBe("at last");
  expect(containerOf(await podOf(agent, "waits-configmap"), "other").restartCount).toBe(0);
  for (const pod of ["waits-volume", "waits-item"])
    expect((await world.inside({ agent, pod }, "cat /config/value")).trim()).toBe("at last");

  // What is deleted stops nothing.
  const started = MISSING.map(({ pod }) => pod);
  const before = await Promise.all(started.map((pod) => podOf(agent, pod)));
  for (const name of ["waits-no-longer", "waits-for-keys"]) agent.removeManifest(`${name}.yaml`);
  await eventually("the objects are gone", async () => {
    const { stdout } = await agent.cli("get", "configmaps");
    return !/^(late|early) /m.test(stdout);
  });
  await always("no container starts anew", 1_500, async () => {
    const now = await Promise.all(started.map((pod) => podOf(agent, pod)));
    return sameContainers(now, before);
  });
  for (const pod of ["waits-volume", "waits-item"])
    expect((await world.inside({ agent, pod }, "cat /config/value")).trim()).toBe("at last");
});

/** Waits until the container waits for something, and gives the message. */
async function untilWaits(node: AgentProcess, pod: string): Promise<string> {
  const waiting = await untilPod(node, pod, {
    is: "waits for an object",
    when: (found) => containerOf(found, "main").state.waiting?.reason === CONFIG_ERROR,
  });
  return containerOf(waiting, "main").state.waiting?.message ?? "";
}

e2e.concurrent("files and documents: who may use what, and which counts", async () => {
  const broker = await startBroker(world.stage.temp);
  const node = world.agent("both", { broker });
  await node.startReady();
  const valueIn = async (pod: string): Promise<string | undefined> =>
    (await world.environment({ agent: node, pod })).get("VALUE");
  const untilValue = async (pod: string, value: string): Promise<void> => {
    await eventually(`${pod} has read: ${value}`, async () => (await valueIn(pod)) === value, {
      timeout: 60_000,
      explain: () => node.logTail(),
    });
  };
  const resources = world.documents("from-broker");
  await publishDesired(broker, "both", desired("both", { generation: 1, resources }));
  for (const [pod, object] of [
    ["reads-file", 'configmap "of-file"'],
    ["reads-document", 'secret "of-document"'],
    ["reads-too-much", 'secret "of-file"'],
  ] as const)
    expect(await untilWaits(node, pod)).toContain(`${object} not found`);
  await untilValue("reads-both", "from the document");

  // A file brings what a document's pod may use: no Secrets. Its own pod may use nothing of the document.
  world.put(node, "from-file");
  await untilValue("reads-file", "from the file");
  const place = { agent: node, pod: "reads-file" };
  expect((await world.inside(place, "cat /config/value")).trim()).toBe("from the file");
  expect(await untilWaits(node, "reads-only-files")).toContain("ConfigMap default/of-both");
  expect(await untilWaits(node, "reads-too-much")).toContain("Secret default/of-file");

  // The document brings what its pod waits for.
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "of-document" },
    stringData: { value: "came later" },
  };
  const more = [...resources, secret];
  await publishDesired(broker, "both", desired("both", { generation: 2, resources: more }));
  await untilValue("reads-document", "came later");

  // A file wins over the document, which is told.
  world.put(node, "from-file-too");
  await untilValue("reads-only-files", "from the file");
  await untilValue("reads-both", "from the file");
  expect(containerOf(await podOf(node, "reads-both"), "main").restartCount).toBe(1);
  const [shadowed] = (await getRejected(node)).filter(({ code }) => code === "Shadowed");
  expect(shadowed).toMatchObject({ source: "mqtt:node", kind: "ConfigMap", name: "of-both" });
  node.removeManifest("from-file-too.yaml");
  await untilValue("reads-both", "from the document");
  for (const pod of ["reads-file", "reads-document"])
    expect(containerOf(await podOf(node, pod), "main").restartCount).toBe(0);
  expect(containerOf(await podOf(node, "reads-only-files"), "main").restartCount).toBe(0);
  await node.kill();
});

e2e.concurrent("the node's own ConfigMap is in every namespace, and nobody else's", async () => {
  const node = world.agent("agent-node-test", { config: { nodeLabels: { site: "berlin" } } });
  await node.startReady();
  world.put(node, "of-the-node");
  await untilPod(node, "of-the-node", READY);
  const place = { agent: node, pod: "of-the-node" };
  const found = await world.environment(place);
  expect(found.get("NODE_name")).toBe("agent-node-test");
  expect(found.get("NODE_arch")).toBe(process.arch === "arm64" ? "arm64" : "amd64");
  expect(found.get("NODE_groups")).toBe("");
  expect(JSON.parse(found.get("NODE_labels") ?? "")).toMatchObject({ site: "berlin" });
  expect(await world.inside(place, "cat /node/name")).toBe("agent-node-test");
  expect(await getRejected(node)).toMatchObject([
    { code: "Reserved", kind: "ConfigMap", namespace: "anywhere", name: "agent-node" },
  ]);
  const shown = await node.cli("get", "configmaps", "agent-node", "-n", "default", "-o", "json");
  expect(JSON.parse(shown.stdout)).toMatchObject({ data: { name: "agent-node-test" } });
  await node.kill();
});

e2e.concurrent("what is immutable refuses an edit, and says so", async () => {
  world.put(agent, "immutable", { IMMUTABLE: "true", VALUE: "first" });
  world.put(agent, "immutable-pod");
  const before = await untilPod(agent, "reads-carved", READY);
  const place = { agent, pod: "reads-carved" };
  world.put(agent, "immutable", { IMMUTABLE: "false", VALUE: "second" });
  const rejected = await eventually("the edit is refused", async () => {
    const found = (await getRejected(agent)).filter(({ name }) => name === "carved");
    return found.length >= 4 ? found : undefined;
  });
  expect(rejected.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    "ConfigMap immutable",
    "ConfigMap data",
    "Secret immutable",
    "Secret data",
  ]);
  for (const { message } of rejected) expect(message).toMatch(/field is immutable/);
  await always("nothing has changed", 1_000, async () =>
    sameContainers([await podOf(agent, "reads-carved")], [before]),
  );
  expect(await world.inside(place, "cat /keys/value")).toBe("hush-first");
  // Deleted and declared again it is another one.
  agent.removeManifest("immutable.yaml");
  await eventually(
    "it is gone",
    async () => !(await agent.cli("get", "cm")).stdout.includes("carved"),
  );
  world.put(agent, "immutable", { IMMUTABLE: "true", VALUE: "third" });
  await world.untilInside(place, "cat /keys/value", "hush-third");
  await eventually(
    "it is read anew",
    async () => (await world.environment(place)).get("value") === "third",
  );
});

function sameContainers(now: readonly PodView[], before: readonly PodView[]): boolean {
  const ids = (pods: readonly PodView[]): string =>
    pods
      .flatMap(({ status }) => status.containerStatuses ?? [])
      .map((one) => one.containerID)
      .join();
  return ids(now) === ids(before);
}
