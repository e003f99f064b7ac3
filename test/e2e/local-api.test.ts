// The doors at the device: the local socket and the verbs that speak to it.

import { expect } from "bun:test";

import { parse } from "yaml";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { run } from "../harness/run-command.ts";
import { Ledger } from "./support-b-pods.ts";
import { openStage, runningApps, runningPods } from "./support-b-stage.ts";

const { e2e, temp, containerd, agent: makeAgent } = await openStage();
const ledger = new Ledger(temp.directory("ledger"));
let agent: AgentProcess;

interface ListedPod {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly restartPolicy: string;
    readonly containers: readonly { readonly name: string; readonly imagePullPolicy: string }[];
  };
  readonly status: {
    readonly phase: string;
    readonly containerStatuses: readonly {
      readonly containerID: string;
      readonly ready: boolean;
    }[];
  };
}
interface Listed {
  readonly apiVersion: string;
  readonly kind: string;
  readonly items: readonly ListedPod[];
}

const REFUSED = `apiVersion: v1
kind: Pod
metadata:
  name: refused
spec:
  containers:
    - name: main
      image: local/busybox:1
      livenesProbe: {}
`;

/** Bun has no typed `JSON.parse`; the tests below look at every field they use. */
function json<T>(text: string): T {
  return JSON.parse(text) as T;
}

async function untilShown(names: readonly string[]): Promise<void> {
  await eventually(
    `agent get pods shows ${names.join(" ")} as running`,
    async () => {
      const { items } = json<Listed>(await (await agent.api("/pods")).text());
      const shown = items.filter(({ status }) =>
        status.containerStatuses.every(({ ready }) => ready),
      );
      return Bun.deepEquals(shown.map(({ metadata }) => metadata.name).toSorted(), names);
    },
    { timeout: 60_000, explain: () => agent.logTail() },
  );
}

e2e("the agent starts, with two pods and a refused manifest", async () => {
  agent = makeAgent("doors", { config: { nodeLabels: { site: "here" } } });
  agent.writeManifest("web.yaml", ledger.pod({ name: "web", variant: "v1" }));
  agent.writeManifest("job.yaml", ledger.pod({ name: "job", variant: "v1", hostNetwork: true }));
  agent.writeManifest("refused.yaml", REFUSED);
  await agent.startReady();
  await untilShown(["job", "web"]);
  expect(await runningPods(containerd(), "doors")).toEqual(["job", "web"]);
});

e2e(
  "/pods is a v1 PodList of defaulted pods that tells the truth about the containers",
  async () => {
    const response = await agent.api("/pods");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain("application/json");
    const list = json<Listed>(await response.text());
    expect(list).toMatchObject({ apiVersion: "v1", kind: "PodList" });
    expect(list.items.map(({ metadata }) => metadata.name).toSorted()).toEqual(["job", "web"]);
    const web = list.items.find(({ metadata }) => metadata.name === "web");
    const [container] = (await runningApps(containerd(), "doors")).filter(
      ({ name }) => name === "web",
    );
    expect(web).toMatchObject({
      metadata: {
        namespace: "default",
        annotations: { "kubernetes.io/config.source": "file" },
      },
      spec: { restartPolicy: "Always", containers: [{ imagePullPolicy: "IfNotPresent" }] },
      status: {
        phase: "Running",
        containerStatuses: [{ containerID: `containerd://${container?.id}`, ready: true }],
      },
    });
    expect(web?.metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-/);
    expect(web?.metadata.annotations["kubernetes.io/config.hash"]).toBeDefined();
    expect(web?.metadata.annotations["agent/source-ref"]).toContain("web.yaml");
  },
);

e2e("/rejected names file, line and field", async () => {
  const response = await agent.api("/rejected");
  expect(response.status).toBe(200);
  const rejected = json<readonly Readonly<Record<string, unknown>>[]>(await response.text());
  expect(rejected).toMatchObject([
    { source: "file", code: "UnknownField", path: "spec.containers[0].livenesProbe", line: 9 },
  ]);
  expect(String(rejected[0]?.["ref"])).toContain("refused.yaml");
});

