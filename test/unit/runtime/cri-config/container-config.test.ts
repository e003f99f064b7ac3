import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import {
  ContainerConfigSchema,
  MountPropagation,
  NamespaceMode,
  SecurityProfile_ProfileType,
  Signal,
  type Mount,
} from "../../../../src/cri/gen/runtime/v1/api_pb.ts";
import {
  containerConfig,
  type ContainerConfigFacts,
} from "../../../../src/runtime/cri-config/container-config.ts";
import { aContainer, aDesiredPod, aPod, UID } from "../../../fakes/a-pod.ts";
import { ALL_FEATURES, containerFacts } from "../../../fakes/config-facts.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

const facts = containerFacts({
  attempt: 3,
  volumes: new Map([
    ["data", "/srv/data"],
    ["tmp", "/state/tmp"],
  ]),
  terminationLog: "/state/pods/u/containers/a/3",
});

function configOf(
  more: Partial<Container>,
  given: Partial<ContainerConfigFacts> = {},
): ReturnType<typeof containerConfig> {
  const container = aContainer("a", more);
  const pod = aPod({ containers: [container] }, { labels: { app: "web" } });
  return containerConfig(aDesiredPod(pod), container, { ...facts, ...given });
}

/** A mount that nothing special is wanted of. */
function plainMount(containerPath: string, hostPath: string, more: Partial<Mount> = {}): object {
  const propagation = MountPropagation.PROPAGATION_PRIVATE;
  const flags = { readonly: false, recursiveReadOnly: false, selinuxRelabel: false };
  return { containerPath, hostPath, propagation, ...flags, ...more };
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("the whole configuration of a container", () => {
  const env = [
    { name: "NAME", value: "web" },
    { name: "GREETING", value: "hello web, grüße" },
  ];
  const spec: Partial<Container> = {
    command: ["sh", "-c"],
    args: ["echo $(NAME)"],
    workingDir: "/srv",
    resources: { limits: { memory: "64Mi" }, requests: { memory: "64Mi" } },
    volumeMounts: [
      { name: "data", mountPath: "/data", readOnly: true },
      { name: "tmp", mountPath: "tmp", readOnly: false },
    ],
    ports: [{ name: "http", containerPort: 80, protocol: "TCP" }],
    lifecycle: { preStop: { type: "exec", command: ["date"] } },
    terminationMessagePolicy: "FallbackToLogsOnError",
  };
  expect(configOf(spec, { env })).toEqual({
    metadata: { name: "a", attempt: 3 },
    image: { image: "sha256:1234", userSpecifiedImage: "local/busybox:1" },
    command: ["sh", "-c"],
    args: ["echo web"],
    workingDir: "/srv",
    envs: [
      { key: "NAME", value: bytes("web") },
      { key: "GREETING", value: bytes("hello web, grüße") },
    ],
    mounts: [
      plainMount("/data", "/srv/data", { readonly: true }),
      plainMount("/tmp", "/state/tmp"),
      plainMount("/dev/termination-log", "/state/pods/u/containers/a/3", { selinuxRelabel: true }),
    ],
    devices: [],
    cdiDevices: [],
    stdin: false,
    stdinOnce: false,
    tty: false,
    logPath: "a/3.log",
    labels: {
      "io.kubernetes.pod.name": "web",
      "io.kubernetes.pod.namespace": "default",
      "io.kubernetes.pod.uid": UID,
      "io.kubernetes.container.name": "a",
      "agent/managed": "true",
      "agent/instance": "default",
    },
    annotations: {
      "io.kubernetes.container.hash": "v1:00",
      "io.kubernetes.container.restartCount": "3",
      "io.kubernetes.pod.terminationGracePeriod": "30",
      "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
      "io.kubernetes.container.terminationMessagePolicy": "FallbackToLogsOnError",
      "io.kubernetes.container.preStopHandler": '{"type":"exec","command":["date"]}',
      "io.kubernetes.container.ports": '[{"name":"http","containerPort":80,"protocol":"TCP"}]',
    },
    linux: {
      resources: {
        cpuShares: 2n,
        cpuPeriod: 100_000n,
        cpuQuota: 0n,
        memoryLimitInBytes: 67_108_864n,
        hugepageLimits: [],
        oomScoreAdj: 985n,
        unified: { "memory.oom.group": "1" },
      },
      securityContext: {
        privileged: false,
        namespaceOptions: {
          network: NamespaceMode.POD,
          pid: NamespaceMode.CONTAINER,
          ipc: NamespaceMode.POD,
        },
        runAsUser: { value: 0n },
        supplementalGroups: [],
        readonlyRootfs: false,
        noNewPrivs: false,
        seccomp: { profileType: SecurityProfile_ProfileType.Unconfined },
        maskedPaths: [
          "/proc/acpi",
          "/proc/asound",
          "/proc/interrupts",
          "/proc/kcore",
          "/proc/keys",
          "/proc/latency_stats",
          "/proc/sched_debug",
          "/proc/scsi",
          "/proc/timer_list",
          "/proc/timer_stats",
          "/sys/devices/virtual/powercap",
          "/sys/firmware",
        ],
        readonlyPaths: ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
      },
    },
  });
});

describe("containerConfig", () => {
  test("is a message the runtime takes, unprivileged", () => {
    const message = create(ContainerConfigSchema, configOf({}));
    const context = message.linux?.securityContext;
    expect([context?.privileged, context?.noNewPrivs, message.stdin, message.tty]).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  test("that has a value which is no text gets its bytes", () => {
    const value = new Uint8Array([0xff, 0x00, 0x41]);
    const config = configOf({ args: ["$(KEY)"] }, { env: [{ name: "KEY", value }] });
    expect(config).toMatchObject({ args: ["\uFFFD\0A"], envs: [{ key: "KEY", value }] });
  });

  test("that mounts a part of a volume gets that part, and the pod's hosts file behind its volumes", () => {
    const mount = { name: "data", mountPath: "/data", readOnly: false };
    const volumeMounts = [mount, { ...mount, mountPath: "/part", subPath: "part" }];
    const given = { subPaths: new Map([[1, "/state/part"]]), etcHosts: "/state/etc-hosts" };
    expect(configOf({ volumeMounts }, given).mounts?.slice(0, 3)).toEqual([
      plainMount("/data", "/srv/data"),
      plainMount("/part", "/state/part"),
      plainMount("/etc/hosts", "/state/etc-hosts", { selinuxRelabel: true }),
    ]);
  });

  test("on the host's network joins the node's namespace as its sandbox does", () => {
    const desired = aDesiredPod(aPod({ hostNetwork: true }));
    const config = containerConfig(desired, aContainer("a"), facts);
    expect(config.linux?.securityContext?.namespaceOptions?.network).toBe(NamespaceMode.NODE);
  });

  test("without a hash carries none", () => {
    const desired = aDesiredPod(aPod(), { containerHashes: {} });
    const { annotations } = containerConfig(desired, aContainer("a"), facts);
    expect(annotations).toEqual({
      "io.kubernetes.container.restartCount": "3",
      "io.kubernetes.pod.terminationGracePeriod": "30",
      "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
      "io.kubernetes.container.terminationMessagePolicy": "File",
    });
  });

  test("carries the part that it plays in its pod", () => {
    const sidecar = aContainer("s", { restartPolicy: "Always" });
    const setup = aContainer("setup");
    const desired = aDesiredPod(aPod({ initContainers: [setup, sidecar] }));
    const roles = [setup, sidecar, aContainer("a")].map(
      (one) => containerConfig(desired, one, facts).annotations?.["agent/container-role"],
    );
    expect(roles).toEqual(["init", "sidecar/1", undefined]);
  });

  test("takes a message at a path that is not absolute, and none without a path or a file", () => {
    expect(configOf({ terminationMessagePath: "tmp/end" }).mounts).toEqual([
      plainMount("/tmp/end", "/state/pods/u/containers/a/3", { selinuxRelabel: true }),
    ]);
    expect(configOf({ terminationMessagePath: "" }).mounts).toEqual([]);
    const { terminationLog: _, ...without } = facts;
    expect(containerConfig(aDesiredPod(), aContainer("a"), without).mounts).toEqual([]);
  });

  test("its stop signal is passed on where the runtime supports it, else refused with a remedy", () => {
    const of = (stopSignal: string, can: boolean): ReturnType<typeof containerConfig> =>
      configOf({ lifecycle: { stopSignal } }, can ? { features: ALL_FEATURES } : {});
    expect(of("SIGRTMIN+3", true).stopSignal).toBe(Signal.SIGRTMINPLUS3);
    expect(() => of("SIGUSR1", false)).toThrow("set STOPSIGNAL in the image");
    expect(() => of("SIGUSR1", false)).toThrow(
      expect.objectContaining({ reason: "UnsupportedByRuntime" }),
    );
    expect(() => of("SIGNOTHING", true)).toThrow("which is not a signal");
  });

  test("has an open standard input, or a terminal, if it wants one", () => {
    expect(configOf({ stdin: true, stdinOnce: true, tty: true })).toMatchObject({
      stdin: true,
      stdinOnce: true,
      tty: true,
    });
  });

  test("has a digest of what it read of ConfigMaps and Secrets, if anything", () => {
    const { annotations } = configOf({}, { configDigest: "v1:key:sum" });
    expect(annotations?.["agent/config-digest"]).toBe("v1:key:sum");
    expect(configOf({}).annotations).not.toHaveProperty("agent/config-digest");
  });

  test("has how often its pod was restarted as a whole, if it was", () => {
    const { annotations } = configOf({}, { podRestarts: 2 });
    expect(annotations?.["agent/pod-restarts"]).toBe("2");
    expect(configOf({}, { podRestarts: 0 }).annotations).not.toHaveProperty("agent/pod-restarts");
  });

  test("does not start without a volume that it mounts", () => {
    const volumeMounts = [{ name: "gone", mountPath: "/data", readOnly: false }];
    expect(() => configOf({ volumeMounts })).toThrow('volume "gone" for /data is not set up');
  });
});
