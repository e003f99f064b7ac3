// Secrets inside containers, and nowhere else: not in the log, the API, the database, or on the broker.

import { afterAll, beforeAll, expect } from "bun:test";
import { lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import type { BrokerClient, Collector } from "../harness/broker-client.ts";
import { always, eventually } from "../harness/eventually.ts";
import { ignoring } from "../../src/lib/errors.ts";
import { getRejected } from "./support-a-agent.ts";
import { desired, publishDesired, topicOf } from "./support-b-upstream.ts";
import { containerOf, findPod, podOf, READY, untilEvent, untilPod } from "./support-c-views.ts";
import { World } from "./support-e-world.ts";

const NODE = "keeper";
const canary = (): string => `canary-${randomBytes(12).toString("hex")}`;

const world = await World.open();
const { e2e } = world;
let agent: AgentProcess;
let broker: Broker;
let client: BrokerClient;
let sent: Collector;

beforeAll(async () => {
  if (!world.stage.available) return;
  broker = await startBroker(world.stage.temp);
  client = await broker.client();
  sent = await client.collect(`agent/v1/node/${NODE}/#`);
  agent = world.agent(NODE, { broker, config: { logLevel: "debug" } });
  await agent.startReady();
}, 180_000);

afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  world.close();
}, 180_000);

/** Files below, as far as they lie on the same disk: what a Secret's own volume holds is in memory. */
function filesOnDisk(directory: string): readonly string[] {
  const { dev } = lstatSync(directory);
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    const stat = lstatSync(path);
    if (stat.isDirectory()) return stat.dev === dev ? filesOnDisk(path) : [];
    return stat.isFile() && stat.dev === dev ? [path] : [];
  });
}

/** Where any of the values stands, as it is or in base64. */
async function leaks(values: readonly string[]): Promise<readonly string[]> {
  const needles = values.flatMap((value) => [value, Buffer.from(value).toString("base64")]);
  const holds = (text: Buffer): boolean => needles.some((needle) => text.includes(needle));
  const { directory, manifests } = agent.paths;
  const files = filesOnDisk(directory).filter((path) => !path.startsWith(`${manifests}/`));
  const answers = await Promise.all(
    ["/pods", "/events", "/rejected", "/node", "/api/v1/secrets?showSecrets=false", "/metrics"].map(
      async (path) => {
        const response = await agent.api(path);
        return [path, Buffer.from(await response.arrayBuffer())] as const;
      },
    ),
  );
  const commands = await Promise.all(
    [
      ["get", "pods", "-o", "yaml"],
      ["get", "secrets", "-o", "yaml"],
      ["get", "secrets"],
      ["get", "events"],
      ["get", "configmaps", "-A", "-o", "json"],
    ].map(async (args) => {
      const { stdout, stderr } = await agent.cli(...args);
      return [`agent ${args.join(" ")}`, Buffer.from(stdout + stderr)] as const;
    }),
  );
  const messages = sent.messages
    .filter(({ topic }) => topic !== topicOf(NODE, "desired"))
    .map(({ topic, payload }) => [topic, Buffer.from(payload)] as const);
  expect(files.length).toBeGreaterThan(3);
  expect(messages.length).toBeGreaterThan(0);
  return [
    ...files.map((path) => [path, contentOf(path)] as const),
    ...answers,
    ...commands,
    ...messages,
  ].flatMap(([where, text]) => (holds(text) ? [where] : []));
}

/** Files of containers that ended long ago are removed meanwhile. */
function contentOf(path: string): Buffer {
  return ignoring(["ENOENT"], () => readFileSync(path)) ?? Buffer.alloc(0);
}

const ofFile = canary();
const ofDocument = canary();
const ofCopy = canary();

function secret(token: string): string {
  return world.fixture("secret", { CANARY: token, COPY: ofCopy });
}

