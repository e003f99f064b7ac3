// Objects that people write with kubectl and with `agent apply`, on a real node.

import { afterAll, beforeAll, expect } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { KUBECTLS, SocketPort, testWith, type Kubectl } from "../harness/kubectl.ts";
import type { CommandResult } from "../harness/run-command.ts";
import { getPods } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
let agent: AgentProcess;
let port: SocketPort;

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent({ nodeName: "pi-1" });
  await agent.startReady();
  port = await SocketPort.open(agent.paths.socket);
}, 180_000);

afterAll(() => {
  port[Symbol.dispose]();
  stage.close();
}, 60_000);

const POD = (name: string, label = "one"): string => `apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: ${label}}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: local/busybox:1
      command: [sleep, "100000"]
`;
const CONFIG = (name: string, value: string): string => `apiVersion: v1
kind: ConfigMap
metadata: {name: ${name}}
data: {key: "${value}"}
`;

function use(client: Kubectl) {
  const home = stage.temp.directory("kubectl");
  return (command: string, stdin?: string): Promise<CommandResult> =>
    port.kubectl(client, command.split(" "), { home, ...(stdin === undefined ? {} : { stdin }) });
}

/** The standard output of a command that must succeed. */
async function out(result: Promise<CommandResult>): Promise<string> {
  const { code, stdout, stderr } = await result;
  expect(`${code} ${stderr}`).toBe("0 ");
  return stdout;
}

/** A command that must fail with this in its error output. */
async function fails(result: Promise<CommandResult>, text: string): Promise<void> {
  const { code, stderr } = await result;
  expect(code).toBe(1);
  expect(stderr).toContain(text);
}

function filesOf(word: string): readonly string[] {
  return readdirSync(agent.paths.manifests).filter((name) => name.includes(word));
}

async function untilRunning(name: string): Promise<string> {
  return eventually(`${name} runs`, async () => {
    const pod = (await getPods(agent)).find(({ metadata }) => metadata.name === name);
    return pod?.status.phase === "Running" ? JSON.stringify(pod.status.containerStatuses) : false;
  });
}

for (const [index, client] of KUBECTLS.entries()) {
  const e2e = testWith(client, stage.test);
  const kubectl = use(client);
  const name = `web${index}`;

  e2e(
    `${client.name} applies a pod twice, relabels it without a restart, and deletes it`,
    async () => {
      const apply = "apply --server-side -f -";
      expect(await out(kubectl(apply, POD(name)))).toBe(`pod/${name} serverside-applied\n`);
      const containers = await untilRunning(name);
      const file = join(agent.paths.manifests, `api.pod.default.${name}.yaml`);
      const before = statSync(file).ino;
      await out(kubectl(apply, POD(name)));
      expect(statSync(file).ino).toBe(before);
      const shown = await out(kubectl(`get pod ${name} -o yaml`));
      await out(kubectl("replace -f -", shown.replace("app: one", "app: two")));
      expect(await out(kubectl(`get pods -l app=two -o name`))).toBe(`pod/${name}\n`);
      expect(await untilRunning(name)).toBe(containers);
      await fails(kubectl("replace -f -", shown), "has been modified");
      expect(await out(kubectl(`delete pod ${name}`))).toBe(`pod "${name}" deleted\n`);
      expect((await getPods(agent)).filter(({ metadata }) => metadata.name === name)).toEqual([]);
      expect(filesOf(name)).toEqual([]);
    },
  );

  e2e(`${client.name} creates, also in a dry run, and from its own flags`, async () => {
    const dry = await out(kubectl("create --dry-run=server -f -", POD(name)));
    expect([dry, filesOf(name)]).toEqual([`pod/${name} created (server dry run)\n`, []]);
    await out(kubectl("create -f -", CONFIG(name, "a")));
    await fails(kubectl("create -f -", CONFIG(name, "b")), "already exists");
    await out(kubectl(`create secret generic ${name} --from-literal=password=s3cret-${name}`));
    const [secret = ""] = filesOf(`secret.default.${name}`);
    expect(statSync(join(agent.paths.manifests, secret)).mode & 0o777).toBe(0o600);
    expect(await out(kubectl(`get secret ${name} -o jsonpath={.data.password}`))).toBe(
      Buffer.from(`s3cret-${name}`).toString("base64"),
    );
    await out(kubectl(`delete configmap,secret ${name}`));
    expect(filesOf(name)).toEqual([]);
  });

  e2e(`${client.name} explains fields, and names those that are wrong`, async () => {
    const explained = await out(kubectl("explain pod.spec.containers.livenessProbe"));
    expect(explained).toContain("Periodic probe of container liveness.");
    expect(explained).toContain("periodSeconds");
    const misspelt = POD(name).replace("image:", "imagee:");
    await fails(kubectl("create -f -", misspelt), "imagee");
    await fails(
      kubectl("create --validate=false -f -", POD(name).replace("main", "Main")),
      `The Pod "${name}" is invalid: spec.containers[0].name: Invalid value: "Main"`,
    );
    expect(filesOf(name)).toEqual([]);
  });

  e2e(
    `${client.name} is told where else a pod is declared, and what to use for a patch`,
    async () => {
      const mine = `mine${index}`;
      agent.writeManifest(`${mine}.yaml`, POD(mine));
      await untilRunning(mine);
      for (const command of [`delete pod ${mine}`, "replace -f -", "apply --server-side -f -"]) {
        await fails(
          kubectl(command, POD(mine, "two")),
          `is declared by ${join(agent.paths.manifests, `${mine}.yaml`)}: `,
        );
      }
      await fails(kubectl(`annotate pod ${mine} a=b`), "use kubectl apply --server-side");
    },
  );
}

