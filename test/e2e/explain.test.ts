// `agent explain pod/NAME` on a real containerd: pods that do not run for all kinds of reasons, each with what to do.

import { afterAll, expect } from "bun:test";
import { join } from "node:path";

import type { Explanation } from "../../src/node/explain/explain-pod.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
afterAll(() => stage.close());
const e2e = stage.test;
let agent: AgentProcess;

const SECRET = "correct-horse-battery";

interface Recipe {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly container?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

function pod(name: string, { spec = {}, container = {}, annotations = {} }: Recipe): string {
  const main = { name: "main", image: "local/busybox:1", command: ["sleep", "1000"], ...container };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, annotations },
    spec: { hostNetwork: true, terminationGracePeriodSeconds: 0, containers: [main], ...spec },
  });
}

/** A pod, and what its advice begins with. */
const PODS: Readonly<Record<string, readonly [recipe: Recipe, advice: string]>> = {
  well: [{}, "The pod runs as it should"],
  "no-image": [{ container: { image: "127.0.0.1:1/none:1" } }, "The image cannot be pulled"],
  "never-pulled": [
    { container: { image: "local/none:1", imagePullPolicy: "Never" } },
    "imagePullPolicy Never forbids a pull",
  ],
  "no-program": [{ container: { command: ["nothing-of-this-name"] } }, ""],
  "no-word": [
    { container: { command: ["sh", "-c", "nosuchword"] } },
    "The program is not in the image",
  ],
  crash: [
    { container: { command: ["sh", "-c", `echo token ${SECRET}; echo last words; exit 3`] } },
    "The program ends again and again: read why with agent logs crash -c main,",
  ],
  "no-config": [
    { container: { envFrom: [{ configMapRef: { name: "gone" } }] } },
    "Something that the container reads is missing",
  ],
  "no-volume": [
    {
      spec: { volumes: [{ name: "data", hostPath: { path: "/nonexistent", type: "Directory" } }] },
    },
    "A volume of the pod cannot be set up",
  ],
  waits: [
    { annotations: { "agent/depends-on": "never-pulled:Ready" } },
    "The pod waits for another pod of its annotation agent/depends-on",
  ],
  "not-ready": [
    { container: { readinessProbe: { exec: { command: ["false"] }, periodSeconds: 1 } } },
    "A probe of the container fails: read agent logs not-ready -c main,",
  ],
  elsewhere: [
    { spec: { nodeSelector: { site: "moon" } } },
    "The pod wants a node with other labels",
  ],
  greedy: [
    { container: { resources: { requests: { memory: "900Ti" } } } },
    "The node has too little memory left",
  ],
  ended: [
    { spec: { restartPolicy: "Never" }, container: { command: ["sh", "-c", "exit 126"] } },
    "The program is no executable file",
  ],
};

async function explain(name: string): Promise<Explanation> {
  const { code, stdout, stderr } = await agent.cli("explain", `pod/${name}`, "-o", "json");
  if (code !== 0) throw new Error(`${code}: ${stderr}`);
  return JSON.parse(stdout) as Explanation;
}

async function untilAdvice(name: string, advice: string): Promise<Explanation> {
  return eventually(
    `the advice for ${name} begins with ${advice}`,
    async () => {
      const explained = await explain(name);
      return explained.advice.startsWith(advice) ? explained : undefined;
    },
    {
      timeout: 60_000,
      explain: () => agent.logTail(),
    },
  );
}

e2e("the agent starts with a pod for each reason", async () => {
  agent = stage.agent();
  const secret = { token: SECRET };
  agent.writeManifest(
    "secret.yaml",
    JSON.stringify({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s" },
      stringData: secret,
    }),
  );
  for (const [name, [recipe]] of Object.entries(PODS))
    agent.writeManifest(`${name}.yaml`, pod(name, recipe));
  agent.writeManifest(
    "typo.yaml",
    "kind: Pod\napiVersion: v1\nmetadata:\n  name: typo\nspec:\n  contaners: []\n",
  );
  await agent.startReady();
});

for (const [name, [, advice]] of Object.entries(PODS))
  if (advice !== "")
    e2e(`pod ${name}: ${advice}`, async () => {
      const { causes, well } = await untilAdvice(name, advice);
      expect(well).toBe(name === "well");
      expect(causes.length === 0).toBe(name === "well");
    });

e2e("a program that the runtime cannot start is advised about too", async () => {
  const explained = await eventually(
    "the container cannot be started",
    async () => {
      const found = await explain("no-program");
      return found.causes.length > 0 ? found : undefined;
    },
    { timeout: 60_000 },
  );
  expect(explained.advice).toMatch(/command/);
});

e2e("a refused file: the line, and no container", async () => {
  const explained = await untilAdvice("typo", "A field is");
  expect(explained).toMatchObject({ admitted: false, containers: [] });
  expect(explained.advice).toContain(`${join(agent.paths.manifests, "typo.yaml")}:`);
});

e2e("a crash: line of the file, last exit, last lines without Secrets, next try", async () => {
  const explained = await eventually(
    "crash waits for its next try",
    async () => {
      const found = await explain("crash");
      return found.containers[0]?.nextTry === undefined ? undefined : found;
    },
    { timeout: 60_000, explain: () => agent.logTail() },
  );
  expect(explained.source).toMatchObject({ source: "file", line: 1 });
  expect(explained.containers[0]).toMatchObject({
    name: "main",
    stage: "BackOff",
    reason: "CrashLoopBackOff",
    lastExit: { exitCode: 3, reason: "Error" },
    lines: ["token <hidden>", "last words"],
  });
  expect(explained.images).toEqual([{ image: "local/busybox:1", state: "Present" }]);
});

e2e("as text it fits one screen", async () => {
  const { stdout } = await agent.cli("explain", "po/crash");
  expect(stdout.split("\n").length).toBeLessThan(30);
  expect(stdout).toMatch(
    /^Pod: {8}default\/crash\nStatus: {5}\w+: \w+\nAdvice: {5}The program ends/,
  );
  expect(stdout).toContain("    last exit:  exit code 3 (Error)");
  expect(stdout).not.toContain(SECRET);
});

e2e("an unknown pod, and another kind", async () => {
  expect(await agent.cli("explain", "pod/none")).toMatchObject({
    code: 1,
    stderr: 'Error: pods "none" not found in namespace "default"\n',
  });
  expect((await agent.cli("explain", "node/e2e")).code).toBe(2);
});
