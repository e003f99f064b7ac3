// What a pod shares with the node and what it has to itself: namespaces, kernel settings, names, name servers.

import { afterAll, beforeAll, expect } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { output } from "../harness/run-command.ts";
import { getRejected } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";
import { containerOf, inPhase, untilEvent, untilPod } from "./support-c-views.ts";
import {
  linesOf,
  putFixture,
  rejectionOf,
  SCRIPTS,
  startBehindStub,
  waitOf,
} from "./support-d-linux.ts";

const stage = await Stage.open();
const e2e = stage.test;
/** A node without a cluster's name servers. */
let agent: AgentProcess;
/** One with them and with a domain, which lets pods set more of the kernel. */
let cluster: AgentProcess;

const NODE_DNS = "nameserver 192.0.2.53\nsearch node.example\noptions ndots:3 timeout:1\n";
const SHARED = `agent-e2e-${process.pid}`;
const node = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("node\n") });

beforeAll(async () => {
  if (!stage.available) return;
  const resolvConf = join(stage.temp.path, "resolv.conf");
  writeFileSync(resolvConf, NODE_DNS);
  writeFileSync(join("/dev/shm", SHARED), "the node's\n");
  agent = stage.agent({ config: { resolvConf } });
  putFixture(agent, "namespaces", { PID: process.pid, SHARED, PORT: node.port ?? 0 });
  for (const name of ["names", "dns", "sysctls", "sysctls-unsafe"]) putFixture(agent, name);
  cluster = stage.agent({
    name: "cluster",
    instance: "cluster",
    nodeName: "cluster",
    config: {
      resolvConf,
      clusterDNS: ["192.0.2.10"],
      clusterDomain: "cluster.example",
      allowedUnsafeSysctls: ["net.core.somaxconn", "kernel.msg*"],
    },
  });
  for (const name of ["names-in-domain", "dns-in-cluster", "sysctls-unsafe"])
    putFixture(cluster, name);
  await Promise.all([agent.startReady(), cluster.startReady()]);
}, 180_000);

afterAll(async () => {
  rmSync(join("/dev/shm", SHARED), { force: true });
  await node.stop(true);
  stage.close();
}, 180_000);

/** The lines of a hosts file, or what ends with one, before the names of the other pods. */
function withoutPods(lines: readonly string[]): readonly string[] {
  const section = lines.indexOf("# Pods of this node.");
  return section < 0 ? lines : lines.slice(0, section - 1);
}

type Namespaces = Readonly<Record<string, string>>;

/** `net:[4026531840]` of the first lines. */
function namespacesIn(lines: readonly string[]): Namespaces {
  return Object.fromEntries(lines.slice(0, 7).map((line) => line.split(":") as [string, string]));
}

async function ofNode(): Promise<Namespaces> {
  return namespacesIn((await output(["sh", join(SCRIPTS, "namespaces")])).split("\n"));
}

/** Names of the namespaces that are the same, but for those that this machine never separates. */
function common(one: Namespaces, other: Namespaces): readonly string[] {
  const always = ["cgroup", "user"];
  return Object.keys(one).filter((name) => !always.includes(name) && one[name] === other[name]);
}

e2e.concurrent(
  "containers of a pod share names, network and messages, nothing with the node",
  async () => {
    const one = await linesOf(agent, "own", "one");
    const two = await linesOf(agent, "own", "two");
    expect(Object.keys(namespacesIn(one)).length).toBe(7);
    expect(common(namespacesIn(one), namespacesIn(two))).toEqual(["ipc", "net", "uts"]);
    expect(common(namespacesIn(one), await ofNode())).toEqual([]);
    // Each is the first process of its own.
    expect([one.at(-1), two.at(-1)]).toEqual(["1", "1"]);
  },
);

e2e.concurrent("hostPID is the node's processes, and nothing else of it", async () => {
  const lines = await linesOf(agent, "host-pid");
  expect(common(namespacesIn(lines), await ofNode())).toEqual(["pid"]);
  const name = readFileSync(`/proc/${process.pid}/comm`, "utf8").trim();
  expect(lines.slice(7)).toEqual([name, "reached"]);
});

