import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import {
  NamespaceMode,
  PodSandboxConfigSchema,
  PodSandboxSchema,
  Protocol,
  SecurityProfile_ProfileType,
} from "../../../../src/cri/gen/runtime/v1/api_pb.ts";
import { ANNOTATION, identityLabels, identityOf } from "../../../../src/api/pod/labels.ts";
import { listedSandbox } from "../../../../src/runtime/observe/observe.ts";
import { sandboxConfig } from "../../../../src/runtime/cri-config/sandbox-config.ts";
import { aContainer, aDesiredPod, aPod, UID } from "../../../fakes/a-pod.ts";
import { ALL_FEATURES, sandboxFacts } from "../../../fakes/config-facts.ts";
import { refusalOf } from "../../../fakes/refusal.ts";

const facts = sandboxFacts({
  attempt: 2,
  dns: { servers: ["192.0.2.1"], searches: ["example"], options: ["ndots:2"] },
  cgroupParent: "/kubepods/besteffort/pod1",
});

test("the whole sandbox of a pod", () => {
  const pod = aPod({}, { labels: { app: "web" }, annotations: { note: "x" } });
  expect(sandboxConfig(aDesiredPod(pod, { source: "mqtt:node" }), facts)).toEqual({
    metadata: { name: "web", namespace: "default", uid: UID, attempt: 2 },
    hostname: "web",
    logDirectory: `/var/log/pods/default_web_${UID}`,
    dnsConfig: { servers: ["192.0.2.1"], searches: ["example"], options: ["ndots:2"] },
    portMappings: [],
    labels: {
      app: "web",
      "io.kubernetes.pod.name": "web",
      "io.kubernetes.pod.namespace": "default",
      "io.kubernetes.pod.uid": UID,
      "agent/managed": "true",
      "agent/instance": "default",
    },
    annotations: {
      note: "x",
      "agent/source": "mqtt:node",
      "io.kubernetes.pod.terminationGracePeriod": "30",
      "kubernetes.io/config.hash": "0123456789abcdef",
      "agent/source-ref": "/etc/agent/manifests/web.yaml#0",
    },
    linux: {
      cgroupParent: "/kubepods/besteffort/pod1",
      securityContext: {
        namespaceOptions: {
          network: NamespaceMode.POD,
          pid: NamespaceMode.CONTAINER,
          ipc: NamespaceMode.POD,
        },
        supplementalGroups: [],
        privileged: false,
        seccomp: { profileType: SecurityProfile_ProfileType.Unconfined },
      },
      sysctls: {},
      resources: { cpuShares: 2n, memoryLimitInBytes: 0n, cpuPeriod: 100_000n, cpuQuota: 0n },
      overhead: {},
    },
  });
});