e2e("an unknown path is 404", async () => {
  expect((await agent.api("/nothing")).status).toBe(404);
});

e2e(
  "get pods: a table on standard output, the refused manifest under it on standard error",
  async () => {
    const { code, stdout, stderr } = await agent.cli("get", "pods");
    expect(code).toBe(0);
    const rows = stdout
      .trim()
      .split("\n")
      .map((line) => line.split(/\s{2,}/).slice(0, 4));
    expect(rows).toEqual([
      ["NAME", "READY", "STATUS", "RESTARTS"],
      ["job", "1/1", "Running", "0"],
      ["web", "1/1", "Running", "0"],
    ]);
    expect(stderr).toMatch(
      /refused\.yaml.*:9: spec\.containers\[0\]\.livenesProbe: .*livenessProbe/,
    );
  },
);

e2e("get pods -o wide, -A, -n, NAME", async () => {
  const wide = await agent.cli("get", "pods", "-o", "wide");
  expect(wide.code).toBe(0);
  expect(wide.stdout.split("\n")[0]).toMatch(
    /NAME .*IP +NODE +NOMINATED NODE +READINESS GATES +SOURCE/,
  );
  expect(wide.stdout).toMatch(/web .*\d+\.\d+\.\d+\.\d+ +doors +<none> +<none> +file .*web\.yaml/);

  const all = await agent.cli("get", "pods", "-A");
  expect(all.stdout).toMatch(/^NAMESPACE +NAME/);
  expect(all.stdout).toMatch(/^default +web/m);

  const none = await agent.cli("get", "pods", "-n", "elsewhere");
  expect(none).toMatchObject({ code: 0, stdout: "" });
  expect(none.stderr).toContain("No resources found in elsewhere namespace.");

  const one = await agent.cli("get", "pods", "web");
  expect(one.code).toBe(0);
  expect(one.stdout.trim().split("\n")).toHaveLength(2);
  const missing = await agent.cli("get", "pods", "nobody");
  expect(missing).toMatchObject({ code: 1, stdout: "" });
  expect(missing.stderr).toMatch(/^Error: pods "nobody" not found/);
  const hopeful = await agent.cli("get", "pods", "refused");
  expect(hopeful.code).toBe(1);
  expect(hopeful.stderr).toContain("livenesProbe");
});

e2e("get pods -o json, yaml and name", async () => {
  const asJSON = await agent.cli("get", "pods", "-o", "json");
  expect(asJSON).toMatchObject({ code: 0, stderr: "" });
  const list = json<Listed>(asJSON.stdout);
  expect(list).toMatchObject({ apiVersion: "v1", kind: "List" });
  expect(list.items.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    "Pod job",
    "Pod web",
  ]);
  const one = json<ListedPod>((await agent.cli("get", "pods", "web", "-o", "json")).stdout);
  expect(one).toMatchObject({ apiVersion: "v1", kind: "Pod", metadata: { name: "web" } });

  const asYAML = await agent.cli("get", "pods", "web", "-o", "yaml");
  expect(asYAML.code).toBe(0);
  const read = parse(asYAML.stdout) as ListedPod;
  expect(read.metadata).toEqual(one.metadata);
  expect(read.spec).toEqual(one.spec);

  const names = await agent.cli("get", "pods", "-o", "name");
  expect(names).toMatchObject({ code: 0, stdout: "pod/job\npod/web\n", stderr: "" });
  expect((await agent.cli("get", "pod/web", "-o", "name")).stdout).toBe("pod/web\n");
});

