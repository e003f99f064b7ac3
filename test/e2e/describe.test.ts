// `agent describe` beside the real kubectl's, of the same objects of the same agent.

import { afterAll, expect } from "bun:test";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import {
  DEBIAN,
  KUBECTLS,
  PRESENT,
  SocketPort,
  testWith,
  type Kubectl,
} from "../harness/kubectl.ts";
import { getPod } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
const e2e = stage.test;
const besidePresent = testWith(PRESENT, e2e);
const home = stage.temp.directory("kubectl");
let agent: AgentProcess;
let port: SocketPort;
afterAll(() => {
  port?.[Symbol.dispose]();
  stage.close();
});

const SECRET = "correct-horse-battery";
const OBJECTS: readonly object[] = [
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings", labels: { app: "web" } },
    // One key: kubectl prints several in any order.
    data: { colour: "blue\ngreen\n" },
    binaryData: { "logo.png": "AAECAw==" },
  },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "token" },
    stringData: { token: SECRET },
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web",
      labels: { app: "web", tier: "front" },
      annotations: { note: "first line\nsecond line", short: "yes" },
    },
    spec: {
      terminationGracePeriodSeconds: 0,
      nodeSelector: { "kubernetes.io/os": "linux" },
      tolerations: [{ key: "a", operator: "Equal", value: "b", effect: "NoSchedule" }],
      initContainers: [
        { name: "setup", image: "local/busybox:1", command: ["sh", "-c", "echo set\necho up"] },
      ],
      containers: [
        {
          name: "main",
          image: "local/busybox:1",
          command: ["sleep"],
          args: ["1000"],
          ports: [
            { containerPort: 8080, name: "http" },
            { containerPort: 53, protocol: "UDP", hostPort: 5399 },
          ],
          resources: {
            requests: { cpu: "10m", memory: "16Mi" },
            limits: { memory: "64Mi" },
          },
          livenessProbe: { exec: { command: ["true", "x"] }, periodSeconds: 30 },
          readinessProbe: { exec: { command: ["true"] } },
          startupProbe: { exec: { command: ["true"] }, failureThreshold: 9 },
          envFrom: [{ prefix: "C_", configMapRef: { name: "settings", optional: true } }],
          env: [
            { name: "PLAIN", value: "one\ntwo" },
            { name: "TOKEN", valueFrom: { secretKeyRef: { name: "token", key: "token" } } },
            { name: "COLOUR", valueFrom: { configMapKeyRef: { name: "settings", key: "colour" } } },
            { name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            { name: "APP", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
            { name: "ADDRESS", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
            {
              name: "CPU",
              valueFrom: { resourceFieldRef: { resource: "requests.cpu", divisor: "1m" } },
            },
            { name: "LIMIT", valueFrom: { resourceFieldRef: { resource: "limits.memory" } } },
          ],
          volumeMounts: [
            { name: "scratch", mountPath: "/scratch", subPath: "sub" },
            { name: "settings", mountPath: "/settings", readOnly: true },
            { name: "data", mountPath: "/data" },
          ],
        },
        { name: "side", image: "local/busybox:1", command: ["sleep", "1000"] },
      ],
      volumes: [
        { name: "scratch", emptyDir: { sizeLimit: "10Mi" } },
        { name: "settings", configMap: { name: "settings" } },
        { name: "secret", secret: { secretName: "token" } },
        { name: "data", persistentVolumeClaim: { claimName: "data" } },
        { name: "tmp", hostPath: { path: "/tmp" } },
        {
          name: "all",
          projected: {
            sources: [{ configMap: { name: "settings" } }, { secret: { name: "token" } }],
          },
        },
        {
          name: "me",
          downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] },
        },
      ],
    },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "crash" },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "main", image: "local/busybox:1", command: ["sh", "-c", "exit 3"] }],
    },
  },
];

async function kubectl(client: Kubectl, ...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await port.kubectl(client, words, { home });
  if (code !== 0) throw new Error(`kubectl ${words.join(" ")} ended with ${code}: ${stderr}`);
  return stdout;
}

async function own(...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await agent.cli(...words);
  if (code !== 0) throw new Error(`agent ${words.join(" ")} ended with ${code}: ${stderr}`);
  return stdout;
}

/** A node without a cluster has no lease, and no heartbeats, whose column is narrower then. */
function withoutLease(text: string): string {
  return text
    .replace(/^Lease: .*\n/m, "")
    .replaceAll("Mon, 01 Jan 0001 00:00:00 +0000", "<unknown>");
}

/** Ages and counts of events go on between the two calls. */
function still(text: string): string {
  return text
    .replaceAll(/\b\d+[smhd](?:\d+[smh])?\b(?: \(x\d+ over \d+[smhd](?:\d+[smh])?\))?/g, "AGE")
    .replaceAll(/AGE +/g, "AGE ")
    .replaceAll(/-{3,}/g, "---")
    .replaceAll(/ {2,}/g, "  ");
}