e2e("a Secret is in memory, with its modes, and nowhere else", async () => {
  agent.writeManifest("secret.yaml", secret(ofFile));
  world.put(agent, "secret-reader");
  const resources = world.documents("secret-of-document", { CANARY: ofDocument });
  await publishDesired(broker, NODE, desired(NODE, { generation: 1, resources }));
  await untilPod(agent, "keeps-secrets", READY);
  await untilPod(agent, "keeps-sent-secrets", READY);

  const place = { agent, pod: "keeps-secrets" };
  const mounts = await world.inside(place, "cat /proc/mounts");
  for (const path of ["/keys", "/mixed", "/part"])
    expect(mounts).toMatch(new RegExp(`^tmpfs ${path} tmpfs ro,`, "m"));
  const files = ". ..data token deep/er deep/er/second /mixed/token";
  const modes = await world.inside(place, `cd /keys; stat -L -c '%n %a %u:%g' ${files}`);
  // The pod's group may read what root may.
  expect(modes.trim().split("\n")).toEqual([
    ". 2755 0:4321",
    "..data 2755 0:4321",
    "token 440 0:4321",
    "deep/er 2755 0:4321",
    "deep/er/second 640 0:4321",
    "/mixed/token 644 0:4321",
  ]);
  expect(await world.inside(place, "cat /keys/token /part")).toBe(ofFile + ofFile);
  expect(await world.inside(place, "cat /keys/deep/er/second")).toBe(`${ofFile}-2`);
  expect(await world.inside(place, "cat /mixed/name /mixed/token")).toBe(`keeps-secrets${ofFile}`);
  const environment = await world.environment(place);
  expect([environment.get("TOKEN"), environment.get("ALL_token")]).toEqual([ofFile, ofFile]);
  const other = { agent, pod: "keeps-sent-secrets" };
  expect(await world.inside(other, "cat /keys/token")).toBe(ofDocument);
  expect((await world.environment(other)).get("TOKEN")).toBe(ofDocument);
  expect(await leaks([ofFile, ofDocument, ofCopy])).toEqual([]);
});

e2e("an edit that is refused tells nothing of what it said", async () => {
  const wrong = canary();
  const edits: readonly (readonly [RegExp, string])[] = [
    [/base64/, secret(`${wrong}!`).replace("\nstringData", "\ndata")],
    [/unknown field/, secret(wrong).replace("\nstringData", "\nstringDate")],
    [/./, secret(`"${wrong}`)],
    [/./, secret(`${wrong}: [`)],
    [/duplicate|unique/i, secret(`${wrong}, token: ${wrong}`)],
    [/string/, secret(`[${wrong}]`)],
  ];
  for (const [says, text] of edits) {
    agent.writeManifest("secret.yaml", text);
    await eventually(
      "the edit is refused",
      async () => {
        const rejected = await getRejected(agent);
        const found = rejected.filter(
          ({ ref, message }) => ref.endsWith("secret.yaml") && says.test(message),
        );
        return found.length > 0 ? found : undefined;
      },
      { explain: () => `${text}\n${agent.logTail()}` },
    );
    expect(await leaks([wrong, ofFile, ofCopy])).toEqual([]);
    agent.writeManifest("secret.yaml", secret(ofFile));
    await eventually("it is well again", async () => (await getRejected(agent)).length === 0);
  }
  const { restartCount } = containerOf(await podOf(agent, "keeps-secrets"), "main");
  expect(restartCount).toBe(0);
});

e2e("only who asks for it is shown the content", async () => {
  const hidden = await agent.cli("get", "secret", "of-file", "-o", "yaml");
  expect(hidden.stdout).toContain(`token: "<hidden: ${ofFile.length} bytes>"`);
  expect(hidden.stdout).not.toContain(ofFile);
  const shown = await agent.cli("get", "secret", "of-file", "-o", "yaml", "--show-secrets");
  expect(shown.stdout).toContain(`token: ${Buffer.from(ofFile).toString("base64")}`);
});

