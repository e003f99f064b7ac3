// The pods of a simulated world as their author writes them.

import { createHash } from "node:crypto";
import { stringify } from "yaml";
import { decodeManifest } from "../../src/api/decode-manifest.ts";
import type { SimContainer, SimSpec } from "./sim-specs.ts";

export const NODE = "sim-1";

/** The pod as its author writes it; `revision` is a label, which starts nothing anew. */
export function writtenPod(spec: Omit<SimSpec, "uid">, revision: number): object {
  const { name, key, restartPolicy, grace, hostNetwork, volume, containers } = spec;
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
      ...(spec.dependsOn === undefined
        ? {}
        : {
            annotations: {
              "agent/depends-on": `default/${spec.dependsOn.name}:${spec.dependsOn.state}`,
            },
          }),
    },
    spec: {
      ...(init.length === 0 ? {} : { initContainers: init.map((one) => written(one, 1)) }),
      containers: apps.map(written),
      restartPolicy,
      terminationGracePeriodSeconds: grace,
      hostname: key,
      ...(hostNetwork ? { hostNetwork } : {}),
      ...(spec.activeDeadlineSeconds === undefined
        ? {}
        : { activeDeadlineSeconds: spec.activeDeadlineSeconds }),
      ...(volume === "none"
        ? {}
        : { volumes: [{ name: "v", emptyDir: volume === "memory" ? { medium: "Memory" } : {} }] }),
    },
  };
}

function writtenContainer(
  spec: Omit<SimSpec, "uid">,
  { name, role, image, restartPolicy, probes, hooks, rules }: SimContainer,
  index: number,
): object {
  const { hostPort, volume } = spec;
  const policy = role === "sidecar" ? "Always" : restartPolicy;
  const lifecycle = Object.fromEntries(
    Object.entries(hooks).map(([type, hook]) => [type, hook.written]),
  );
  const ports = hostPort === undefined || index > 0 ? [] : [{ containerPort: hostPort, hostPort }];
  return {
    name,
    image,
    ...(policy === undefined ? {} : { restartPolicy: policy }),
    ...(ports.length === 0 ? {} : { ports }),
    ...(volume === "none" ? {} : { volumeMounts: [{ name: "v", mountPath: "/v" }] }),
    ...Object.fromEntries(probes.map(({ type, written }) => [`${type}Probe`, written])),
    ...(Object.keys(lifecycle).length === 0 ? {} : { lifecycle }),
    ...(rules.length === 0 ? {} : { restartPolicyRules: [restartOn(rules)] }),
  };
}

function restartOn(values: readonly number[]): object {
  return { action: "Restart", exitCodes: { operator: "In", values } };
}

export function manifestText(spec: Omit<SimSpec, "uid">, revision: number): string {
  return stringify(writtenPod(spec, revision));
}

export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

export function uidOfWritten(spec: Omit<SimSpec, "uid">): string {
  const context = { source: "file", ref: "/web.yaml", nodeName: NODE, sha256 } as const;
  const { pods, errors } = decodeManifest(manifestText(spec, 0), context);
  const [pod] = pods;
  if (pod === undefined) throw new Error(`${spec.key} is no pod: ${JSON.stringify(errors)}`);
  return pod.desired.uid;
}