e2e.concurrent("hostIPC is the node's shared memory, and nothing else of it", async () => {
  const lines = await linesOf(agent, "host-ipc");
  expect(common(namespacesIn(lines), await ofNode())).toEqual(["ipc"]);
  expect(lines.slice(7)).toEqual(["the node's"]);
});

e2e.concurrent("hostNetwork is the node's network, with its name and its hosts", async () => {
  const lines = withoutPods(await linesOf(agent, "host-network"));
  expect(common(namespacesIn(lines), await ofNode())).toEqual(["net", "uts"]);
  expect(lines.slice(7)).toEqual([
    (await output(["uname", "-n"])).trim(),
    "node",
    "# Copied by the agent from the node, for a pod with hostNetwork.",
    ...readFileSync("/etc/hosts", "utf8").trimEnd().split("\n"),
    "",
    "# From the pod's hostAliases.",
    "192.0.2.7\tdatabase",
  ]);
});

e2e.concurrent("shareProcessNamespace lets one container see, read and end another", async () => {
  const lines = await linesOf(agent, "shared");
  expect(common(namespacesIn(lines), await ofNode())).toEqual([]);
  expect(lines.slice(7)).toEqual(["pause", "sleep 4242 ", "1"]);
  const pod = await untilPod(agent, "shared", inPhase("Failed"));
  expect(containerOf(pod, "victim").state.terminated?.exitCode).toBe(137);
});

const HOSTS = [
  "# Written by the agent for this pod. Manual changes are overwritten.",
  "127.0.0.1\tlocalhost",
  "::1\tlocalhost ip6-localhost ip6-loopback",
  "fe00::0\tip6-localnet",
  "fe00::0\tip6-mcastprefix",
  "fe00::1\tip6-allnodes",
  "fe00::2\tip6-allrouters",
];
const ALIASES = [
  "",
  "# From the pod's hostAliases.",
  "192.0.2.7\tdatabase\tdatabase.example",
  "2001:db8::7\tdatabase",
];
const FULL = "web.shop.default.svc.cluster.example";
/** 64 characters, as many as the kernel takes. */
const OVERRIDE = "counter-000000000000000000000000000000000000.plant-7.example.com";

e2e.concurrent.each([
  ["by itself", { on: "agent", pod: "unnamed", names: ["unnamed", "unnamed", "unnamed"] }],
  ["by its hostname", { on: "agent", pod: "named", names: ["web", "web", "web"], more: ALIASES }],
  ["by its full name", { on: "cluster", pod: "full-name", names: [FULL, FULL, FULL], full: FULL }],
  [
    "by its short name, and is known by both",
    { on: "cluster", pod: "short-name", names: ["web", FULL, "web"], full: FULL },
  ],
  [
    "by its hostnameOverride alone",
    { on: "cluster", pod: "override", names: [OVERRIDE, OVERRIDE, OVERRIDE], known: OVERRIDE },
  ],
] as const)("a pod is called %s", async (_, told) => {
  const { on, pod, names } = told;
  const lines = withoutPods(await linesOf(on === "agent" ? agent : cluster, pod));
  const [ip = ""] = lines.slice(3);
  const short = "known" in told ? told.known : names[0].split(".")[0];
  expect(ip).toStartWith(stage.containerd.facts.subnet.replace(/0\/24$/, ""));
  expect(lines).toEqual([
    ...names,
    ip,
    ...HOSTS,
    "full" in told ? `${ip}\t${told.full}\t${short}` : `${ip}\t${short}`,
    ...("more" in told ? told.more : []),
  ]);
});

e2e.concurrent(
  "a full name that is too long for the kernel keeps its pod from running",
  async () => {
    const name = "a-name-that-is-longer-than-it-should-be.shop.default.svc.cluster.example";
    const message = `failed to construct FQDN from pod hostname and cluster domain, FQDN ${name} is too long (64 characters is the max, ${name.length} characters requested)`;
    expect(await waitOf(cluster, "too-long", { reason: "CreatePodSandboxError" })).toBe(message);
  },
);

