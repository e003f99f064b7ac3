// Base values of tests: a case names only what differs.

import type { DesiredPod } from "../../src/api/pod/desired-pod.ts";
import type {
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
} from "../../src/api/pod/observed-pod.ts";
import type { PodSpec } from "../../src/api/v1/pod-spec.ts";
import { allContainers, type Pod } from "../../src/api/v1/pod.ts";
import type { Container } from "../../src/api/v1/container.ts";

export const UID = "6f0c3a52-0000-8000-8000-000000000001";

export function aContainer(name: string, more: Partial<Container> = {}): Container {
  return {
    name,
    image: "local/busybox:1",
    imagePullPolicy: "IfNotPresent",
    command: [],
    args: [],
    env: [],
    envFrom: [],
    ports: [],
    resources: { limits: {}, requests: {} },
    volumeMounts: [],
    restartPolicyRules: [],
    lifecycle: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    securityContext: {},
    stdin: false,
    stdinOnce: false,
    tty: false,
    ...more,
  };
}

export function aPod(spec: Partial<PodSpec> = {}, metadata: Partial<Pod["metadata"]> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web",
      namespace: "default",
      uid: UID,
      labels: {},
      annotations: {},
      ...metadata,
    },
    spec: {
      initContainers: [],
      containers: [aContainer("a")],
      volumes: [],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
      shareProcessNamespace: false,
      hostUsers: true,
      setHostnameAsFQDN: false,
      hostAliases: [],
      dnsPolicy: "ClusterFirst",
      imagePullSecrets: [],
      overhead: {},
      nodeSelector: {},
      tolerations: [],
      schedulerName: "default-scheduler",
      enableServiceLinks: true,
      resources: { limits: {}, requests: {} },
      securityContext: { supplementalGroups: [], sysctls: [] },
      ...spec,
    },
  };
}

export function aDesiredPod(pod: Pod = aPod(), more: Partial<DesiredPod> = {}): DesiredPod {
  return {
    uid: pod.metadata.uid,
    pod,
    source: "file",
    sourceRef: "/etc/agent/manifests/web.yaml#0",
    specHash: "0123456789abcdef",
    containerHashes: Object.fromEntries(allContainers(pod.spec).map(({ name }) => [name, "v1:00"])),
    ...more,
  };
}

export function aSandbox(more: Partial<ObservedSandbox> = {}): ObservedSandbox {
  const attempt = more.attempt ?? 0;
  return {
    id: `sandbox-${attempt}`,
    attempt,
    state: "Ready",
    createdAt: 1_000,
    ips: ["10.88.0.2"],
    hostNetwork: false,
    ...more,
  };
}

/** An instance of container `name`; its id is `<name>-<attempt>`. */
export function anInstance(name: string, more: Partial<ObservedContainer> = {}): ObservedContainer {
  const attempt = more.attempt ?? 0;
  return {
    id: `${name}-${attempt}`,
    name,
    attempt,
    sandboxId: "sandbox-0",
    state: "Running",
    hash: "v1:00",
    image: "local/busybox:1",
    imageID: "sha256:1",
    createdAt: 1_000,
    startedAt: 1_000,
    finishedAt: 0,
    exitCode: 0,
    reason: "",
    message: "",
    ...more,
  };
}

/** Sandboxes and containers are put in the order that the reader gives them. */
export function anObservedPod(
  sandboxes: readonly ObservedSandbox[],
  containers: readonly ObservedContainer[],
  more: Partial<ObservedPod> = {},
): ObservedPod {
  return {
    uid: UID,
    namespace: "default",
    name: "web",
    source: "file",
    sandboxes: sandboxes.toSorted((x, y) => y.attempt - x.attempt),
    containers: containers.toSorted(
      (x, y) => x.name.localeCompare(y.name) || y.attempt - x.attempt,
    ),
    observedAt: 1,
    ...more,
  };
}
