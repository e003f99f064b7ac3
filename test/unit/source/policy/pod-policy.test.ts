import { describe, expect, test } from "bun:test";

import type { PodPolicy } from "../../../../src/config/config.ts";
import type { Pod } from "../../../../src/api/v1/pod.ts";
import { unpinnedImages } from "../../../../src/source/policy/registries-and-digests.ts";
import { forbiddenByPolicy, type PodRules } from "../../../../src/source/policy/pod-policy.ts";
import { guardedDirectories } from "../../../../src/source/policy/host-paths-and-devices.ts";
import { CONFIG_DEFAULTS } from "../../../fakes/config-defaults.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import { POD_RULES } from "../desired-arrival.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const privileged: PodPolicy = { profile: "privileged" };

function mounting(...paths: readonly string[]): Pod {
  const volumes = paths.map((path, index) => ({
    name: `v${index}`,
    hostPath: { path, type: "" as const },
  }));
  return aPod({ volumes });
}
function from(image: string): Pod {
  return aPod({ containers: [aContainer("a", { image })] });
}
function withDevices(devices: string, limits: Readonly<Record<string, string>> = {}): Pod {
  const containers = [aContainer("a", { resources: { limits, requests: {} } })];
  return aPod({ containers }, { annotations: { "agent/devices": devices } });
}
const anyPrivileged = aPod({
  containers: [aContainer("a", { securityContext: { privileged: true } })],
});

const PROBE = {
  handler: { type: "tcpSocket" as const, port: 80 },
  initialDelaySeconds: 0,
  timeoutSeconds: 1,
  periodSeconds: 10,
  successThreshold: 1,
  failureThreshold: 3,
};

interface Case {
  readonly pod: Pod;
  readonly policy?: PodPolicy;
  readonly rules?: Partial<PodRules>;
  readonly required?: boolean;
}

function paths({ pod, policy, rules = {}, required = false }: Case): readonly string[] {
  const all = { ...POD_RULES, ...(policy === undefined ? {} : { policy }), ...rules };
  const errors = forbiddenByPolicy(pod, all, required);
  expect(errors.every(({ code }) => code === "Forbidden")).toBe(true);
  return errors.map(({ path }) => path);
}

const IMAGE = "spec.containers[0].image";
const HOST_PATH = "spec.volumes[0].hostPath";
const DEVICES = "metadata.annotations[agent/devices]";
const PRIVILEGED = "spec.containers[0].securityContext.privileged";

const cases: Readonly<Record<string, readonly [given: Case, ...forbidden: readonly string[]]>> = {
  "baseline is the default while signatures are not required": [{ pod: anyPrivileged }, PRIVILEGED],
  "privileged is the default once they are": [{ pod: anyPrivileged, required: true }],
  "a grace period of an hour is allowed without signatures": [
    { pod: aPod({ terminationGracePeriodSeconds: 3600 }) },
  ],
  "a longer one is not, whatever the profile": [
    { pod: aPod({ terminationGracePeriodSeconds: 3601 }), policy: privileged },
    "spec.terminationGracePeriodSeconds",
  ],
  "nor is that of a probe": [
    {
      pod: aPod({
        containers: [
          aContainer("a", { livenessProbe: { ...PROBE, terminationGracePeriodSeconds: 2 ** 53 } }),
        ],
      }),
    },
    "spec.containers[0].livenessProbe.terminationGracePeriodSeconds",
  ],
  "a signed document may ask for any": [
    { pod: aPod({ terminationGracePeriodSeconds: 86_400 }), required: true },
  ],
  "a profile that is written goes before both defaults": [
    { pod: anyPrivileged, policy: { profile: "baseline" }, required: true },
    PRIVILEGED,
  ],
  "privileged may be allowed without signatures": [{ pod: anyPrivileged, policy: privileged }],
  "privileged allows any other path of the node": [
    { pod: mounting("/srv", "/dev", "/etc/ssl", "/var/lib/agentx"), policy: privileged },
  ],
  "baseline with a list allows what is in it": [
    {
      pod: mounting("/srv/data", "/srv/data/x", "/srv//data/./y/../z/"),
      policy: { profile: "baseline", hostPaths: ["/srv/data/"] },
    },
  ],
  "baseline with a list allows nothing beside it": [
    { pod: mounting("/srv/database"), policy: { profile: "baseline", hostPaths: ["/srv/data"] } },
    HOST_PATH,
  ],
  "a list does not let out by two dots": [
    {
      pod: mounting("/srv/data/../other"),
      policy: { profile: "baseline", hostPaths: ["/srv/data"] },
    },
    HOST_PATH,
  ],
  "privileged with a list allows only what is in it": [
    {
      pod: mounting("/srv", "/srv/data"),
      policy: { profile: "privileged", hostPaths: ["/srv/data"] },
    },
    HOST_PATH,
  ],
  "a privileged container would go past a list": [
    { pod: anyPrivileged, policy: { profile: "privileged", devices: ["/dev/gpiomem"] } },
    PRIVILEGED,
  ],
  "privileged allows devices": [
    { pod: withDevices("/dev/ttyUSB0", { "vendor.com/gpu=0": "1" }), policy: privileged },
  ],
  "a list of devices names paths with all below, CDI names, and their classes": [
    {
      pod: withDevices("/dev/snd/pcm:/dev/snd/x:rw, /dev/gpiomem", {
        "podman.io/device=/dev/i2c-1:/dev/i2c": "1",
        "vendor.com/gpu=0": "1",
        "other.com/npu=7": "1",
      }),
      policy: {
        profile: "baseline",
        devices: ["/dev/snd", "/dev/gpiomem", "/dev/i2c-1", "vendor.com/gpu", "other.com/npu=7"],
      },
    },
  ],
  "and nothing else": [
    {
      pod: withDevices("/dev/sda, /dev/sdb", { "vendor.com/gpuplus=0": "1" }),
      policy: { profile: "privileged", devices: ["/dev/sd", "vendor.com/gpu"] },
    },
    DEVICES,
    DEVICES,
    "spec.containers[0].resources.limits[vendor.com/gpuplus=0]",
  ],
  "an image from one of the registries": [
    {
      pod: from("team/app:1"),
      policy: { profile: "baseline", registries: ["registry.test/team"] },
    },
  ],
  "an image from elsewhere": [
    {
      pod: from("teammate/app:1"),
      policy: { profile: "baseline", registries: ["registry.test/team"] },
    },
    IMAGE,
  ],
  "what is no image name, where registries are listed": [
    {
      pod: from("???"),
      policy: { profile: "baseline", registries: ["registry.test"] },
      rules: { fullImageName: () => undefined },
    },
    IMAGE,
  ],
  "an image volume from elsewhere": [
    {
      pod: aPod({
        containers: [aContainer("a", { image: "ours/app" })],
        volumes: [{ name: "v", image: { reference: "theirs/data", pullPolicy: "Always" } }],
      }),
      policy: { profile: "baseline", registries: ["registry.test/ours/"] },
    },
    "spec.volumes[0].image.reference",
  ],
  "an image without digest where digests are required": [
    { pod: from("app:1"), rules: { requireDigest: true } },
    IMAGE,
  ],
  "an image with digest there": [{ pod: from(`app:1@${DIGEST}`), rules: { requireDigest: true } }],
};