const AS_NODE = ["search node.example", "nameserver 192.0.2.53", "options ndots:3 timeout:1"];
const AS_CLUSTER = [
  "search default.svc.cluster.example svc.cluster.example cluster.example node.example",
  "nameserver 192.0.2.10",
  "options ndots:5",
];

e2e.concurrent.each([
  ["Default: the node's", "agent", "dns-default", AS_NODE],
  [
    "Default and more",
    "agent",
    "dns-merged",
    [
      "search node.example more.example",
      "nameserver 192.0.2.53",
      "nameserver 192.0.2.54",
      "options ndots:1 timeout:1 edns0",
    ],
  ],
  [
    "None: what is written",
    "agent",
    "dns-none",
    ["search only.example", "nameserver 2001:db8::53", "options rotate"],
  ],
  [
    "more than a resolver asks",
    "agent",
    "dns-crowded",
    [
      "search node.example",
      "nameserver 192.0.2.53",
      "nameserver 192.0.2.61",
      "nameserver 192.0.2.62",
      "options ndots:3 timeout:1",
    ],
  ],
  ["nothing written, no cluster: the node's", "agent", "dns-unwritten", AS_NODE],
  ["ClusterFirst, no cluster: the node's", "agent", "dns-written", AS_NODE],
  ["nothing written: the cluster's", "cluster", "cluster-first", AS_CLUSTER],
  ["Default beside a cluster: the node's", "cluster", "cluster-default", AS_NODE],
  ["on the node's network: the node's", "cluster", "cluster-host", AS_NODE],
  ["ClusterFirstWithHostNet: the cluster's", "cluster", "cluster-host-first", AS_CLUSTER],
] as const)("a pod looks names up by its policy: %s", async (_, on, pod, lines) => {
  expect(await linesOf(on === "agent" ? agent : cluster, pod)).toEqual([...lines]);
});

e2e.concurrent("ClusterFirst is accepted without a word where there is no cluster", async () => {
  const names = (await getRejected(agent)).map(({ name }) => name);
  expect(names).not.toContain("dns-written");
  expect(names).not.toContain("dns-unwritten");
});

e2e.concurrent("name servers that are left out are named", async () => {
  const told = await untilEvent(agent, "dns-crowded", { reason: "DNSConfigForming" });
  expect([told.type, told.message]).toEqual([
    "Warning",
    "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 192.0.2.53 192.0.2.61 192.0.2.62",
  ]);
});

e2e.concurrent("a pod asks the real name servers, not the node's stub at 127.0.0.53", async () => {
  const stub = stage.agent({ name: "stub", instance: "stub", nodeName: "stub" });
  putFixture(stub, "dns-stub");
  startBehindStub(stub, "nameserver 192.0.2.99\nsearch real.example\n");
  expect(await linesOf(stub, "dns-stub")).toEqual(["search real.example", "nameserver 192.0.2.99"]);
  await stub.kill();
});

e2e.concurrent("safe sysctls are set for the pod and nobody else", async () => {
  const mine = ["80", "40000\t50000", "1"];
  const names = [
    "net/ipv4/ip_unprivileged_port_start",
    "net/ipv4/ip_local_port_range",
    "kernel/shm_rmid_forced",
  ];
  const lines = await linesOf(agent, "sysctls");
  expect(lines.slice(0, 3)).toEqual(names.map((name, index) => `${name} ${mine[index]}`));
  const theirs = names.map((name) => readFileSync(`/proc/sys/${name}`, "utf8").trim());
  expect(theirs).not.toEqual(mine);
});

e2e.concurrent("unsafe sysctls are refused, unless the configuration allows them", async () => {
  const { code, path, message } = await rejectionOf(agent, "sysctls-unsafe");
  expect([code, path, message]).toEqual([
    "SysctlForbidden",
    "spec.securityContext.sysctls[1].name",
    'forbidden sysctl: "net.core.somaxconn" not allowlisted (allowedUnsafeSysctls of the configuration)',
  ]);
  const lines = await linesOf(cluster, "sysctls-unsafe");
  expect([lines[0], lines[3], lines[4]]).toEqual([
    "net/ipv4/ip_unprivileged_port_start 81",
    "net/core/somaxconn 1234",
    "kernel/msgmax 4321",
  ]);
});