describe("sandboxConfig", () => {
  const of = (spec: Partial<PodSpec>): ReturnType<typeof sandboxConfig> =>
    sandboxConfig(aDesiredPod(aPod(spec)), facts);

  test("is a message the runtime takes", () => {
    expect(create(PodSandboxConfigSchema, of({})).metadata?.name).toBe("web");
  });

  const hostnames: Record<string, [Partial<PodSpec>, string]> = {
    "the pod's own host name": [{ hostname: "front" }, "front"],
    "no more than 63 characters, and no dash or dot at the end": [
      { hostname: `${"a".repeat(61)}-.b` },
      "a".repeat(61),
    ],
    "none on the host's network": [{ hostname: "front", hostNetwork: true }, ""],
  };
  test.each(Object.entries(hostnames))("%s", (_, [spec, expected]) => {
    expect(of(spec).hostname).toBe(expected);
  });

  const containers = [
    aContainer("a", {
      ports: [
        { containerPort: 80, hostPort: 8080, protocol: "TCP" },
        { containerPort: 81, protocol: "TCP" },
      ],
    }),
    aContainer("b", {
      ports: [
        { containerPort: 53, hostPort: 53, hostIP: "127.0.0.1", protocol: "UDP" },
        { containerPort: 9, hostPort: 9, protocol: "SCTP" },
      ],
    }),
  ];

  test("maps the ports that have a host port", () => {
    expect(of({ containers }).portMappings).toEqual([
      { protocol: Protocol.TCP, containerPort: 80, hostPort: 8080, hostIp: "" },
      { protocol: Protocol.UDP, containerPort: 53, hostPort: 53, hostIp: "127.0.0.1" },
      { protocol: Protocol.SCTP, containerPort: 9, hostPort: 9, hostIp: "" },
    ]);
  });

  test("maps the ports of sidecars too, but not of init containers that end", () => {
    const ports = [{ containerPort: 80, hostPort: 8081, protocol: "TCP" }] as const;
    const initContainers = [
      aContainer("setup", { ports: [{ containerPort: 1, hostPort: 1, protocol: "TCP" }] }),
      aContainer("proxy", { ports, restartPolicy: "Always" }),
    ];
    expect(of({ initContainers }).portMappings).toEqual([
      { protocol: Protocol.TCP, containerPort: 80, hostPort: 8081, hostIp: "" },
    ]);
  });

  test("records the boot and since when the pod has been active in it", () => {
    const { annotations } = sandboxConfig(aDesiredPod(), {
      ...facts,
      bootId: "b-1",
      activeSince: 12_345.678,
      startTime: "2026-11-21T08:00:08Z",
    });
    expect(annotations).toMatchObject({
      "agent/boot-id": "b-1",
      "agent/active-since": "12345.678",
      "agent/start-time": "2026-11-21T08:00:08Z",
    });
    const message = create(PodSandboxSchema, {
      labels: identityLabels(aPod(), "default"),
      annotations: { ...annotations },
    });
    const listed = listedSandbox(message, "default");
    expect(listed).toMatchObject({
      bootId: "b-1",
      activeSince: 12_345.678,
      startTime: "2026-11-21T08:00:08Z",
    });
  });

  test("on the host's network maps nothing and joins the node's namespace", () => {
    const config = of({ containers, hostNetwork: true });
    expect(config.portMappings).toEqual([]);
    expect(config.linux?.securityContext?.namespaceOptions?.network).toBe(NamespaceMode.NODE);
  });

  test("its kernel settings go into it, under the names with dots", () => {
    const sysctls = [
      { name: "net.core.somaxconn", value: "1024" },
      { name: "net/ipv4/conf/eth0.1/forwarding", value: "1" },
    ];
    const { linux } = of({ securityContext: { supplementalGroups: [], sysctls } });
    expect(linux?.sysctls).toEqual({
      "net.core.somaxconn": "1024",
      "net.ipv4.conf.eth0/1.forwarding": "1",
    });
  });

  test("users of its own are written on it, and read back; an author cannot claim some", () => {
    const annotations = { "agent/user-namespace": "65536:65536" };
    const pod = aPod({ hostUsers: false }, { annotations });
    const config = sandboxConfig(aDesiredPod(pod), {
      ...facts,
      features: ALL_FEATURES,
      userNamespace: { hostId: 131_072, length: 65_536 },
    });
    expect(config.annotations?.["agent/user-namespace"]).toBe("131072:65536");
    const mapping = { hostId: 131_072, containerId: 0, length: 65_536 };
    expect(config.linux?.securityContext?.namespaceOptions?.usernsOptions).toEqual({
      mode: NamespaceMode.POD,
      uids: [mapping],
      gids: [mapping],
    });
    const labels = identityLabels(pod, "default");
    const message = create(PodSandboxSchema, { labels, annotations: { ...config.annotations } });
    const range = { hostId: 131_072, length: 65_536 };
    expect(listedSandbox(message, "default")?.userNamespace).toEqual(range);
    const other = sandboxConfig(aDesiredPod(aPod({}, { annotations })), facts);
    expect(other.annotations).not.toHaveProperty("agent/user-namespace");
  });

  test("is refused where the runtime would give it the node's users", () => {
    expect(refusalOf(() => of({ hostUsers: false }))).toEqual({
      reason: "UnsupportedByRuntime",
      message:
        "hostUsers: false needs a runtime with user namespaces (containerd 2.0, runc 1.2 and Linux 6.3, or newer); update it, or remove hostUsers",
    });
    const facts = sandboxFacts({ features: ALL_FEATURES, runtimeHandler: "kata" });
    const pod = aDesiredPod(aPod({ hostUsers: false }));
    expect(() => sandboxConfig(pod, facts)).toThrow("user namespaces");
  });

  test("an author chooses nothing that is read back, also where it is unknown", () => {
    const annotations = Object.fromEntries(Object.values(ANNOTATION).map((key) => [key, "forged"]));
    const pod = aPod(
      {},
      { annotations: { ...annotations, "agent/start-time": "2001-01-01T00:00:00Z" } },
    );
    const config = sandboxConfig(aDesiredPod(pod), facts);
    const written = Object.values(config.annotations ?? {});
    expect(written).not.toContain("forged");
    expect(config.annotations).not.toHaveProperty("agent/start-time");
  });

  test("a pod cannot pretend to be another's or to come from another source", () => {
    const pod = aPod(
      {},
      { labels: { "agent/instance": "x" }, annotations: { "agent/source": "http" } },
    );
    const config = sandboxConfig(aDesiredPod(pod), facts);
    expect(config.labels?.["agent/instance"]).toBe("default");
    expect(config.annotations?.["agent/source"]).toBe("file");
  });

  test("its labels are those by which the reader knows ours", () => {
    const identity = { uid: UID, namespace: "default", name: "web" };
    expect(identityOf(identityLabels(aPod(), "default"), "default")).toEqual(identity);
    expect(identityOf(identityLabels(aPod(), "default"), "other")).toBeUndefined();
  });
});
