// What a node has a place for: labels, room, classes, and its own ports. Whatever else is refused, and that is said everywhere.

import { afterAll, beforeAll, expect } from "bun:test";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { hasAppArmor } from "../harness/machine.ts";
import { getNode } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";
import { findPod, READY, untilEvent, untilPod } from "./support-c-views.ts";
import { linesOf, putFixture, rejectionOf, testIf, waitOf } from "./support-d-linux.ts";

const stage = await Stage.open();
const e2e = stage.test;
let agent: AgentProcess;

const port = freePort();
const ports = { ANY: freePort(), LOOPBACK: freePort(), OTHER: freePort(), HOST: freePort() };
const LABELS = { zone: "north", "example.com/rack": "7" };
const withoutAppArmor = testIf(!hasAppArmor(), stage, "a kernel without AppArmor");
const withAppArmor = testIf(hasAppArmor(), stage, "AppArmor");

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent({
    config: {
      nodeLabels: LABELS,
      priorityClasses: { urgent: 1000 },
      runtimeClasses: { plain: "runc", ghost: "ghost" },
    },
  });
  putFixture(agent, "refused");
  putFixture(agent, "welcome", { NODE: agent.nodeName, PORT: port });
  putFixture(agent, "app-armor");
  putFixture(agent, "ports", { ...ports, ADDRESS: bridgeAddress() });
  await agent.startReady();
}, 180_000);

afterAll(() => stage.close(), 180_000);

/** The node's own address in the network of the pods. */
function bridgeAddress(): string {
  return stage.containerd.facts.subnet.replace(/0\/24$/, "1");
}

const NO_MATCH = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
const CHANGE = "set it in nodeLabels of the agent's configuration, or change the pod";
const REQUESTS = "spec.containers[0].resources.requests";

e2e.concurrent.each([
  [
    "other-label",
    "NodeAffinity",
    "spec.nodeSelector[zone]",
    `${NO_MATCH} (requires zone=south, this node has zone=north; ${CHANGE})`,
  ],
  [
    "other-affinity",
    "NodeAffinity",
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
    `${NO_MATCH} (requires zone NotIn [north], this node has zone=north; ${CHANGE})`,
  ],
  [
    "much-cpu",
    "OutOfcpu",
    `${REQUESTS}[cpu]`,
    /^Node didn't have enough resource: cpu, requested: 100000000, used: \d+, capacity: \d+$/,
  ],
  [
    "much-memory",
    "OutOfmemory",
    `${REQUESTS}[memory]`,
    /^Node didn't have enough resource: memory, requested: 1125899906842624, used: \d+, capacity: \d+$/,
  ],
  [
    "much-storage",
    "OutOfephemeral-storage",
    `${REQUESTS}[ephemeral-storage]`,
    /^Node didn't have enough resource: ephemeral-storage, requested: 1152921504606846976, /,
  ],
  [
    "much-huge",
    "OutOfhugepages-2Mi",
    `${REQUESTS}[hugepages-2Mi]`,
    /^Node didn't have enough resource: hugepages-2Mi, requested: 1099511627776, /,
  ],
  [
    "unknown-priority",
    "PriorityClassNotFound",
    "spec.priorityClassName",
    "no PriorityClass with name nobody-knows was found; add it with its value to priorityClasses in the agent's configuration",
  ],
  [
    "unknown-runtime",
    "RuntimeClassNotFound",
    "spec.runtimeClassName",
    'RuntimeClass "nobody-knows" not found; add it with its handler to runtimeClasses in the agent\'s configuration',
  ],
  [
    "node-sysctl",
    "Invalid",
    "spec.securityContext.sysctls[0].name",
    "Invalid value: \"net.ipv4.tcp_syncookies\": may not be specified when 'hostNetwork' is true",
  ],
  [
    "unmasked",
    "Invalid",
    "spec.containers[0].securityContext.procMount",
    'Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
  ],
] as const)(
  "a pod that has no place here is refused, and that is said: %s",
  async (pod, code, path, message) => {
    await expectRefused(pod, { code, path, message });
  },
);

