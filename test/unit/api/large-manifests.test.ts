// Files that are as large as real ones become, in every style that a tool writes: all that a node can run fits in one file.

import { describe, expect, test } from "bun:test";

import { stringify } from "yaml";

import type { DecodedObject } from "../../../src/api/decode/decode-context.ts";
import { MAX_DATA_BYTES } from "../../../src/api/v1/object/config-map.ts";
import type { PodStatus } from "../../../src/api/v1/pod-status.ts";
import { v1Pod } from "../../../src/node/pod-list.ts";
import { decodeText } from "./fixture-files.ts";

const MAX_PODS = 110;

const PODS = Array.from({ length: MAX_PODS }, (_, index) => aHelmPod(`web-${index}`));
const LIST = { apiVersion: "v1", kind: "List", metadata: {}, items: PODS };

/** As a chart of two containers renders one: some 300 keys and values. */
function aHelmPod(name: string): object {
  const app = "app.kubernetes.io";
  const labels = {
    [`${app}/name`]: "web",
    [`${app}/instance`]: name,
    "helm.sh/chart": "web-1.2.3",
  };
  const volumes = ["config", "data", "tmp"];
  const containers = ["main", "metrics"].map((container, index) => ({
    name: container,
    image: "registry.example.com/team/web:1.2.3",
    imagePullPolicy: "IfNotPresent",
    args: ["--config=/etc/web/config.yaml", "--log-level=info"],
    ports: [{ name: "http", containerPort: 8080 + index, protocol: "TCP" }],
    env: Array.from({ length: 12 }, (_, at) => ({ name: `NAME_${at}`, value: `value ${at}` })),
    livenessProbe: { httpGet: { path: "/healthz", port: "http" }, periodSeconds: 10 },
    readinessProbe: { httpGet: { path: "/ready", port: "http" }, timeoutSeconds: 5 },
    resources: { limits: { cpu: "500m", memory: "256Mi" }, requests: { cpu: "250m" } },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    volumeMounts: volumes.map((volume) => ({ name: volume, mountPath: `/mnt/${volume}` })),
  }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels, annotations: { "checksum/config": "0f6c1b0b9d4f3a0b" } },
    spec: {
      securityContext: { fsGroup: 1000, runAsNonRoot: true, runAsUser: 1000 },
      containers,
      volumes: volumes.map((volume) => ({ name: volume, emptyDir: {} })),
    },
  };
}

function documents(write: (pod: object) => string): string {
  return PODS.map((pod) => `---\n${write(pod)}\n`).join("");
}

function block(pod: object): string {
  return stringify(pod, { aliasDuplicateObjects: false });
}

/** Flow style with a comma after every member, as `kubectl -o kyaml` writes it. */
function kyaml(value: unknown, indent = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const deeper = `${indent}  `;
  if (Array.isArray(value))
    return `[${value.map((item: unknown) => kyaml(item, indent)).join(", ")}]`;
  const members = Object.entries(value).map(
    ([key, member]) => `${deeper}${JSON.stringify(key)}: ${kyaml(member, deeper)},\n`,
  );
  return `{\n${members.join("")}${indent}}`;
}

function decode(text: string): DecodedObject {
  return decodeText({ file: "x.yaml", text });
}

describe(`${MAX_PODS} pods in one file`, () => {
  const styles: Readonly<Record<string, () => string>> = {
    "as YAML": () => documents(block),
    "as YAML with one key in quotes": () =>
      documents((pod) => block(pod).replace("apiVersion", '"apiVersion"')),
    "as YAML with line ends of Windows": () => documents(block).replaceAll("\n", "\r\n"),
    "as a List": () => block(LIST),
    "in flow style": () =>
      documents((pod) => stringify(pod, { aliasDuplicateObjects: false, collectionStyle: "flow" })),
    "as kubectl -o kyaml writes it": () => documents((pod) => kyaml(pod)),
    "as JSON": () => JSON.stringify(LIST),
    "as JSON with indentation": () => JSON.stringify(LIST, undefined, 4),
  };
  test.each(Object.entries(styles))("%s", (_style, text) => {
    const { pods, errors } = decode(text());
    expect(errors).toEqual([]);
    expect(pods).toHaveLength(MAX_PODS);
  });
});