describe("the pod policy", () => {
  test.each(Object.entries(cases))("%s", (_sentence, [given, ...forbidden]) => {
    expect(paths(given)).toEqual([...forbidden]);
  });
});

describe("the node's own directories", () => {
  const guarded = ["/etc/agent/manifests", "/var/lib/agent", "/run/containerd"];
  test.each([
    "/",
    "/etc",
    "/etc/agent",
    "/etc/agent/manifests",
    "/etc/agent/manifests/web.yaml",
    "/srv/../etc/agent/manifests",
    "/var/lib/agent/agent.db",
    "/run",
    "/var/run",
    "/var/run/containerd/containerd.sock",
    "/proc/1/root",
    "/proc/self/root/etc",
  ])("are out of reach of every pod, whatever is allowed: %s", (path) => {
    for (const policy of [privileged, { ...privileged, hostPaths: ["/"] }])
      expect(paths({ pod: mounting(path), policy, rules: { guarded }, required: true })).toEqual([
        HOST_PATH,
      ]);
  });

  test("are named, with the way out", () => {
    const [error] = forbiddenByPolicy(mounting("/etc"), { ...POD_RULES, guarded }, true);
    expect(error?.message).toBe(
      'volume "v0": "/etc" reaches into /etc/agent/manifests, which belongs to the node alone; choose a path outside of it',
    );
  });
});

describe("messages name the setting and the way out", () => {
  const said = (given: Case): string | undefined =>
    forbiddenByPolicy(
      given.pod,
      {
        ...POD_RULES,
        ...given.rules,
        ...(given.policy === undefined ? {} : { policy: given.policy }),
      },
      false,
    )[0]?.message;

  test("of registries, with the full name", () => {
    expect(said({ pod: from("a/b"), policy: { ...privileged, registries: ["x"] } })).toBe(
      '"a/b" (in full "registry.test/a/b") is not from the node\'s mqtt.podPolicy.registries; use an image from there, or add its registry',
    );
  });

  test("of hostPaths, devices and digests", () => {
    const policy = { ...privileged, hostPaths: [], devices: [] };
    expect(said({ pod: mounting("/srv"), policy })).toContain("mqtt.podPolicy.hostPaths");
    expect(said({ pod: withDevices("/dev/x"), policy })).toContain("mqtt.podPolicy.devices");
    expect(said({ pod: from("a"), policy: privileged, rules: { requireDigest: true } })).toContain(
      "mqtt.requireDigest",
    );
  });
});

test("an image with a mutable tag is reported with its path", () => {
  const pod = aPod({
    initContainers: [aContainer("i", { image: `app@${DIGEST}` })],
    containers: [aContainer("a", { image: "app:1" }), aContainer("b", { image: "app@sha256:12" })],
  });
  expect(unpinnedImages(pod).map(({ path, code }) => [path, code])).toEqual([
    ["spec.containers[0].image", "UnpinnedImage"],
    ["spec.containers[1].image", "UnpinnedImage"],
  ]);
});

test("the node's own directories are those of the configuration, its keys, and what a card brings to the next start", () => {
  const all = guardedDirectories({ ...CONFIG_DEFAULTS, provisioningPath: "/media/card" });
  for (const path of ["/etc/agent", "/boot/firmware/agent", "/boot/agent", "/media/card"])
    expect(all).toContain(path);
  expect(guardedDirectories(CONFIG_DEFAULTS)).not.toContain("/media/card");
  const pod = mounting("/boot/firmware");
  const [error] = forbiddenByPolicy(pod, { ...POD_RULES, guarded: all }, true);
  expect(error?.message).toContain("/boot/firmware/agent, which belongs to the node alone");
});