withoutAppArmor.concurrent(
  "a profile of AppArmor is refused where nobody can enforce it",
  async () => {
    await expectRefused("app-armor", {
      code: "AppArmor",
      path: "spec.containers[0].securityContext.appArmorProfile",
      message: "Cannot enforce AppArmor: AppArmor is not enabled on the host",
    });
  },
);

withAppArmor.concurrent(
  "a container is confined by the runtime's profile of AppArmor",
  async () => {
    expect(await linesOf(agent, "app-armor")).toEqual(["cri-containerd.apparmor.d (enforce)"]);
  },
);

interface Refused {
  readonly code: string;
  readonly path: string;
  readonly message: string | RegExp;
}

/** By /rejected, by an event, and by `agent get pods`; nothing of it is made. */
async function expectRefused(pod: string, { code, path, message }: Refused): Promise<void> {
  const rejection = await rejectionOf(agent, pod);
  expect([rejection.code, rejection.path]).toEqual([code, path]);
  if (typeof message === "string") expect(rejection.message).toBe(message);
  else expect(rejection.message).toMatch(message);
  const event = await untilEvent(agent, pod, { reason: "Rejected", type: "Warning" });
  expect(event.message).toEndWith(`${path}: ${rejection.message}`);
  const { stdout, stderr } = await agent.cli("get", "pods");
  expect(stderr).toContain(`${path}: ${rejection.message}`);
  // What is no valid pod is not listed; a pod that has no place here is, as the kubelet does.
  const listed = await findPod(agent, pod);
  if (code === "Invalid") {
    expect(stdout).not.toContain(`${pod} `);
    expect(listed).toBeUndefined();
  } else {
    expect(stdout).toMatch(new RegExp(`^${pod} +0/1 +${code} +0 `, "m"));
    const message = `Pod was rejected: ${rejection.message}`;
    expect(listed?.status).toMatchObject({ phase: "Failed", reason: code, message });
    expect(listed?.status.containerStatuses).toEqual([]);
  }
  expect(await stage.containersOf(pod, "sandbox")).toEqual([]);
}

e2e.concurrent(
  "a pod that asks for this node's labels and classes runs, and the node shows its labels",
  async () => {
    expect(await linesOf(agent, "welcome")).toEqual(["welcome"]);
    expect((await getNode(agent)).metadata.labels).toMatchObject({
      ...LABELS,
      "kubernetes.io/os": "linux",
      "kubernetes.io/hostname": agent.nodeName,
    });
  },
);

e2e.concurrent("the runtime is asked for the handler of the pod's class", async () => {
  expect(await waitOf(agent, "ghost", { reason: "CreatePodSandboxError" })).toBe(
    'RunPodSandbox: failed to get sandbox runtime: no runtime for "ghost" is configured',
  );
});

e2e.concurrent(
  "a port of the node has one owner, and the next pod is told whose it is",
  async () => {
    await untilPod(agent, "port-owner", READY);
    await expectRefused("port-taken", {
      code: "HostPortConflict",
      path: "spec.containers",
      message: `host port ${port}/TCP is taken by default/port-owner of file (${join(agent.paths.manifests, "welcome.yaml")}#2)`,
    });
  },
);

/** What the pods' servers answer there; undefined when nobody listens. */
async function answerAt(host: string, port: number): Promise<string | undefined> {
  const response = await fetch(`http://${host}:${port}/image-version`, {
    signal: AbortSignal.timeout(3_000),
  }).catch(() => undefined);
  return response?.text();
}

e2e.concurrent.each([
  ["at every address", "port-any", ports.ANY, ["1\n", "1\n"]],
  ["at the loopback address only", "port-loopback", ports.LOOPBACK, ["1\n", undefined]],
  ["at another address only", "port-other", ports.OTHER, [undefined, "1\n"]],
  ["on the node's network", "port-host", ports.HOST, ["1\n", "1\n"]],
])("a port of the node leads to the pod %s", async (_, pod, port, answers) => {
  await untilPod(agent, pod, READY);
  const hosts = ["127.0.0.1", bridgeAddress()];
  const look = async () => Promise.all(hosts.map((host) => answerAt(host, port)));
  await eventually("the server listens", async () => (await look()).includes("1\n"));
  expect(await look()).toEqual(answers);
});