e2e("an error that quotes a Secret is shown without it, also after a restart", async () => {
  const token = canary();
  const short = "p1n";
  world.put(agent, "secret-in-errors", { CANARY: token, SHORT: short });
  const failed = async (container: string): Promise<string> => {
    const { state, lastState } = containerOf(await podOf(agent, "quotes-its-command"), container);
    return state.terminated?.message ?? lastState.terminated?.message ?? "";
  };
  const shown = async (): Promise<void> => {
    for (const container of ["main", "args", "path", "short"]) {
      const message = await eventually(
        `${container} shows why it did not start`,
        async () => /exec|stat|no such/.test(await failed(container)) && failed(container),
        { timeout: 60_000, explain: () => agent.logTail() },
      );
      expect(message).not.toContain(`"${short}"`);
    }
    await untilEvent(agent, "prints-it", { reason: "FailedPostStartHook", type: "Warning" });
    const lines = agent.logLines().map((line) => JSON.stringify(line));
    expect(lines.filter((line) => line.includes("postStart hook failed"))).not.toEqual([]);
    const quoted = String.raw`\"${short}`;
    expect(lines.filter((line) => line.includes(token) || line.includes(quoted))).toEqual([]);
    expect(await leaks([token])).toEqual([]);
  };
  await untilEvent(agent, "prints-it", { reason: "Unhealthy", type: "Warning" });
  await shown();
  // A container whose hook was cut off runs on, as with the kubelet, and has no other hook.
  await eventually("main waits to be started again", async () => {
    const { state } = containerOf(await podOf(agent, "prints-it"), "main");
    return state.waiting?.reason === "CrashLoopBackOff";
  });
  await agent.kill("SIGKILL");
  await agent.startReady();
  await untilEvent(agent, "prints-it", { reason: "Unhealthy", type: "Warning" });
  await shown();
  agent.removeManifest("secret-in-errors.yaml");
  await eventually("the pods are gone", async () => !(await findPod(agent, "prints-it")));
});

e2e("without its key the node says so, and everything runs on", async () => {
  world.put(agent, "bystander");
  await untilPod(agent, "bystander", READY);
  const pods = ["keeps-secrets", "keeps-sent-secrets", "bystander"];
  const running = async (): Promise<string> =>
    (await Promise.all(pods.map(async (pod) => world.stage.running(pod)))).join();
  const before = await running();
  const key = join(agent.paths.state, "secret.key");
  expect(lstatSync(key).size).toBe(32);
  expect((lstatSync(key).mode & 0o777).toString(8)).toBe("600");

  // Away with the key; one manifest is broken meanwhile, another one gone.
  await agent.kill("SIGKILL");
  await broker.stop();
  rmSync(key);
  agent.writeManifest("secret.yaml", "{");
  agent.removeManifest("bystander.yaml");
  const lines = agent.logLines().length;
  await agent.startReady();
  const said = await eventually("it says so", () => {
    const errors = agent
      .logLines()
      .slice(lines)
      .filter(({ level }) => level === "error");
    return errors.length >= 2 ? errors.map(({ msg }) => msg) : undefined;
  });
  expect(said).toContain(
    "the desired document cannot be opened; it counts again when it is published again",
  );
  expect(said).toContain("last good manifest cannot be read");
  await always("nothing is taken for abandoned", 2_000, async () => (await running()) === before);

  // Files heal it for their pods, the broker for its own.
  agent.writeManifest("secret.yaml", secret(ofFile));
  await eventually(
    "what was removed is gone",
    async () => (await world.stage.containersOf("bystander")).length === 0,
    { timeout: 60_000, explain: () => agent.logTail() },
  );
  pods.pop();
  const rest = before.split(",").slice(0, 2).join();
  expect(await running()).toBe(rest);
  const other = { agent, pod: "keeps-sent-secrets" };
  const next = canary();
  await broker.start();
  const resources = world.documents("secret-of-document", { CANARY: next });
  await publishDesired(broker, NODE, desired(NODE, { generation: 2, resources }));
  await eventually(
    "the document is known again",
    async () => (await world.inside(other, "cat /keys/token")) === next,
    { timeout: 60_000, explain: () => agent.logTail() },
  );
  expect(await running()).toBe(rest);
  // What is told of the pods has reached the broker, and says nothing either.
  await sent.next(
    ({ topic, payload }) => topic.endsWith("/reported") && payload.includes(other.pod),
  );
  await sent.next(({ topic }) => topic.endsWith(`/${other.pod}`));
  expect(await leaks([ofFile, ofDocument, ofCopy, next])).toEqual([]);
});
