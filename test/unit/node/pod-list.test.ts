import { describe, expect, test } from "bun:test";
import type { ContainerStatus, PodStatus } from "../../../src/api/v1/pod-status.ts";
import type { Probe } from "../../../src/api/v1/probe.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import { podList, v1Pod, type PodEntry } from "../../../src/node/pod-list.ts";
import { aContainer, aPod, UID } from "../../fakes/a-pod.ts";
import type { Container } from "../../../src/api/v1/container.ts";

const status: PodStatus = {
  observedGeneration: 1,
  phase: "Running",
  conditions: [{ type: "Ready", status: "True" }],
  initContainerStatuses: [],
  containerStatuses: [],
  qosClass: "BestEffort",
};

/** What the API leaves out where it is empty. */
const shown = {
  observedGeneration: 1,
  phase: "Running",
  conditions: status.conditions,
  containerStatuses: [],
  qosClass: "BestEffort",
};

const message = {
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
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

/** What each pod has without asking for it. */
const defaults = {
  schedulerName: "default-scheduler",
  enableServiceLinks: true,
  tolerations: [{ operator: "Exists", effect: "NoExecute" }],
};

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
              ...message,
            },
          ],
          restartPolicy: "Always",
          terminationGracePeriodSeconds: 30,
          dnsPolicy: "ClusterFirst",
          ...defaults,
          securityContext: {},
          nodeName: "pi-1",
        },
        status: shown,
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
          ...message,
        },
      ],
      volumes: [
        { name: "data", hostPath: { path: "/srv/data" } },
        { name: "tmp", emptyDir: {} },
        { name: "shm", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
      ],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      ...defaults,
      securityContext: {},
      hostNetwork: true,
      nodeName: "pi-1",
      hostname: "web-1",
    },
    status: shown,
  });
});

test("a pod was created when this node took it up", () => {
  const startTime = "2026-11-21T08:00:08Z";
  const shownPod = v1Pod(entry(aPod(), { status: { ...status, startTime } }));
  expect(shownPod["metadata"]).toMatchObject({ creationTimestamp: startTime });
});

test("no pod is evicted for a taint, whatever else it tolerates", () => {
  const other = { key: "disk", operator: "Equal", value: "slow", effect: "NoExecute" } as const;
  const short = { key: "", operator: "Exists", value: "", effect: "NoExecute" } as const;
  const tolerations = [{ ...short, tolerationSeconds: 5 }, other];
  expect(v1Pod(entry(aPod({ tolerations })))["spec"]).toMatchObject({
    tolerations: [other, ...defaults.tolerations],
  });
});

test("what was written instead of a default is shown", () => {
  const written = { schedulerName: "other", enableServiceLinks: false };
  expect(v1Pod(entry(aPod(written)))["spec"]).toMatchObject(written);
});

describe("a container in Kubernetes' form", () => {
  const shownAs = (container: Container): unknown => {
    const spec = v1Pod(entry(aPod({ containers: [container] })))["spec"];
    return (spec as { readonly containers: readonly unknown[] }).containers[0];
  };
  const timing = {
    periodSeconds: 10,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 3,
  };
  const probe = (handler: Probe["handler"], more: Partial<Probe> = {}): Probe => ({
    handler,
    initialDelaySeconds: 0,
    ...timing,
    ...more,
  });

  const probes: Record<string, readonly [Probe, Record<string, unknown>]> = {
    "an exec probe": [
      probe({ type: "exec", command: ["cat", "/tmp/ok"] }),
      { exec: { command: ["cat", "/tmp/ok"] }, ...timing },
    ],
    "the shortest httpGet probe": [
      probe({ type: "httpGet", path: "/", port: 80, scheme: "HTTP", httpHeaders: [] }),
      { httpGet: { path: "/", port: 80, scheme: "HTTP" }, ...timing },
    ],
    "the longest httpGet probe": [
      probe(
        {
          type: "httpGet",
          path: "/healthz",
          port: "web",
          host: "example.org",
          scheme: "HTTPS",
          httpHeaders: [{ name: "X-A", value: "1" }],
        },
        { initialDelaySeconds: 5, terminationGracePeriodSeconds: 7 },
      ),
      {
        httpGet: {
          path: "/healthz",
          port: "web",
          host: "example.org",
          scheme: "HTTPS",
          httpHeaders: [{ name: "X-A", value: "1" }],
        },
        ...timing,
        initialDelaySeconds: 5,
        terminationGracePeriodSeconds: 7,
      },
    ],
    "a tcpSocket probe": [
      probe({ type: "tcpSocket", port: 8080, host: "127.0.0.1" }),
      { tcpSocket: { port: 8080, host: "127.0.0.1" }, ...timing },
    ],
    "a grpc probe": [
      probe({ type: "grpc", port: 2379, service: "" }),
      { grpc: { port: 2379, service: "" }, ...timing },
    ],
  };
  test.each(Object.entries(probes))("%s, as each of the three", (_, [written, expected]) => {
    const container = aContainer("a", {
      livenessProbe: written,
      readinessProbe: written,
      startupProbe: written,
    });
    expect(shownAs(container)).toMatchObject({
      livenessProbe: expected,
      readinessProbe: expected,
      startupProbe: expected,
    });
    expect(JSON.stringify(shownAs(container))).not.toContain("handler");
  });

  test("hooks, stop signal, restart rules and the termination message", () => {
    const container = aContainer("a", {
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
      lifecycle: {
        postStart: { type: "exec", command: ["true"] },
        preStop: { type: "sleep", seconds: 5 },
        stopSignal: "SIGUSR1",
      },
      terminationMessagePath: "/tmp/message",
      terminationMessagePolicy: "FallbackToLogsOnError",
    });
    expect(shownAs(container)).toEqual({
      name: "a",
      image: "local/busybox:1",
      imagePullPolicy: "IfNotPresent",
      resources: {},
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
      lifecycle: {
        postStart: { exec: { command: ["true"] } },
        preStop: { sleep: { seconds: 5 } },
        stopSignal: "SIGUSR1",
      },
      terminationMessagePath: "/tmp/message",
      terminationMessagePolicy: "FallbackToLogsOnError",
    });
  });
});

test("init containers, the deadline and what they do", () => {
  const initContainers = [aContainer("i"), aContainer("s", { restartPolicy: "Always" })];
  const init: ContainerStatus = {
    name: "i",
    state: { running: { startedAt: "" } },
    lastState: {},
    ready: false,
    started: true,
    restartCount: 0,
    image: "",
    imageID: "",
    containerID: "",
  };
  const pod = v1Pod(
    entry(aPod({ initContainers, activeDeadlineSeconds: 60 }), {
      status: { ...status, initContainerStatuses: [init] },
    }),
  );
  expect(pod["spec"]).toMatchObject({
    initContainers: [
      { name: "i", image: "local/busybox:1", ...message },
      { name: "s", restartPolicy: "Always" },
    ],
    activeDeadlineSeconds: 60,
  });
  expect(pod["status"]).toMatchObject({ initContainerStatuses: [init] });
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

  test("shows a waiting update on the pod that goes on", () => {
    const pendingUpdate = { specHash: "fedcba", reason: "ErrImagePull", message: "no such host" };
    expect(v1Pod(entry(aPod(), { pendingUpdate }))["status"]).toEqual({
      ...shown,
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
