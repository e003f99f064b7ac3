import { describe, expect, test } from "bun:test";
import type { PodStatus } from "../../../src/api/pod-status.ts";
import type { Pod } from "../../../src/api/pod.ts";
import { podList, v1Pod, type PodEntry } from "../../../src/server/pod-list.ts";
import { aContainer, aPod, UID } from "../../fakes/a-pod.ts";

const status: PodStatus = {
  observedGeneration: 1,
  phase: "Running",
  conditions: [{ type: "Ready", status: "True" }],
  initContainerStatuses: [],
  containerStatuses: [],
  qosClass: "BestEffort",
};

function entry(pod: Pod = aPod(), more: Partial<PodEntry> = {}): PodEntry {
  return {
    pod,
    status,
    source: "file",
    sourceRef: "/etc/agent/manifests/web.yaml#0",
    specHash: "0123456789abcdef",
    nodeName: "pi-1",
    ...more,
  };
}

const origin = {
  "kubernetes.io/config.source": "file",
  "kubernetes.io/config.hash": "0123456789abcdef",
  "agent/source-ref": "/etc/agent/manifests/web.yaml#0",
};

test("the smallest pod, in Kubernetes' form", () => {
  expect(podList([entry()])).toEqual({
    kind: "PodList",
    apiVersion: "v1",
    metadata: {},
    items: [
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "web", namespace: "default", uid: UID, annotations: origin },
        spec: {
          containers: [
            {
              name: "a",
              image: "local/busybox:1",
              imagePullPolicy: "IfNotPresent",
              resources: {},
            },
          ],
          restartPolicy: "Always",
          terminationGracePeriodSeconds: 30,
          nodeName: "pi-1",
        },
        status,
      },
    ],
  });
});

test("everything a pod can have", () => {
  const container = aContainer("a", {
    command: ["sh"],
    args: ["-c", "true"],
    workingDir: "/srv",
    env: [{ name: "A", value: "" }],
    ports: [{ containerPort: 80, hostPort: 8080, protocol: "TCP" }],
    resources: { limits: { memory: "64Mi" }, requests: { cpu: "10m" } },
    volumeMounts: [
      { name: "data", mountPath: "/data", readOnly: true },
      { name: "tmp", mountPath: "/tmp", readOnly: false },
    ],
  });
  const pod = aPod(
    {
      containers: [container],
      hostNetwork: true,
      hostname: "web-1",
      volumes: [
        { name: "data", hostPath: { path: "/srv/data", type: "" } },
        { name: "tmp", emptyDir: { medium: "" } },
        { name: "shm", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
      ],
    },
    { labels: { app: "web" }, annotations: { note: "x" } },
  );
  expect(v1Pod(entry(pod))).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web",
      namespace: "default",
      uid: UID,
      labels: { app: "web" },
      annotations: { note: "x", ...origin },
    },
    spec: {
      containers: [
        {
          name: "a",
          image: "local/busybox:1",
          imagePullPolicy: "IfNotPresent",
          command: ["sh"],
          args: ["-c", "true"],
          workingDir: "/srv",
          env: [{ name: "A", value: "" }],
          ports: [{ containerPort: 80, hostPort: 8080, protocol: "TCP" }],
          resources: { limits: { memory: "64Mi" }, requests: { cpu: "10m" } },
          volumeMounts: [
            { name: "data", mountPath: "/data", readOnly: true },
            { name: "tmp", mountPath: "/tmp" },
          ],
        },
      ],
      volumes: [
        { name: "data", hostPath: { path: "/srv/data", type: "" } },
        { name: "tmp", emptyDir: {} },
        { name: "shm", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
      ],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      hostNetwork: true,
      nodeName: "pi-1",
      hostname: "web-1",
    },
    status,
  });
});

describe("podList", () => {
  const names = (entries: PodEntry[]): unknown =>
    (podList(entries)["items"] as { metadata: { namespace: string; name: string } }[]).map(
      ({ metadata }) => `${metadata.namespace}/${metadata.name}`,
    );
  const named = (namespace: string, name: string): PodEntry => entry(aPod({}, { namespace, name }));

  test("is ordered by namespace, then name, in no language's order", () => {
    const entries = [named("b", "a"), named("a", "z"), named("a", "b2"), named("a", "b10")];
    expect(names(entries)).toEqual(["a/b10", "a/b2", "a/z", "b/a"]);
  });

  test("has one entry per name: the first", () => {
    const old = entry(aPod({}, { uid: "old" }));
    const next = entry(aPod({}, { uid: "new" }));
    expect(podList([old, next])["items"]).toEqual([v1Pod(old)]);
  });

  test("shows a waiting update on the pod that goes on", () => {
    const pendingUpdate = { specHash: "fedcba", reason: "ErrImagePull", message: "no such host" };
    expect(v1Pod(entry(aPod(), { pendingUpdate }))["status"]).toEqual({
      ...status,
      conditions: [
        { type: "Ready", status: "True" },
        {
          type: "agent/UpdatePending",
          status: "True",
          reason: "ErrImagePull",
          message: "spec fedcba: no such host",
        },
      ],
    });
  });

  test("shows since when a pod is being stopped", () => {
    expect(v1Pod(entry(aPod(), { deletedAt: 0 }))["metadata"]).toMatchObject({
      deletionTimestamp: "1970-01-01T00:00:00Z",
    });
  });

  test("the agent's annotations win over the author's", () => {
    const pod = aPod({}, { annotations: { "kubernetes.io/config.source": "forged" } });
    expect(v1Pod(entry(pod))["metadata"]).toMatchObject({ annotations: origin });
  });
});
