// The whole agent: ConfigMaps and Secrets from files, as the containers of a pod find them.

import { describe, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { LABEL } from "../../src/api/pod/labels.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { SimWorld } from "./sim-world.ts";

/** A seed whose world has a broker and answers at once. */
const CALM_SEED = 16_366;

const POD = `
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  subdomain: sub
  hostAliases: [{ip: 192.0.2.7, hostnames: [db]}]
  volumes: [{name: files, configMap: {name: web}}]
  containers:
  - name: env
    image: local/busybox:1
    env:
    - {name: GREETING, valueFrom: {configMapKeyRef: {name: web, key: greeting}}}
    - {name: NODE, valueFrom: {configMapKeyRef: {name: agent-node, key: name}}}
    - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: CPUS, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
    - {name: LINE, value: "$(GREETING), $(NODE)"}
  - name: part
    image: local/busybox:1
    env: [{name: PART, value: greeting}]
    volumeMounts: [{name: files, mountPath: /greeting, subPathExpr: $(PART)}]
  - name: whole
    image: local/busybox:1
    volumeMounts: [{name: files, mountPath: /files}]
`;

const configMap = (greeting: string): string =>
  `{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {greeting: ${greeting}}}`;

class ReaderWorld implements Disposable {
  readonly #sim = new SimWorld(CALM_SEED);

  async start(): Promise<void> {
    await this.#sim.perform({ type: "Start", pause: 20_000 });
  }

  /** kill -9, and a new one. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  async kill(): Promise<void> {
    await this.#sim.perform({ type: "Kill", acts: 0, pause: 1_000 });
  }

  async wait(ms: number): Promise<void> {
    await this.#sim.perform({ type: "Wait", pause: ms });
  }

  write(name: string, text: string): void {
    const { manifests } = this.#sim.machine;
    manifests.write(name, text, { how: "rename", onDone: () => undefined });
  }

  /** `container/attempt` of what runs of the pod. */
  running(): readonly string[] {
    return this.#containers()
      .map(({ config }) => `${config.metadata?.name}/${config.metadata?.attempt}`)
      .toSorted();
  }

  container(name: string): FakeContainer {
    const found = this.#containers().find(({ config }) => config.metadata?.name === name);
    if (found === undefined) throw new Error(`${name} does not run`);
    return found;
  }

  uid(): string | undefined {
    return this.#containers()[0]?.config.labels[LABEL.podUID];
  }

  /** What the pod that runs shows of its successor. */
  waitsFor(): { readonly reason: string; readonly message: string } | undefined {
    const all = this.#sim.agent?.facts.pods() ?? [];
    return all.find(({ pod }) => pod.metadata.name === "reader")?.pendingUpdate;
  }

  /** Events of the pod. */
  failures(): readonly string[] {
    const all = this.#sim.agent?.facts.events() ?? [];
    return all.filter(({ reason }) => reason === "Failed").map(({ message }) => message);
  }

  env(container: string): Readonly<Record<string, string>> {
    const { envs } = this.container(container).config;
    const decoder = new TextDecoder();
    return Object.fromEntries(envs.map(({ key, value }) => [key, decoder.decode(value)]));
  }

  /** On the host. */
  mounted(container: string, path: string): string {
    const { mounts } = this.container(container).config;
    return mounts.find(({ containerPath }) => containerPath === path)?.hostPath ?? "";
  }

  [Symbol.dispose](): void {
    this.#sim[Symbol.dispose]();
  }

  #containers(): readonly FakeContainer[] {
    const all = this.#sim.machine.runtime.running();
    return all.filter(({ config }) => config.labels[LABEL.podName] === "reader");
  }
}

