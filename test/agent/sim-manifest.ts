// The pods of a simulated world as their author writes them.

import { createHash } from "node:crypto";
import { stringify } from "yaml";
import { decodeManifest } from "../../src/api/decode/decode-manifest.ts";
import {
  spoiledObject,
  writtenObject,
  type ObjectName,
  type SimContent,
  type Spoiling,
} from "./sim-objects.ts";
import { writtenMounts, writtenReads, writtenVolume } from "./sim-reads.ts";
import type { SimContainer, SimSpec } from "./sim-specs.ts";

export const NODE = "sim-1";

/** The pod as its author writes it; `revision` is a label, which starts nothing anew. */
export function writtenPod(spec: Omit<SimSpec, "uid">, revision: number): object {
  const { name, key, restartPolicy, grace, hostNetwork, containers } = spec;
  const annotations = annotationsOf(spec);
  const volumes = volumesOf(spec);
  const init = containers.filter(({ role }) => role !== "app");
  const apps = containers.filter(({ role }) => role === "app");
  const written = (container: SimContainer, index: number): object =>
    writtenContainer(spec, container, index);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      labels: { revision: `r${revision}` },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec: {
      ...(init.length === 0 ? {} : { initContainers: init.map((one) => written(one, 1)) }),
      containers: apps.map(written),
      restartPolicy,
      terminationGracePeriodSeconds: grace,
      hostname: key,
      ...(hostNetwork ? { hostNetwork } : {}),
      ...(spec.critical === true ? { priorityClassName: "system-node-critical" } : {}),
      ...(spec.activeDeadlineSeconds === undefined
        ? {}
        : { activeDeadlineSeconds: spec.activeDeadlineSeconds }),
      ...(volumes.length === 0 ? {} : { volumes }),
    },
  };
}

function annotationsOf({ dependsOn, followsConfig }: Omit<SimSpec, "uid">): Record<string, string> {
  return {
    ...(dependsOn === undefined
      ? {}
      : { "agent/depends-on": `default/${dependsOn.name}:${dependsOn.state}` }),
    ...(followsConfig ? {} : { "agent/restart-on-config-change": "false" }),
  };
}

function volumesOf({ volume, volumes }: Omit<SimSpec, "uid">): readonly object[] {
  const own = { name: "v", emptyDir: volume === "memory" ? { medium: "Memory" } : {} };
  return [...(volume === "none" ? [] : [own]), ...volumes.map(writtenVolume)];
}

function writtenContainer(
  spec: Omit<SimSpec, "uid">,
  { name, role, image, restartPolicy, probes, hooks, rules, reads }: SimContainer,
  index: number,
): object {
  const { hostPort, volume, cpu } = spec;
  const policy = role === "sidecar" ? "Always" : restartPolicy;
  const lifecycle = Object.fromEntries(
    Object.entries(hooks).map(([type, hook]) => [type, hook.written]),
  );
  const ports = hostPort === undefined || index > 0 ? [] : [{ containerPort: hostPort, hostPort }];
  const own = volume === "none" ? [] : [{ name: "v", mountPath: "/v" }];
  const volumeMounts = [...own, ...writtenMounts(reads)];
  return {
    name,
    image,
    ...(policy === undefined ? {} : { restartPolicy: policy }),
    ...(ports.length === 0 ? {} : { ports }),
    ...(cpu === undefined || index > 0 || role !== "app"
      ? {}
      : { resources: { requests: { cpu: String(cpu) } } }),
    ...(volumeMounts.length === 0 ? {} : { volumeMounts }),
    ...writtenReads(reads),
    ...Object.fromEntries(probes.map(({ type, written }) => [`${type}Probe`, written])),
    ...(Object.keys(lifecycle).length === 0 ? {} : { lifecycle }),
    ...(rules.length === 0 ? {} : { restartPolicyRules: [restartOn(rules)] }),
  };
}

function restartOn(values: readonly number[]): object {
  return { action: "Restart", exitCodes: { operator: "In", values } };
}

export interface SimFile {
  readonly want: { readonly spec: Omit<SimSpec, "uid">; readonly revision: number } | undefined;
  readonly objects: ReadonlyMap<ObjectName, SimContent>;
}

/** "" = it says nothing. One of its objects may be written with a fault. */
export function manifestText(
  { want, objects }: SimFile,
  spoiled?: { readonly name: ObjectName; readonly how: Spoiling },
): string {
  const pods = want === undefined ? [] : [writtenPod(want.spec, want.revision)];
  const others = [...objects].map(([name, content]) =>
    name === spoiled?.name
      ? spoiledObject(name, content, spoiled.how)
      : writtenObject(name, content),
  );
  return [...pods, ...others].map((one) => stringify(one)).join("---\n");
}

export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

export function uidOfWritten(spec: Omit<SimSpec, "uid">): string {
  const context = { source: "file", ref: "/web.yaml", nodeName: NODE, sha256 } as const;
  const file = { want: { spec, revision: 0 }, objects: new Map() };
  const { pods, errors } = decodeManifest(manifestText(file), context);
  const [pod] = pods;
  if (pod === undefined) throw new Error(`${spec.key} is no pod: ${JSON.stringify(errors)}`);
  return pod.desired.uid;
}