test("what the agent prints of 40 pods, with their whole status, is a manifest", () => {
  const at = "2026-11-21T08:00:00Z";
  const id = `containerd://${"a".repeat(64)}`;
  const ended = { exitCode: 1, reason: "Error", startedAt: at, finishedAt: at, containerID: id };
  const containerStatuses = ["main", "metrics"].map((name) => ({
    name,
    image: "registry.example.com/team/web:1.2.3",
    imageID: `registry.example.com/team/web@sha256:${"b".repeat(64)}`,
    containerID: id,
    ready: true,
    started: true,
    restartCount: 1,
    state: { running: { startedAt: at } },
    lastState: { terminated: ended },
  }));
  const conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"] as const;
  const status: PodStatus = {
    observedGeneration: 1,
    phase: "Running",
    conditions: conditions.map((type) => ({ type, status: "True", lastTransitionTime: at })),
    initContainerStatuses: [],
    containerStatuses,
    qosClass: "Burstable",
  };
  const origin = { source: "file", sourceRef: "a#0", specHash: "0", nodeName: "pi-1" } as const;
  const items = decode(documents(block))
    .pods.slice(0, 40)
    .map(({ desired: { pod } }) => v1Pod({ pod, status, ...origin }));
  const text = JSON.stringify({ apiVersion: "v1", kind: "List", items }, undefined, 2);
  const { pods, errors } = decode(text);
  expect(errors).toEqual([]);
  expect(pods).toHaveLength(40);
});

describe("1 MiB of data, the limit of Kubernetes", () => {
  const line =
    '  "title": "usage of the processors of the node in percent", "type": "timeseries",\n';
  const whole = line.repeat(Math.ceil(MAX_DATA_BYTES / line.length)).slice(0, MAX_DATA_BYTES);
  const object = (kind: string, content: object) => ({
    apiVersion: "v1",
    kind,
    metadata: { name: "large" },
    ...content,
  });
  const half = Buffer.from(whole)
    .subarray(MAX_DATA_BYTES / 2)
    .toString("base64");
  const folded = `|\n${half.replaceAll(/.{1,76}/g, "    $&\n")}`;
  const texts: Readonly<Record<string, () => string>> = {
    "as block text": () => block(object("ConfigMap", { data: { dashboard: whole } })),
    "as JSON": () => JSON.stringify(object("ConfigMap", { data: { dashboard: whole } })),
    "in short lines": () =>
      block(object("ConfigMap", { data: { rows: "ab\n".repeat(MAX_DATA_BYTES / 3) } })),
    "half of it in base64": () =>
      block(
        object("ConfigMap", {
          data: { dashboard: whole.slice(MAX_DATA_BYTES / 2) },
          binaryData: { archive: half },
        }),
      ),
    "as a Secret": () => block(object("Secret", { stringData: { dashboard: whole } })),
    "as a Secret in lines of base64": () =>
      `apiVersion: v1\nkind: Secret\nmetadata: {name: large}\ndata:\n  a: ${folded}  b: ${folded}`,
  };
  test.each(Object.entries(texts))("%s is accepted", (_what, text) => {
    const { objects, errors } = decode(text());
    expect(errors).toEqual([]);
    expect(objects).toHaveLength(1);
  });

  test("and one byte more is refused, with the key that is the largest", () => {
    const data = { small: "x", dashboard: whole };
    const { errors } = decode(block(object("ConfigMap", { data })));
    expect(errors).toMatchObject([
      {
        line: 7,
        path: "data[dashboard]",
        message:
          'Too long: data of 1,048,577 bytes, at most 1,048,576; the largest is data["dashboard"] with 1,048,576',
      },
    ]);
  });
});