/** The titles at the left edge, and of the levels below, in their order. */
function sections(text: string): readonly string[] {
  return text
    .split("\n")
    .flatMap((line) => /^ {0,4}([A-Z][\w-]*(?: [\w-]+)*):(?: |$)/.exec(line)?.[1] ?? [])
    .filter((title, index, all) => title !== all[index - 1]);
}

e2e("the agent starts with one of each, and a door for kubectl", async () => {
  agent = stage.agent();
  OBJECTS.forEach((object, index) => agent.writeManifest(`${index}.yaml`, JSON.stringify(object)));
  await agent.startReady();
  port = await SocketPort.open(agent.paths.socket);
  await eventually(
    "web is ready and crash has crashed",
    async () => {
      const { status } = await getPod(agent, "web");
      const crash = await getPod(agent, "crash");
      const [last] = crash.status.containerStatuses ?? [];
      return (
        status.containerStatuses?.every(({ ready }) => ready) === true &&
        last?.state.waiting?.reason === "CrashLoopBackOff"
      );
    },
    { timeout: 90_000, explain: () => agent.logTail() },
  );
});

const KINDS: readonly (readonly string[])[] = [
  ["pod", "web"],
  ["pod", "crash"],
  ["configmap", "settings"],
  ["pvc", "data"],
  ["secret", "token"],
  ["node"],
];

for (const words of KINDS)
  besidePresent(`describe ${words.join(" ")} is kubectl's, to the character`, async () => {
    const form = words[0] === "node" ? still : String;
    let [ours, theirs] = ["", ""];
    // An age may tick, and something may happen to the object, between the two calls.
    const areEqual = async (): Promise<boolean> => {
      ours = await own("describe", ...words);
      theirs = withoutLease(await kubectl(PRESENT, "describe", ...words));
      return form(ours) === form(theirs);
    };
    await eventually("both are the same", areEqual, { timeout: 10_000 }).catch(() => undefined);
    expect(sections(theirs).length).toBeGreaterThan(3);
    expect(sections(ours)).toEqual(sections(theirs));
    expect(form(ours)).toBe(form(theirs));
    expect(ours).not.toContain(SECRET);
  });

e2e(
  "a name that begins so is enough, several objects are apart, and an unknown one is an error",
  async () => {
    expect(await own("describe", "pod", "cra")).toStartWith("Name: ");
    expect((await own("describe", "pods")).match(/^Name:/gm)).toHaveLength(2);
    expect(await own("describe", "pods")).toContain("\n\n\nName:");
    expect(await agent.cli("describe", "pod", "none")).toMatchObject({
      code: 1,
      stderr: 'Error: pods "none" not found\n',
    });
    expect((await agent.cli("describe", "images")).code).toBe(2);
  },
);

testWith(DEBIAN, e2e)("Debian's kubectl describes each kind, with its events once", async () => {
  for (const [kind = "", name] of KINDS) {
    const words = name === undefined ? [kind] : [kind, name];
    const text = await kubectl(DEBIAN, "describe", ...words);
    expect(sections(text).slice(0, 1)).toEqual(["Name"]);
    expect(sections(text)).toEqual(expect.arrayContaining(["Labels", "Annotations"]) as string[]);
    expect(text).not.toContain(SECRET);
  }
  expect(await kubectl(DEBIAN, "describe", "pod", "crash")).toMatch(/Warning +BackOff .*Back-off/);
  const node = await kubectl(DEBIAN, "describe", "node");
  expect(node.match(/^ +Normal +Starting /gm)).toHaveLength(1);
});

e2e("agent top shows what pods and the node use", async () => {
  expect(await own("top", "pod")).toMatch(/^NAME +CPU\(cores\) +MEMORY\(bytes\)\n/);
  expect(await own("top", "pod", "web", "--containers")).toMatch(/^web +main +\d+m +\d+Mi$/m);
  expect(await own("top", "node")).toMatch(/ \d+m .*\d+Mi/);
  expect((await agent.cli("top", "pod", "none")).code).toBe(1);
});

for (const client of KUBECTLS)
  testWith(client, e2e)(`${client.name} top reads what agent top reads`, async () => {
    for (const words of [
      ["top", "pod", "web", "--containers"],
      ["top", "node"],
    ]) {
      const [ours, theirs] = [await own(...words), await kubectl(client, ...words)];
      // Of the titles of shares, Debian's has `CPU%`.
      const shape = (text: string): readonly string[] =>
        text
          .replaceAll("(%)", "%")
          .split("\n")
          .map((line) => line.replaceAll(/\d+/g, "N").replaceAll(/ +/g, " ").trim());
      expect(shape(ours)).toEqual(shape(theirs));
    }
  });
