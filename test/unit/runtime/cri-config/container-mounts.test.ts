import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import type { Volume } from "../../../../src/api/v1/volumes.ts";
import { MountPropagation, MountSchema } from "../../../../src/cri/gen/runtime/v1/api_pb.ts";
import {
  containerMounts,
  type MountFacts,
} from "../../../../src/runtime/cri-config/container-mounts.ts";
import { NO_FEATURES } from "../../../../src/runtime/cri-config/features.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import { ALL_FEATURES, containerFacts } from "../../../fakes/config-facts.ts";
import { refusalOf } from "../../../fakes/refusal.ts";
import type { VolumeMount } from "../../../../src/api/v1/volume-mounts.ts";

const IMAGE: Volume = { name: "v", image: { reference: "r.test/data:1", pullPolicy: "Never" } };
const PLAIN = {
  containerPath: "/data",
  hostPath: "/srv/v",
  readonly: false,
  recursiveReadOnly: false,
  propagation: MountPropagation.PROPAGATION_PRIVATE,
  selinuxRelabel: true,
};
const emptyDir: Volume = { name: "v", emptyDir: { medium: "" } };

function mountsOf(
  mount: Partial<VolumeMount>,
  { volume = emptyDir, ...facts }: Partial<MountFacts> & { readonly volume?: Volume } = {},
): ReturnType<typeof containerMounts> {
  const volumeMounts = [{ name: "v", mountPath: "/data", readOnly: false, ...mount }];
  const container = aContainer("a", { volumeMounts, terminationMessagePath: "" });
  const pod = aPod({ containers: [container], volumes: [volume] });
  return containerMounts(pod, container, {
    ...containerFacts({ volumes: new Map([["v", "/srv/v"]]) }),
    ...facts,
  });
}

describe("a volume", () => {
  const objects = { name: "o", items: [], optional: false };
  const volumes: Record<string, [Volume, { readonly: boolean; selinuxRelabel: boolean }]> = {
    emptyDir: [emptyDir, { readonly: false, selinuxRelabel: true }],
    hostPath: [
      { name: "v", hostPath: { path: "/srv", type: "" } },
      { readonly: false, selinuxRelabel: false },
    ],
    configMap: [
      { name: "v", configMap: { ...objects, defaultMode: 0o644 } },
      { readonly: true, selinuxRelabel: true },
    ],
    secret: [
      { name: "v", secret: { ...objects, defaultMode: 0o644 } },
      { readonly: true, selinuxRelabel: true },
    ],
    downwardAPI: [
      { name: "v", downwardAPI: { items: [], defaultMode: 0o644 } },
      { readonly: true, selinuxRelabel: true },
    ],
    projected: [
      { name: "v", projected: { sources: [], defaultMode: 0o644 } },
      { readonly: true, selinuxRelabel: true },
    ],
    "a claim": [
      { name: "v", persistentVolumeClaim: { claimName: "c", readOnly: false } },
      { readonly: false, selinuxRelabel: true },
    ],
    "a claim for reading": [
      { name: "v", persistentVolumeClaim: { claimName: "c", readOnly: true } },
      { readonly: true, selinuxRelabel: false },
    ],
  };
  test.each(Object.entries(volumes))("of kind %s", (_, [volume, expected]) => {
    const [mount] = mountsOf({}, { volume });
    expect(mount).toEqual({ ...PLAIN, ...expected });
    expect(mountsOf({ readOnly: true }, { volume })[0]?.readonly).toBe(true);
    expect(create(MountSchema, mount).hostPath).toBe("/srv/v");
  });

  test("that was not set up is missed", () => {
    expect(() => mountsOf({ name: "w" })).toThrow('volume "w" for /data is not set up');
  });

  const propagations = [
    [undefined, MountPropagation.PROPAGATION_PRIVATE],
    ["HostToContainer", MountPropagation.PROPAGATION_HOST_TO_CONTAINER],
    ["Bidirectional", MountPropagation.PROPAGATION_BIDIRECTIONAL],
  ] as const;
  test.each(propagations)("with propagation %p", (mountPropagation, propagation) => {
    const mount = mountPropagation === undefined ? {} : { mountPropagation };
    expect(mountsOf(mount)[0]?.propagation).toBe(propagation);
  });

  test("of which a part is mounted, and never more than that", () => {
    const subPaths = new Map([[0, "/srv/part"]]);
    expect(mountsOf({ subPath: "part" }, { subPaths })[0]?.hostPath).toBe("/srv/part");
    expect(mountsOf({ subPathExpr: "$(A)" }, { subPaths })[0]?.hostPath).toBe("/srv/part");
    expect(() => mountsOf({ subPath: "part" })).toThrow(
      'the part of volume "v" for /data is not set up',
    );
    expect(() => mountsOf({ subPathExpr: "$(A)" })).toThrow("is not set up");
  });
});

