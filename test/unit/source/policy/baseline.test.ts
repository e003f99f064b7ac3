import { describe, expect, test } from "bun:test";
import type { Probe } from "../../../../src/api/v1/probe.ts";
import type { Pod } from "../../../../src/api/v1/pod.ts";
import type {
  PodSecurityContext,
  SecurityContext,
} from "../../../../src/api/v1/security-context.ts";
import { forbiddenByPolicy } from "../../../../src/source/policy/pod-policy.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import { POD_RULES } from "../desired-arrival.ts";
import type { Container } from "../../../../src/api/v1/container.ts";
import { type LifecycleHandler } from "../../../../src/api/v1/lifecycle.ts";

const WAY_OUT =
  "put the pod into a manifest file on the node if it needs it, or allow it there in mqtt.podPolicy";

function withContext(securityContext: SecurityContext): Pod {
  return aPod({ containers: [aContainer("a", { securityContext })] });
}
function withPodContext(more: Partial<PodSecurityContext>): Pod {
  return aPod({ securityContext: { supplementalGroups: [], sysctls: [], ...more } });
}
function withContainer(more: Partial<Container>): Pod {
  return aPod({ containers: [aContainer("a", more)] });
}
function probing(handler: Probe["handler"]): Probe {
  const timing = { initialDelaySeconds: 0, periodSeconds: 10, timeoutSeconds: 1 };
  return { handler, ...timing, successThreshold: 1, failureThreshold: 3 };
}
const GET = { type: "httpGet", path: "/", port: 80, scheme: "HTTP", httpHeaders: [] } as const;
const elsewhere: LifecycleHandler = { ...GET, host: "10.0.0.1" };

const forbidden: Readonly<Record<string, readonly [pod: Pod, ...said: readonly string[]]>> = {
  "the node's network": [
    aPod({ hostNetwork: true }),
    `spec.hostNetwork: the node's network is not for pods of documents; use ports with hostPort, or ${WAY_OUT}`,
  ],
  "the node's processes": [
    aPod({ hostPID: true }),
    `spec.hostPID: the node's processes are not for pods of documents; ${WAY_OUT}`,
  ],
  "the node's shared memory": [
    aPod({ hostIPC: true }),
    `spec.hostIPC: the node's shared memory is not for pods of documents; ${WAY_OUT}`,
  ],
  "a class of the system": [
    aPod({ priorityClassName: "system-node-critical" }),
    `spec.priorityClassName: pods of documents must not outlive the node's own pods when memory runs out; use a class of the node's priorityClasses, or ${WAY_OUT}`,
  ],
  "a number as high": [
    aPod({ priority: 2_000_000_000 }),
    `spec.priority: pods of documents must not outlive the node's own pods when memory runs out; use a class of the node's priorityClasses, or ${WAY_OUT}`,
  ],
  "the node's files": [
    aPod({ volumes: [{ name: "v", hostPath: { path: "/srv", type: "" } }] }),
    `spec.volumes[0].hostPath: volume "v": the node's files ("/srv") are not for pods of documents; use emptyDir, or ${WAY_OUT}`,
  ],
  "the node's devices by annotation": [
    aPod({}, { annotations: { "agent/devices": "/dev/ttyUSB0" } }),
    `metadata.annotations[agent/devices]: the node's devices are not for pods of documents; ${WAY_OUT}`,
  ],
  "the node's devices by limit, and by request alone": [
    withContainer({
      resources: {
        limits: { "podman.io/device=/dev/x": "1" },
        requests: { "podman.io/device=/dev/x": "1", "vendor.com/gpu=0": "1" },
      },
    }),
    `spec.containers[0].resources.limits[podman.io/device=/dev/x]: the node's devices are not for pods of documents; ${WAY_OUT}`,
    `spec.containers[0].resources.requests[vendor.com/gpu=0]: the node's devices are not for pods of documents; ${WAY_OUT}`,
  ],
  "a privileged container": [
    withContext({ privileged: true }),
    `spec.containers[0].securityContext.privileged: pods of documents must not be privileged; ${WAY_OUT}`,
  ],
  "a privileged init container": [
    aPod({ initContainers: [aContainer("i", { securityContext: { privileged: true } })] }),
    `spec.initContainers[0].securityContext.privileged: pods of documents must not be privileged; ${WAY_OUT}`,
  ],
  "capabilities that containers do not have anyway": [
    withContext({
      capabilities: { add: ["CHOWN", "NET_ADMIN", "CAP_SYS_TIME", "ALL", "sys_admin"], drop: [] },
    }),
    `spec.containers[0].securityContext.capabilities.add[1]: capability "NET_ADMIN" is not for pods of documents; ${WAY_OUT}`,
    `spec.containers[0].securityContext.capabilities.add[2]: capability "CAP_SYS_TIME" is not for pods of documents; ${WAY_OUT}`,
    `spec.containers[0].securityContext.capabilities.add[3]: capability "ALL" is not for pods of documents; ${WAY_OUT}`,
    `spec.containers[0].securityContext.capabilities.add[4]: capability "sys_admin" is not for pods of documents; ${WAY_OUT}`,
  ],
  "all of /proc": [
    withContext({ procMount: "Unmasked" }),
    `spec.containers[0].securityContext.procMount: pods of documents must not see all of /proc; leave it out, or ${WAY_OUT}`,
  ],
  "no seccomp profile": [
    withContext({ seccompProfile: { type: "Unconfined" } }),
    `spec.containers[0].securityContext.seccompProfile.type: pods of documents must not run without a seccomp profile; write RuntimeDefault or leave it out, or ${WAY_OUT}`,
  ],
  "no AppArmor profile for the whole pod": [
    withPodContext({ appArmorProfile: { type: "Unconfined" } }),
    `spec.securityContext.appArmorProfile.type: pods of documents must not run without an AppArmor profile; write RuntimeDefault or leave it out, or ${WAY_OUT}`,
  ],
  "no AppArmor profile by annotation": [
    aPod({}, { annotations: { "container.apparmor.security.beta.kubernetes.io/a": "unconfined" } }),
    `metadata.annotations[container.apparmor.security.beta.kubernetes.io/a]: pods of documents must not run without an AppArmor profile ("unconfined"); leave it out, or ${WAY_OUT}`,
  ],
  "an SELinux type beyond those of containers, a user and a role": [
    withPodContext({ seLinuxOptions: { type: "spc_t", user: "u", role: "r" } }),
    `spec.securityContext.seLinuxOptions.type: the SELinux type "spc_t" is not for pods of documents; leave it out, or ${WAY_OUT}`,
    `spec.securityContext.seLinuxOptions.user: the SELinux user "u" is not for pods of documents; leave it out, or ${WAY_OUT}`,
    `spec.securityContext.seLinuxOptions.role: the SELinux role "r" is not for pods of documents; leave it out, or ${WAY_OUT}`,
  ],
  "a sysctl beyond the safe set, be it allowed on the node": [
    withPodContext({ sysctls: [{ name: "net.core.somaxconn", value: "1024" }] }),
    `spec.securityContext.sysctls[0].name: sysctl "net.core.somaxconn" is not in the safe set; pods of documents may set only those; ${WAY_OUT}`,
  ],
  "probes and hooks that knock elsewhere": [
    withContainer({
      livenessProbe: probing({ ...GET, host: "127.0.0.1" }),
      readinessProbe: probing({ type: "tcpSocket", port: 22, host: "localhost" }),
      startupProbe: probing({ type: "tcpSocket", port: 22 }),
      lifecycle: { postStart: elsewhere, preStop: elsewhere },
    }),
    `spec.containers[0].livenessProbe.httpGet.host: the node must not connect to "127.0.0.1" for pods of documents; leave it out to use the pod's own address, or ${WAY_OUT}`,
    `spec.containers[0].readinessProbe.tcpSocket.host: the node must not connect to "localhost" for pods of documents; leave it out to use the pod's own address, or ${WAY_OUT}`,
    `spec.containers[0].lifecycle.postStart.httpGet.host: the node must not connect to "10.0.0.1" for pods of documents; leave it out to use the pod's own address, or ${WAY_OUT}`,
    `spec.containers[0].lifecycle.preStop.httpGet.host: the node must not connect to "10.0.0.1" for pods of documents; leave it out to use the pod's own address, or ${WAY_OUT}`,
  ],
};

