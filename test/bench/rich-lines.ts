// The line of an ordinary pod: five volumes and twenty variables, some of them from a ConfigMap and a Secret.

import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

import { NamespaceMode } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import type { BareContainer } from "./bare-calls.ts";
import { podManifest } from "./agent-side.ts";
import { CallTimes } from "./call-times.ts";
import { inPairs, type Bench, type Pairs } from "./pairs.ts";
import { hiddenPaths } from "../../src/runtime/cri-config/security-context.ts";

const VARIABLES = 20;
const VOLUMES = ["config", "secret", "podinfo", "all", "scratch"] as const;
const OBJECTS = "rich-objects.yaml";

/** Manifest renamed into place → container running; the bare half has the same mounts and variables, made beforehand. */
export async function richPod(bench: Bench, count: number, directory: string): Promise<Pairs> {
  const { log, bare, calls, containerd } = bench.world;
  const split = new CallTimes(containerd.logFile);
  const container = bareContainer(directory);
  let counted = "";
  bench.agent?.process.writeManifest(OBJECTS, OBJECT_LIST);
  const pairs = await inPairs(bench, {
    count,
    agent: async (agent, rest) => {
      const place = agent.prepare("rich", richManifest());
      await calls.reset();
      await rest();
      const mark = log.mark();
      const start = performance.now();
      place();
      const { at } = await log.lastStart(mark, 1);
      split.add("agent", start, at);
      await Bun.sleep(100);
      counted = await calls.perPod(1);
      agent.drop("rich");
      await log.lastGone(mark, 1);
      return at - start;
    },
    bare: async (rest) => {
      const [config] = bare.prepare(1);
      if (config === undefined) throw new Error("no configuration was prepared");
      await rest();
      const mark = log.mark();
      const start = performance.now();
      const pod = await bare.run(config, container);
      const { at } = await log.lastStart(mark, 1);
      split.add("bare", start, at);
      await bare.remove(pod.sandboxId);
      await log.lastGone(mark, 1);
      return at - start;
    },
  });
  bench.agent?.process.removeManifest(OBJECTS);
  const told = counted === "" ? [] : [`calls of one start: ${counted}`];
  return { ...pairs, notes: [...split.describe(), ...told] };
}

/** The same binds and variables, with content of the same size, and the paths that Kubernetes hides from containers. */
function bareContainer(directory: string): BareContainer {
  const volumes = VOLUMES.map((name) => {
    const hostPath = join(directory, name);
    mkdirSync(hostPath, { recursive: true });
    writeFileSync(join(hostPath, "a.conf"), "key = value\n");
    return { hostPath, containerPath: `/mnt/${name}`, readonly: name !== "scratch" };
  });
  const files = ["/etc/hosts", "/dev/termination-log"].map((containerPath) => {
    const hostPath = join(directory, basename(containerPath));
    writeFileSync(hostPath, "127.0.0.1\tlocalhost\n");
    return { hostPath, containerPath };
  });
  const mounts = [...volumes, ...files];
  const securityContext = {
    namespaceOptions: { pid: NamespaceMode.CONTAINER },
    ...hiddenPaths({}, []),
  };
  const value = new TextEncoder().encode("some value of a variable");
  const envs = Array.from({ length: VARIABLES }, (_, index) => ({ key: `V${index}`, value }));
  return { mounts, envs, securityContext };
}

const IN_BENCH = { namespace: "default" };

const OBJECT_LIST = {
  apiVersion: "v1",
  kind: "List",
  items: [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "rich", ...IN_BENCH },
      data: { "a.conf": "key = value\n", "b.conf": "key = other\n", level: "info" },
    },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "rich", ...IN_BENCH },
      stringData: { password: "not very secret", token: "neither" },
    },
  ],
};

function richManifest(): object {
  const pod = podManifest("rich") as { readonly spec: { readonly containers: readonly object[] } };
  const plain = Array.from({ length: VARIABLES - 4 }, (_, index) => ({
    name: `V${index}`,
    value: index === 0 ? "one" : `$(V${index - 1})`,
  }));
  const env = [
    ...plain,
    { name: "LEVEL", valueFrom: { configMapKeyRef: { name: "rich", key: "level" } } },
    { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "rich", key: "password" } } },
    { name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    { name: "LIMIT", valueFrom: { resourceFieldRef: { resource: "limits.memory" } } },
  ];
  const fieldRef = { fieldPath: "metadata.labels" };
  const sources: Readonly<Record<(typeof VOLUMES)[number], object>> = {
    config: { configMap: { name: "rich" } },
    secret: { secret: { secretName: "rich" } },
    podinfo: { downwardAPI: { items: [{ path: "labels", fieldRef }] } },
    all: {
      projected: { sources: [{ configMap: { name: "rich" } }, { secret: { name: "rich" } }] },
    },
    scratch: { emptyDir: {} },
  };
  const volumes = VOLUMES.map((name) => ({ name, ...sources[name] }));
  const volumeMounts = VOLUMES.map((name) => ({
    name,
    mountPath: `/mnt/${name}`,
    readOnly: name !== "scratch",
  }));
  const containers = pod.spec.containers.map((container) => ({ ...container, env, volumeMounts }));
  return { ...pod, spec: { ...pod.spec, containers, volumes } };
}