e2e("get node", async () => {
  const table = await agent.cli("get", "node");
  expect(table.code).toBe(0);
  expect(table.stdout).toMatch(/^NAME +STATUS/);
  expect(table.stdout).toMatch(/^doors +Ready(?:,OOMUnprotected)? /m);
  const node = json<{
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
    readonly status: {
      readonly nodeInfo: Readonly<Record<string, string>>;
      readonly capacity: Readonly<Record<string, string>>;
    };
  }>((await agent.cli("get", "node", "doors", "-o", "json")).stdout);
  expect(node).toMatchObject({
    kind: "Node",
    metadata: { name: "doors", labels: { site: "here" } },
  });
  expect(node.status.nodeInfo["containerRuntimeVersion"]).toMatch(/^containerd:\/\//);
  expect(node.status.capacity["cpu"]).toBe(String(navigator.hardwareConcurrency));
  const all = await agent.cli("get", "nodes", "-o", "json");
  expect(JSON.parse(all.stdout)).toMatchObject({ kind: "List", items: [{ kind: "Node" }] });
  expect((await agent.cli("get", "node", "-o", "name")).stdout).toBe("node/doors\n");
});

e2e("wrong usage ends with 2, and says what is wrong", async () => {
  for (const args of [
    ["get", "pods", "-o", "xml"],
    ["get", "pods", "web", "-A"],
    ["get", "pods", "--nonsense"],
    ["nonsense"],
  ]) {
    const { code, stdout, stderr } = await agent.cli(...args);
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
    expect(stderr).toMatch(/^Error: /);
  }
});

e2e(
  "a second agent on the same stateDir refuses with a sentence and disturbs nothing",
  async () => {
    const before = await runningApps(containerd(), "doors");
    const second = await run([agentBinary(), "run", "--config", agent.paths.config], {
      timeout: 60_000,
    });
    expect(second.code).toBe(1);
    const said = `${second.stdout}${second.stderr}`;
    expect(said).toContain(`another agent (pid ${agent.pid})`);
    expect(said).toContain("stateDir");
    expect(said).not.toMatch(/^\s+at /m);
    expect((await agent.api("/healthz")).status).toBe(200);
    expect(await runningApps(containerd(), "doors")).toEqual(before);
  },
);

e2e(
  "/healthz is 503 with the reason while containerd is stuck or dead, and 200 afterwards",
  async () => {
    const before = await runningApps(containerd(), "doors");
    const health = await agent.api("/healthz");
    expect(health.status).toBe(200);
    const { pid } = containerd();
    if (pid === undefined) throw new Error("containerd does not run");

    const becomes = async (status: number): Promise<string> =>
      eventually(
        `/healthz says ${status}`,
        async () => {
          const response = await agent.api("/healthz");
          const text = await response.text();
          if (response.status !== status) throw new Error(`${response.status} ${text}`);
          return text;
        },
        { timeout: 75_000, interval: 250, explain: () => agent.logTail() },
      );
    process.kill(pid, "SIGSTOP");
    expect(await becomes(503)).toMatch(/container runtime/);
    const pods = await agent.cli("get", "pods");
    expect(pods.code).toBe(0);
    expect(pods.stdout).toMatch(/web .*Running/);

    await containerd().kill("SIGKILL");
    expect((await agent.api("/healthz")).status).toBe(503);
    await containerd().start();
    await becomes(200);
    expect(await runningApps(containerd(), "doors")).toEqual(before);
    expect(ledger.lines().filter(({ kind }) => kind === "start")).toHaveLength(2);
  },
  200_000,
);

e2e("SIGTERM ends the agent with 0 and no pod; without it the verbs say so", async () => {
  const before = await runningApps(containerd(), "doors");
  expect(await agent.kill("SIGTERM")).toBe(0);
  expect(await runningApps(containerd(), "doors")).toEqual(before);
  for (const object of ["pods", "node"]) {
    const { code, stdout, stderr } = await agent.cli("get", object);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^Error: no agent is listening on .*agent\.sock: start it/);
  }
});
