import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import type { Container } from "../../../src/api/pod.ts";
import {
  ContainerConfigSchema,
  NamespaceMode,
  Signal,
} from "../../../src/cri/gen/runtime/v1/api_pb.ts";
import {
  containerConfig,
  type ContainerConfigFacts,
} from "../../../src/runtime/container-config.ts";
import { aContainer, aDesiredPod, aPod, UID } from "../../fakes/a-pod.ts";

const facts: ContainerConfigFacts = {
  attempt: 3,
  imageRef: "sha256:1234",
  volumes: new Map([
    ["data", "/srv/data"],
    ["tmp", "/state/tmp"],
  ]),
  instance: "default",
  cgroupVersion: 2,
  memoryBytes: 4 * 1024 ** 3,
  terminationLog: "/state/pods/u/containers/a/3",
};

function configOf(more: Partial<Container>): ReturnType<typeof containerConfig> {
  const container = aContainer("a", more);
  const pod = aPod({ containers: [container] }, { labels: { app: "web" } });
  return containerConfig(aDesiredPod(pod), container, facts);
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("the whole configuration of a container", () => {
  const config = configOf({
    command: ["sh", "-c"],
    args: ["echo $(NAME)"],
    workingDir: "/srv",
    env: [
      { name: "NAME", value: "web" },
      { name: "GREETING", value: "hello $(NAME), grüße" },
    ],
    resources: { limits: { memory: "64Mi" }, requests: { memory: "64Mi" } },
    volumeMounts: [
      { name: "data", mountPath: "/data", readOnly: true },
      { name: "tmp", mountPath: "tmp", readOnly: false },
    ],
    ports: [{ name: "http", containerPort: 80, protocol: "TCP" }],
    lifecycle: { preStop: { type: "exec", command: ["date"] } },
    terminationMessagePolicy: "FallbackToLogsOnError",
  });
  expect(config).toEqual({
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
      { containerPath: "/data", hostPath: "/srv/data", readonly: true },
      { containerPath: "/tmp", hostPath: "/state/tmp", readonly: false },
      {
        containerPath: "/dev/termination-log",
        hostPath: "/state/pods/u/containers/a/3",
        readonly: false,
      },
    ],
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
        oomScoreAdj: 985n,
        unified: { "memory.oom.group": "1" },
      },
      securityContext: {
        namespaceOptions: {
          network: NamespaceMode.POD,
          pid: NamespaceMode.CONTAINER,
          ipc: NamespaceMode.POD,
        },
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

  test("a variable knows only those before it", () => {
    const env = [
      { name: "A", value: "$(B)" },
      { name: "B", value: "2" },
      { name: "B", value: "$(B)$(B)" },
    ];
    expect(configOf({ env, args: ["$(A) $(B)"] })).toMatchObject({
      args: ["$(B) 22"],
      envs: [
        { key: "A", value: bytes("$(B)") },
        { key: "B", value: bytes("2") },
        { key: "B", value: bytes("22") },
      ],
    });
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
      { containerPath: "/tmp/end", hostPath: "/state/pods/u/containers/a/3", readonly: false },
    ]);
    expect(configOf({ terminationMessagePath: "" }).mounts).toEqual([]);
    const { terminationLog: _, ...without } = facts;
    expect(containerConfig(aDesiredPod(), aContainer("a"), without).mounts).toEqual([]);
  });

  test("its stop signal is asked for where the runtime hears of it, else refused with a way out", () => {
    const of = (stopSignal: string, stopSignals: boolean): ReturnType<typeof containerConfig> =>
      containerConfig(aDesiredPod(), aContainer("a", { lifecycle: { stopSignal } }), {
        ...facts,
        stopSignals,
      });
    expect(of("SIGRTMIN+3", true).stopSignal).toBe(Signal.SIGRTMINPLUS3);
    expect(() => of("SIGUSR1", false)).toThrow("set STOPSIGNAL in the image");
    expect(() => of("SIGUSR1", false)).toThrow(
      expect.objectContaining({ reason: "UnsupportedByRuntime" }),
    );
    expect(() => of("SIGNOTHING", true)).toThrow("which is no signal");
  });

  test("does not start without a volume that it mounts", () => {
    const volumeMounts = [{ name: "gone", mountPath: "/data", readOnly: false }];
    expect(() => configOf({ volumeMounts })).toThrow('volume "gone" for /data is not set up');
  });
});