test("a pod waits for its ConfigMap, and follows it", async () => {
  using world = new ReaderWorld();
  await world.start();
  world.write("reader.yaml", POD);
  await world.wait(60_000);
  expect(world.running()).toEqual([]);

  world.write("web.yaml", configMap("hello"));
  await world.wait(2_000);
  expect(world.running()).toEqual(["env/0", "part/0", "whole/0"]);
  expect(world.env("env")).toMatchObject({ GREETING: "hello", CPUS: "4" });
  const { NODE, LINE, IP } = world.env("env");
  expect(LINE).toBe(`hello, ${NODE}`);
  const hosts = readFileSync(world.mounted("env", "/etc/hosts"), "utf8");
  expect(hosts).toContain(`\n${IP}\treader\n`);
  expect(hosts).toContain("\n192.0.2.7\tdb\n");
  expect(world.mounted("part", "/etc/hosts")).toBe(world.mounted("env", "/etc/hosts"));
  const files = world.mounted("whole", "/files");
  expect(readFileSync(`${files}/greeting`, "utf8")).toBe("hello");
  const { ino } = statSync(world.mounted("env", "/etc/hosts"));

  world.write("web.yaml", configMap("bye"));
  await world.wait(2_000);
  expect(world.running()).toEqual(["env/1", "part/1", "whole/0"]);
  expect(world.env("env")["LINE"]).toBe(`bye, ${NODE}`);
  expect(readFileSync(`${files}/greeting`, "utf8")).toBe("bye");
  expect(statSync(world.mounted("env", "/etc/hosts")).ino).toBe(ino);

  await world.wait(120_000);
  expect(world.running()).toEqual(["env/1", "part/1", "whole/0"]);
});

describe("an edit that reads what nobody has", () => {
  const plain = POD.replace(/ {4}env:\n( {4}- .*\n)+/, "");
  const edits: Readonly<Record<string, string>> = {
    "as environment": plain.replace(
      "  - name: env\n",
      "  - name: env\n    env: [{name: X, valueFrom: {configMapKeyRef: {name: later, key: greeting}}}]\n",
    ),
    "as a key": plain.replace(
      "  - name: env\n",
      "  - name: env\n    env: [{name: X, valueFrom: {configMapKeyRef: {name: web, key: gone}}}]\n",
    ),
    "as a volume": plain.replace("{name: web}", "{name: later}"),
  };

  test.each(Object.entries(edits))("%s ends nothing before it is there", async (_, edited) => {
    using world = new ReaderWorld();
    await world.start();
    world.write("web.yaml", configMap("hello"));
    world.write("reader.yaml", plain);
    await world.wait(10_000);
    const before = world.uid();
    expect(world.running()).toEqual(["env/0", "part/0", "whole/0"]);
    world.write("reader.yaml", edited);
    await world.wait(120_000);
    expect(world.uid()).toBe(before);
    expect(world.waitsFor()?.reason).toBe("CreateContainerConfigError");
    expect(world.waitsFor()?.message).toMatch(
      /configmap "later" not found|couldn't find key gone in ConfigMap default\/web/,
    );
    const said = world.failures();
    expect(said).toEqual([`Error: ${world.waitsFor()?.message}`]);
    // Also when the agent starts anew: what waits is not in the runtime yet.
    await world.restart();
    await world.wait(60_000);
    expect(world.uid()).toBe(before);
    world.write("later.yaml", configMap("hello").replace("name: web", "name: later"));
    world.write("web.yaml", configMap("hello, gone: by"));
    await world.wait(10_000);
    expect(world.uid()).not.toBe(before);
    expect(world.running()).toHaveLength(3);
    expect(world.waitsFor()).toBeUndefined();
  });
});

const SECRET_POD = `
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  containers:
  - name: env
    image: local/busybox:1
    envFrom: [{secretRef: {name: login, optional: true}}]
`;

const secret = (password: string): string =>
  `{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {PASSWORD: ${password}}}`;

test("an agent that starts again restarts nothing but what has changed meanwhile", async () => {
  using world = new ReaderWorld();
  await world.start();
  world.write("login.yaml", secret("first-password"));
  world.write("reader.yaml", SECRET_POD);
  await world.wait(20_000);
  expect(world.env("env")).toEqual({ PASSWORD: "first-password" });

  await world.restart();
  await world.wait(120_000);
  expect(world.running()).toEqual(["env/0"]);

  await world.kill();
  world.write("login.yaml", secret("second-password"));
  await world.start();
  expect(world.running()).toEqual(["env/1"]);
  expect(world.env("env")).toEqual({ PASSWORD: "second-password" });
});