const allowed: Readonly<Record<string, Pod>> = {
  "a plain pod": aPod(),
  "a host port": withContainer({
    ports: [{ containerPort: 80, hostPort: 80, protocol: "TCP" }],
  }),
  "what containers have anyway, with and without CAP_": withContext({
    capabilities: { add: ["CAP_NET_BIND_SERVICE", "SYS_CHROOT", "cap_chown"], drop: ["ALL"] },
  }),
  "profiles that confine": withContext({
    seccompProfile: { type: "RuntimeDefault" },
    appArmorProfile: { type: "Localhost", localhostProfile: "x" },
    seLinuxOptions: { type: "container_t", level: "s0:c1" },
    procMount: "Default",
    privileged: false,
  }),
  "safe sysctls": withPodContext({ sysctls: [{ name: "net.ipv4.tcp_rmem", value: "1 2 3" }] }),
  "a user namespace, root and escalation": aPod({
    hostUsers: false,
    containers: [
      aContainer("a", { securityContext: { runAsUser: 0, allowPrivilegeEscalation: true } }),
    ],
  }),
  "a probe of the pod itself": withContainer({ livenessProbe: probing({ ...GET, host: "" }) }),
  "volumes of its own": aPod({
    volumes: [
      { name: "e", emptyDir: { medium: "Memory" } },
      { name: "c", persistentVolumeClaim: { claimName: "data", readOnly: false } },
    ],
  }),
  "an annotation without a device": aPod({}, { annotations: { "agent/devices": " " } }),
};

describe("a pod of a document under the profile baseline", () => {
  test.each(Object.entries(forbidden))("may not have %s", (_sentence, [pod, ...said]) => {
    const errors = forbiddenByPolicy(pod, POD_RULES, false);
    expect(errors.map(({ path, message }) => `${path}: ${message}`)).toEqual([...said]);
    expect(errors.every(({ code }) => code === "Forbidden")).toBe(true);
  });

  test.each(Object.entries(allowed))("may have %s", (_sentence, pod) => {
    expect(forbiddenByPolicy(pod, POD_RULES, false)).toEqual([]);
  });
});
