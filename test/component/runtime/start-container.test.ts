import { describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import type { RuntimeHelper } from "../../../src/runtime/runtime-helper.ts";
import { aContainer, aPod, UID } from "../../fakes/a-pod.ts";
import { localObjects } from "../../fakes/local-objects.ts";
import { laterRefusal } from "../../fakes/refusal.ts";
import { StartWorld } from "./start-world.ts";
import type { Container } from "../../../src/api/v1/container.ts";
import type { VolumeMount, SubPath } from "../../../src/api/v1/volume-mounts.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

const worldOf = (spec: Partial<PodSpec> = {}, node: Partial<RuntimeHelper> = {}): StartWorld =>
  new StartWorld(aPod(spec), node);
const two = { containers: [aContainer("a"), aContainer("b")] };
const LOST = { type: "fail", code: GrpcCode.UNAVAILABLE, details: "gone" } as const;

/** Without what is only for people. */
const hosts = ({ etcHosts }: StartWorld): readonly string[] =>
  readFileSync(etcHosts, "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));

describe("a container's environment", () => {
  const env = [
    { name: "IP", valueFrom: { type: "fieldRef", fieldPath: "status.podIP" } },
    { name: "HOST", valueFrom: { type: "fieldRef", fieldPath: "status.hostIP" } },
    { name: "NODE", valueFrom: { type: "fieldRef", fieldPath: "spec.nodeName" } },
    {
      name: "CPUS",
      valueFrom: { type: "resourceFieldRef", resource: "limits.cpu" },
    },
  ] as const;

  test("knows the pod's address and the node's facts", async () => {
    using world = worldOf({ containers: [aContainer("a", { env })] });
    const found = await world.startAll();
    const values = Object.fromEntries(found.env.map(({ name, value }) => [name, value]));
    expect(values).toMatchObject({ HOST: "192.0.2.1", NODE: "node", CPUS: "4" });
    expect(hosts(world).at(-1)).toBe(`${String(values["IP"])}\tweb`);
  });

  test("on the host's network the node's addresses are the pod's", async () => {
    using world = worldOf({ containers: [aContainer("a", { env })], hostNetwork: true });
    const found = await world.startAll();
    expect(found.env).toContainEqual({ name: "IP", value: "192.0.2.1" });
    expect(world.count("podSandboxStatus")).toBe(0);
  });

  test("says what it left out", async () => {
    const from = { type: "configMap", name: "odd", prefix: "", optional: false } as const;
    const objects = () => localObjects({ configMaps: { odd: { "a=b": "1" } } });
    using world = worldOf({ containers: [aContainer("a", { envFrom: [from] })] }, { objects });
    await world.startAll();
    const said = world.events.filter(({ reason }) => reason === "InvalidEnvironmentVariableNames");
    expect(said.map(({ object }) => object.fieldPath)).toEqual(["spec.containers{a}"]);
  });
});

describe("the digest of what a container read", () => {
  const from = { type: "secret", name: "login", prefix: "", optional: false } as const;
  const reader = { containers: [aContainer("a", { envFrom: [from] })] };

  test("goes onto it, and the content does not", async () => {
    const node: Partial<RuntimeHelper> = {
      objects: () => localObjects({ secrets: { login: { KEY: "hidden" } } }),
      configDigest: (text) => `v1:key:${text.length}`,
    };
    using world = worldOf(reader, node);
    expect((await world.startAll()).configDigest).toMatch(/^v1:key:[0-9]+$/);
    expect(JSON.stringify(world.events)).not.toContain("hidden");
  });

  test("is none for one that reads nothing", async () => {
    using world = worldOf();
    expect(await world.startAll()).not.toHaveProperty("configDigest");
  });

  test("it waits for what is not there, and says so", async () => {
    using world = worldOf(reader);
    const refusal = await laterRefusal(world.startAll());
    expect(refusal?.reason).toBe("CreateContainerConfigError");
    expect(refusal?.message).toStartWith('secret "login" not found');
    const last = world.events.at(-1);
    expect(last?.reason).toBe("Failed");
    expect(last?.message).toBe(`Error: ${refusal?.message}`);
    expect(world.runtime.containers.size).toBe(0);
  });
});

describe("a pod's hosts file", () => {
  test("is written once for all containers", async () => {
    using world = worldOf(two);
    await world.createSandbox();
    await world.start("a");
    const { ino, mode } = statSync(world.etcHosts);
    await world.start("b");
    expect(statSync(world.etcHosts).ino).toBe(ino);
    expect(mode & 0o777).toBe(0o644);
    expect(world.facts.get("a")?.etcHosts).toBe(world.etcHosts);
    expect(world.facts.get("b")?.etcHosts).toBe(world.etcHosts);
  });

  test("is written anew when a container starts that would find something else", async () => {
    using world = worldOf(two);
    await world.createSandbox();
    await world.start("a");
    const text = readFileSync(world.etcHosts, "utf8");
    writeFileSync(world.etcHosts, text.replace("localhost", "somewhere"));
    await world.start("b");
    expect(readFileSync(world.etcHosts, "utf8")).toBe(text);
  });

  test("has the pod's names and its aliases", async () => {
    const hostAliases = [{ ip: "192.0.2.7", hostnames: ["db"] }];
    const spec = { hostname: "front", subdomain: "sub", hostAliases };
    using world = worldOf(spec, { clusterDomain: "cluster.local" });
    await world.startAll();
    const [own, alias] = hosts(world).slice(-2);
    expect(own).toEndWith("\tfront.sub.default.svc.cluster.local\tfront");
    expect(alias).toBe("192.0.2.7\tdb");
  });

  test("is the node's on the host's network", async () => {
    using world = worldOf({ hostNetwork: true }, { nodeHosts: () => "192.0.2.1 pi\n" });
    await world.startAll();
    expect(hosts(world)).toEqual(["192.0.2.1 pi"]);
  });

  test("is there when the container is made, and has the address before it starts", async () => {
    using world = worldOf();
    await world.createSandbox();
    const seen = new Map<string, readonly string[]>();
    world.onCall = (call) => void (call.endsWith("Container") && seen.set(call, hosts(world)));
    await world.start("a");
    expect(seen.get("createContainer")).toContain("127.0.0.1\tlocalhost");
    expect(seen.get("startContainer")?.at(-1)).toMatch(/^[0-9.]+\tweb$/);
  });

  test("keeps the container from starting while the address cannot be learnt", async () => {
    using world = worldOf();
    await world.createSandbox();
    world.runtime.faults.order("podSandboxStatus", LOST);
    expect((await laterRefusal(world.start("a")))?.reason).toBe("CreateContainerConfigError");
    expect(world.runtime.callNames()).not.toContain("startContainer");
  });
});

describe("a command that the runtime cannot run", () => {
  const env = [{ name: "PASSWORD", value: 'hunter"2' }];
  const containers = [aContainer("a", { env, command: ["$(PASSWORD)"], args: ["x"] })];
  const quoted = 'exec: "hunter\\"2": executable file not found in $PATH';

  test.each(["createContainer", "startContainer"] as const)(
    "is named as it is written when %s fails",
    async (call) => {
      using world = worldOf({ containers });
      world.runtime.faults.order(call, { ...LOST, details: quoted });
      const refusal = await laterRefusal(world.startAll());
      expect(refusal?.message).toContain('exec: "$(PASSWORD)": executable file not found in $PATH');
      expect(JSON.stringify(world.events)).not.toContain("hunter");
    },
  );
});

describe("the address of a new sandbox", () => {
  test("is asked for once, whoever needs it", async () => {
    using world = worldOf(two);
    await world.startAll();
    expect(world.count("podSandboxStatus")).toBe(1);
  });

  test("is asked for again if there was no answer", async () => {
    const field = { fieldPath: "status.podIP" };
    const env = [{ name: "IP", valueFrom: { type: "fieldRef", ...field } }] as const;
    using world = worldOf({ containers: [aContainer("a", { env })] });
    await world.createSandbox();
    world.runtime.faults.order("podSandboxStatus", LOST);
    expect(await laterRefusal(world.start("a"))).toEqual({
      reason: "CreateContainerConfigError",
      message: "cannot read the pod's address from the container runtime: PodSandboxStatus: gone",
    });
    await world.start("a");
    expect(world.count("podSandboxStatus")).toBe(2);
  });
});

describe("a part of a volume", () => {
  const volumes = [{ name: "data", emptyDir: { medium: "" } }] as const;
  const mount = (more: Partial<VolumeMount>): VolumeMount => ({
    name: "data",
    mountPath: "/data",
    readOnly: false,
    ...more,
  });

  async function prepared(mounts: readonly VolumeMount[], value = "one") {
    const asked: SubPath[] = [];
    const prepareSubPath = (_pod: unknown, part: SubPath): string => {
      asked.push(part);
      return `/prepared/${part.index}`;
    };
    const env = [{ name: "PART", value }];
    const containers = [aContainer("a", { env, volumeMounts: mounts })];
    using world = worldOf({ volumes, containers }, { prepareSubPath });
    const found = await world.startAll();
    return { asked, found };
  }

  test("is prepared for each mount that wants one", async () => {
    const mounts = [
      mount({}),
      mount({ subPath: "fixed" }),
      mount({ subPathExpr: "x/$(PART)", readOnly: true }),
    ];
    const { asked, found } = await prepared(mounts);
    const place = { uid: UID, container: "a", volumeName: "data", volumePath: "/volumes/data" };
    expect(asked).toEqual([
      { ...place, index: 1, subPath: "fixed" },
      { ...place, index: 2, subPath: "x/one" },
    ]);
    expect(found.subPaths).toEqual(
      new Map([
        [1, "/prepared/1"],
        [2, "/prepared/2"],
      ]),
    );
  });

  test.each<[string, string, string]>([
    ["$(GONE)/$(PART)/$(ALSO)", "one", "missing value for ALSO, GONE"],
    ["$(PART)", "", "missing value for PART"],
    ["$(PART)", "/etc", "error SubPath `$(PART)` must not be an absolute path"],
    ["$(PART)/x", "..", "unable to provision SubPath `$(PART)/x`: must not contain '..'"],
  ])("%s is refused where PART is %p: %s", async (subPathExpr, value, message) => {
    const refusal = await laterRefusal(prepared([mount({ subPathExpr })], value));
    expect(refusal).toEqual({ reason: "CreateContainerConfigError", message });
  });

  test("that cannot be prepared shows nothing of what its variables say", async () => {
    const env = [{ name: "PART", value: "hunter2" }];
    const containers = [
      aContainer("a", { env, volumeMounts: [mount({ subPathExpr: "x/$(PART)" })] }),
    ];
    const prepareSubPath = (_pod: unknown, { subPath }: SubPath): string => {
      throw new AgentError({
        reason: "CreateContainerConfigError",
        message: `"${subPath}" is gone`,
      });
    };
    using world = worldOf({ volumes, containers }, { prepareSubPath });
    expect(await laterRefusal(world.startAll())).toEqual({
      reason: "CreateContainerConfigError",
      message: '"x/$(PART)" is gone',
    });
    expect(JSON.stringify(world.events)).not.toContain("hunter2");
  });

  test("with two dots in a name is none the worse", async () => {
    const { asked } = await prepared([mount({ subPathExpr: "$(PART)" })], "a..b");
    expect(asked[0]?.subPath).toBe("a..b");
  });
});

describe("a part of a volume that shows a ConfigMap", () => {
  const files = { name: "web", items: [], optional: false, defaultMode: 0o644 };
  const volumes = [{ name: "data", configMap: files }];
  const whole = { name: "data", mountPath: "/data", readOnly: false };
  const objects = () => localObjects({ configMaps: { web: { x: "1" } } });

  async function started(mount: VolumeMount, problems: readonly string[] = []) {
    const refreshed: string[] = [];
    const refreshVolumes = (_pod: unknown, { name }: Container): readonly string[] => {
      refreshed.push(name);
      return problems;
    };
    const spec = { volumes, containers: [aContainer("a", { volumeMounts: [mount] })] };
    using world = worldOf(spec, { objects, refreshVolumes });
    const refusal = await laterRefusal(world.startAll());
    return { refreshed, refusal, digest: world.facts.get("a")?.configDigest };
  }

  test("is as new as the digest of it", async () => {
    const { refreshed, digest } = await started({ ...whole, subPath: "x" });
    expect(refreshed).toEqual(["a"]);
    expect(digest).toContain("text:1");
  });

  test("waits while the volume cannot follow", async () => {
    const { refusal } = await started({ ...whole, subPath: "x" }, ["one", "two"]);
    expect(refusal).toEqual({ reason: "CreateContainerConfigError", message: "one; two" });
  });

  test("the whole of it follows by itself", async () => {
    expect(await started(whole)).toMatchObject({ refusal: undefined, digest: undefined });
  });
});

describe("an image as a volume", () => {
  const image = { reference: "local/model:1", pullPolicy: "Always" } as const;
  const volumes = [
    { name: "model", image },
    { name: "other", image: { ...image, reference: "local/other:1" } },
  ];
  const mounts = [{ name: "model", mountPath: "/model", readOnly: true }];
  const spec = { volumes, containers: [aContainer("a", { volumeMounts: mounts })] };

  test("is fetched as it asks, for a container that mounts it", async () => {
    using world = worldOf(spec, { mountsImages: () => true });
    const { imageVolumes } = await world.startAll();
    expect(imageVolumes).toEqual(new Map([["model", "sha256:local/model:1"]]));
    expect(world.fetched).toEqual(["local/busybox:1 IfNotPresent", "local/model:1 Always"]);
  });

  test("is not fetched where the runtime could not mount it", async () => {
    using world = worldOf(spec);
    expect((await world.startAll()).imageVolumes).toEqual(new Map());
    expect(world.fetched).toEqual(["local/busybox:1 IfNotPresent"]);
  });
});

test("a sandbox that cannot be described is refused as one that cannot be made", async () => {
  using world = worldOf();
  world.refusal = new AgentError({
    reason: "CreatePodSandboxError",
    message: "failed to construct FQDN",
  });
  const refusal = await laterRefusal(world.createSandbox());
  expect(refusal?.reason).toBe("CreatePodSandboxError");
  expect(world.events).toMatchObject([
    {
      reason: "FailedCreatePodSandBox",
      message: "Failed to create pod sandbox: failed to construct FQDN",
    },
  ]);
});

describe("a container that is drafted before there is a sandbox", () => {
  const from = { type: "configMap", name: "web", prefix: "", optional: false } as const;
  const container = aContainer("a", { envFrom: [from] });

  test("is made as it was drafted, and has the address before it starts", async () => {
    let greeting = "hello";
    const objects = () => localObjects({ configMaps: { web: { GREETING: greeting, "a=b": "1" } } });
    const configDigest = (text: string): string => text;
    using world = worldOf({ containers: [container] }, { objects, configDigest });
    expect(await world.draft("a")).toBe(true);
    expect(world.runtime.callNames()).toEqual([]);
    expect(world.events).toEqual([]);
    greeting = "bye";
    const found = await world.startAll();
    // What it says it has read is what it has read.
    expect(found.env.find(({ name }) => name === "GREETING")?.value).toBe("hello");
    expect(found.configDigest).toContain("hello");
    expect(hosts(world).at(-1)).toMatch(/^[0-9.]+\tweb$/);
    const said = world.events.filter(({ reason }) => reason === "InvalidEnvironmentVariableNames");
    expect(said).toHaveLength(1);
  });

  test("has to wait for what is not there, and says so when it starts", async () => {
    using world = worldOf({ containers: [container] });
    expect(await world.draft("a")).toBe(false);
    expect(world.events).toEqual([]);
    expect((await laterRefusal(world.startAll()))?.reason).toBe("CreateContainerConfigError");
    expect(world.events.filter(({ reason }) => reason === "Failed")).toHaveLength(1);
  });

  const field = { fieldPath: "status.podIP" };
  const ip = { env: [{ name: "IP", valueFrom: { type: "fieldRef", ...field } } as const] };
  const mounts = [{ name: "data", mountPath: "/data", readOnly: false }];
  const emptyDir = { volumes: [{ name: "data", emptyDir: { medium: "" } } as const] };
  const hostPath = { volumes: [{ name: "data", hostPath: { path: "/srv", type: "" } } as const] };
  const part = { volumeMounts: mounts.map((mount) => ({ ...mount, subPath: "x" })) };
  test.each<[string, Partial<PodSpec>, boolean]>([
    ["that reads the pod's address waits", { containers: [aContainer("a", ip)] }, false],
    [
      "on the host's network has it",
      { containers: [aContainer("a", ip)], hostNetwork: true },
      true,
    ],
    ["with a host path waits", { containers: [aContainer("a")], ...hostPath }, false],
    ["with a part of a volume waits", { containers: [aContainer("a", part)], ...emptyDir }, false],
    [
      "with a whole volume does not",
      { containers: [aContainer("a", { volumeMounts: mounts })], ...emptyDir },
      true,
    ],
  ])("%s", async (_, spec, early) => {
    using world = worldOf(spec);
    expect(await world.draft("a")).toBe(early);
    await world.startAll();
    expect(world.runtime.containers.size).toBe(1);
  });
});