describe("recursive read-only", () => {
  const can = { features: ALL_FEATURES };
  const written = (recursiveReadOnly: "Enabled" | "IfPossible") =>
    ({ readOnly: true, recursiveReadOnly }) as const;

  test("where the runtime can", () => {
    const flags = (mode: "Enabled" | "IfPossible") => mountsOf(written(mode), can)[0];
    expect(flags("Enabled")).toEqual({ ...PLAIN, readonly: true, recursiveReadOnly: true });
    expect(flags("IfPossible")?.recursiveReadOnly).toBe(true);
    expect(mountsOf({ readOnly: true }, can)[0]?.recursiveReadOnly).toBe(false);
  });

  test("where it cannot, only IfPossible makes do with less", () => {
    const [mount] = mountsOf(written("IfPossible"));
    expect(mount).toEqual({ ...PLAIN, readonly: true });
    expect(refusalOf(() => mountsOf(written("Enabled")))).toEqual({
      reason: "UnsupportedByRuntime",
      message:
        'volume "v" requested recursive read-only mode, but it is not supported by the runtime; use containerd 2.0, runc 1.1 and Linux 5.12 or newer, or recursiveReadOnly: IfPossible',
    });
  });

  test("the pod's handler has to, not another", () => {
    const facts = { ...can, runtimeHandler: "kata" };
    expect(() => mountsOf(written("Enabled"), facts)).toThrow("not supported by the runtime");
  });

  test("is refused for what is not read-only, or propagates", () => {
    expect(() => mountsOf({ recursiveReadOnly: "IfPossible" }, can)).toThrow("is not read-only");
    const mount = { ...written("Enabled"), mountPropagation: "HostToContainer" } as const;
    expect(() => mountsOf(mount, can)).toThrow(
      'is not compatible with propagation "HostToContainer"',
    );
  });
});

describe("an image", () => {
  const given = {
    volume: IMAGE,
    volumes: new Map(),
    imageVolumes: new Map([["v", "sha256:77"]]),
    features: ALL_FEATURES,
  };
  const expected = {
    ...PLAIN,
    hostPath: "",
    image: { image: "sha256:77", userSpecifiedImage: "r.test/data:1" },
    imageSubPath: "",
    readonly: true,
  };

  test("is mounted by the runtime, for reading", () => {
    expect(mountsOf({}, given)).toEqual([expected]);
  });

  test("is mounted in part", () => {
    const subPath = mountsOf({ subPath: "models" }, given);
    expect(subPath).toEqual([{ ...expected, imageSubPath: "models" }]);
    const env = [{ name: "A", value: "b" }];
    const expression = mountsOf({ subPathExpr: "x/$(A)" }, { ...given, env });
    expect(expression).toEqual([{ ...expected, imageSubPath: "x/b" }]);
  });

  test("that is not on the node is missed", () => {
    expect(refusalOf(() => mountsOf({}, { ...given, imageVolumes: new Map() }))).toEqual({
      reason: "CreateContainerConfigError",
      message: 'the image of volume "v" for /data is not on this node',
    });
  });

  test("is refused, whole or in part, where the runtime cannot", () => {
    expect(refusalOf(() => mountsOf({}, { ...given, features: NO_FEATURES }))).toEqual({
      reason: "UnsupportedByRuntime",
      message:
        'volume "v" is an image, which this container runtime cannot mount; use containerd 2.1 or newer',
    });
    const features = { ...ALL_FEATURES, imageSubPaths: false };
    expect(mountsOf({}, { ...given, features })).toEqual([expected]);
    expect(refusalOf(() => mountsOf({ subPath: "models" }, { ...given, features }))).toEqual({
      reason: "UnsupportedByRuntime",
      message:
        'a part of the image in volume "v" is wanted, and this container runtime would mount all of it; use containerd 2.2 or newer',
    });
  });
});

describe("files of the node", () => {
  const hosts = { etcHosts: "/state/etc-hosts" };

  test("the hosts file comes behind the volumes", () => {
    expect(mountsOf({}, hosts).map(({ containerPath }) => containerPath)).toEqual([
      "/data",
      "/etc/hosts",
    ]);
    expect(mountsOf({}, hosts)[1]).toEqual({
      ...PLAIN,
      containerPath: "/etc/hosts",
      hostPath: "/state/etc-hosts",
    });
  });

  test.each(["/etc/hosts", "etc/hosts", "/etc/hosts/"])("not over the container's own %p", (at) => {
    expect(mountsOf({ mountPath: at }, hosts)).toHaveLength(1);
  });

  test("users of its own are mapped on every mount", () => {
    const userNamespace = { hostId: 131_072, length: 65_536 };
    const mapping = [{ hostId: 131_072, containerId: 0, length: 65_536 }];
    for (const mount of mountsOf({}, { ...hosts, userNamespace }))
      expect([mount.uidMappings, mount.gidMappings]).toEqual([mapping, mapping]);
    expect(mountsOf({}, hosts)[0]).not.toHaveProperty("uidMappings");
  });
});