stage.test("the agent's own verbs write the same", async () => {
  const file = join(stage.temp.directory("own"), "own.yaml");
  writeFileSync(file, `${POD("own")}---\n${CONFIG("own", "1")}`);
  const first = await agent.cli("diff", "-f", file);
  expect(first.code).toBe(1);
  expect(first.stdout).toContain("+++ MERGED/v1.Pod.default.own");
  expect(await out(agent.cli("apply", "-f", file))).toBe(
    "pod/own serverside-applied\nconfigmap/own serverside-applied\n",
  );
  await untilRunning("own");
  expect(await out(agent.cli("diff", "-f", file))).toBe("");
  writeFileSync(file, POD("own").replace("metadata: {", "metadata: { annotation: {},"));
  const refused = await agent.cli("apply", "-f", file);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'The Pod "own" is invalid: metadata.annotation: unknown field (did you mean annotations?)\n',
  ]);
  expect(await out(agent.cli("delete", "pod", "own"))).toBe('pod "own" deleted\n');
  expect((await getPods(agent)).filter(({ metadata }) => metadata.name === "own")).toEqual([]);
  expect(await out(agent.cli("delete", "cm/own"))).toBe('configmap "own" deleted\n');
});

stage.test(
  "an agent killed while objects are written has each whole, old or new",
  async () => {
    const values = ["a".repeat(200_000), "b".repeat(200_000)];
    const file = join(agent.paths.manifests, "api.configmap.default.big.yaml");
    const written = async (value: string): Promise<void> => {
      const path =
        "/api/v1/namespaces/default/configmaps/big?fieldManager=e2e&fieldValidation=Strict";
      await fetch(`http://agent${path}`, {
        unix: agent.paths.socket,
        method: "PATCH",
        headers: { "content-type": "application/apply-patch+yaml" },
        body: CONFIG("big", value),
      });
    };
    await written("a".repeat(200_000));
    for (let round = 0; round < 6; round += 1) {
      const writing = Promise.allSettled(
        [0, 1, 2, 3, 4, 5].map((n) => written(values[n % 2] ?? "")),
      );
      await Bun.sleep(round * 7);
      await agent.kill("SIGKILL");
      await writing;
      const text = readFileSync(file, "utf8");
      expect(values.some((value) => text.includes(`key: ${value}\n`))).toBe(true);
      agent.forgetHands();
      await agent.startReady();
      expect(readdirSync(agent.paths.manifests).filter((name) => name.startsWith("."))).toEqual([]);
      const shown = await agent.cli("get", "configmap", "big", "-o", "json");
      expect(shown.stdout).toContain(values.find((value) => text.includes(value)) ?? "none");
    }
  },
  120_000,
);
