import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import type {
  PodSecurityContext,
  SecurityContext,
} from "../../../../src/api/v1/security-context.ts";
import {
  LinuxContainerSecurityContextSchema,
  LinuxSandboxSecurityContextSchema,
  NamespaceMode,
  SecurityProfile_ProfileType as ProfileType,
  SupplementalGroupsPolicy,
} from "../../../../src/cri/gen/runtime/v1/api_pb.ts";
import { NO_FEATURES } from "../../../../src/runtime/cri-config/features.ts";
import {
  containerSecurityContext,
  sandboxSecurityContext,
  type SecurityFacts,
} from "../../../../src/runtime/cri-config/security-context.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import { ALL_FEATURES, containerFacts } from "../../../fakes/config-facts.ts";
import { refusalOf } from "../../../fakes/refusal.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

interface Case {
  readonly pod?: Partial<PodSecurityContext>;
  readonly container?: SecurityContext;
  readonly spec?: Partial<PodSpec>;
  readonly facts?: Partial<SecurityFacts>;
}

function podOf({ pod = {}, container = {}, spec = {} }: Case) {
  const one: Container = aContainer("a", { securityContext: container });
  const securityContext = { supplementalGroups: [], sysctls: [], ...pod };
  return { pod: aPod({ containers: [one], securityContext, ...spec }), one };
}

function contextOf(written: Case): ReturnType<typeof containerSecurityContext> {
  const { pod, one } = podOf(written);
  return containerSecurityContext(pod, one, { ...containerFacts(), ...written.facts });
}

function sandboxOf(written: Case): ReturnType<typeof sandboxSecurityContext> {
  return sandboxSecurityContext(podOf(written).pod, { ...containerFacts(), ...written.facts });
}

test("a container with every field", () => {
  const context = contextOf({
    pod: {
      runAsUser: 1,
      runAsGroup: 2,
      fsGroup: 3,
      supplementalGroups: [4, 5],
      supplementalGroupsPolicy: "Strict",
      seccompProfile: { type: "Unconfined" },
    },
    container: {
      runAsUser: 1000,
      runAsGroup: 1001,
      runAsNonRoot: true,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { add: ["NET_ADMIN", "cap_sys_time"], drop: ["ALL", "CAP_NET_RAW"] },
      seccompProfile: { type: "RuntimeDefault" },
      appArmorProfile: { type: "Localhost", localhostProfile: "k8s-app" },
      seLinuxOptions: { user: "u", role: "r", type: "t", level: "s0:c1,c2" },
    },
    facts: { features: ALL_FEATURES, isSelinuxNode: true, maskedPaths: ["/sys/x"] },
  });
  expect(context).toEqual({
    capabilities: {
      addCapabilities: ["NET_ADMIN", "SYS_TIME"],
      dropCapabilities: ["ALL", "NET_RAW"],
    },
    privileged: false,
    namespaceOptions: {
      network: NamespaceMode.POD,
      pid: NamespaceMode.CONTAINER,
      ipc: NamespaceMode.POD,
    },
    selinuxOptions: { user: "u", role: "r", type: "t", level: "s0:c1,c2" },
    runAsUser: { value: 1000n },
    runAsGroup: { value: 1001n },
    supplementalGroups: [3n, 4n, 5n],
    supplementalGroupsPolicy: SupplementalGroupsPolicy.Strict,
    readonlyRootfs: true,
    noNewPrivs: true,
    maskedPaths: [...(contextOf({}).maskedPaths ?? []), "/sys/x"],
    readonlyPaths: ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
    seccomp: { profileType: ProfileType.RuntimeDefault },
    apparmor: { profileType: ProfileType.Localhost, localhostRef: "k8s-app" },
    apparmorProfile: "localhost/k8s-app",
  });
  expect(create(LinuxContainerSecurityContextSchema, context).runAsUser?.value).toBe(1000n);
});

describe("whom a container runs as", () => {
  const cases: Record<string, [Case, object]> = {
    "the pod's user and group": [
      { pod: { runAsUser: 7, runAsGroup: 8 } },
      { runAsUser: { value: 7n }, runAsGroup: { value: 8n } },
    ],
    "its own before the pod's": [
      { pod: { runAsUser: 7, runAsGroup: 8 }, container: { runAsUser: 9, runAsGroup: 10 } },
      { runAsUser: { value: 9n }, runAsGroup: { value: 10n } },
    ],
    "root, where it is written, whatever the image's user": [
      { container: { runAsUser: 0 }, facts: { image: { uid: 5, username: "" } } },
      { runAsUser: { value: 0n } },
    ],
    "the image's number": [
      { facts: { image: { uid: 5, username: "" } } },
      { runAsUser: { value: 5n } },
    ],
    "the image's name": [{ facts: { image: { username: "app" } } }, { runAsUsername: "app" }],
    "root, where the image names no user": [{}, { runAsUser: { value: 0n } }],
    "the group of the pod with the user of the image": [
      { pod: { runAsGroup: 8 } },
      { runAsUser: { value: 0n }, runAsGroup: { value: 8n } },
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [written, expected]) => {
    const { runAsUser, runAsUsername, runAsGroup } = create(
      LinuxContainerSecurityContextSchema,
      contextOf(written),
    );
    const wanted = create(LinuxContainerSecurityContextSchema, expected);
    expect({ runAsUser, runAsUsername, runAsGroup }).toEqual({
      runAsUser: wanted.runAsUser,
      runAsUsername: wanted.runAsUsername,
      runAsGroup: wanted.runAsGroup,
    });
  });
});

describe("runAsNonRoot", () => {
  const where = ' (pod: "default/web", container: a)';
  const nonRoot = { runAsNonRoot: true };
  const root = "container has runAsNonRoot and image will run as root";
  const named =
    "container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root";
  const broken = "container's runAsUser breaks non-root policy";
  const refused: Record<string, [Case, string]> = {
    "an image without a user": [{ pod: nonRoot }, root],
    "an image of user 0": [{ pod: nonRoot, facts: { image: { uid: 0, username: "" } } }, root],
    "an image of a name": [{ container: nonRoot, facts: { image: { username: "app" } } }, named],
    "an image of root by name": [
      { pod: nonRoot, facts: { image: { username: "root" } } },
      named.replace("app", "root"),
    ],
    "user 0 of its own": [{ container: { runAsUser: 0, ...nonRoot } }, broken],
    "user 0 of the pod": [{ pod: { runAsUser: 0 }, container: nonRoot }, broken],
  };
  test.each(Object.entries(refused))("refuses %s", (_, [written, message]) => {
    const refusal = { reason: "CreateContainerConfigError", message: message + where };
    expect(refusalOf(() => contextOf(written))).toEqual(refusal);
  });

  const allowed: Record<string, Case> = {
    "an image of another number": { pod: nonRoot, facts: { image: { uid: 5, username: "" } } },
    "another user, whatever the image's user": {
      pod: { runAsUser: 5, ...nonRoot },
      facts: { image: { username: "root" } },
    },
    "root, where the container takes the pod's word back": {
      pod: nonRoot,
      container: { runAsNonRoot: false },
    },
  };
  test.each(Object.entries(allowed))("allows %s", (_, written) => {
    expect(() => contextOf(written)).not.toThrow();
  });
});

describe("groups", () => {
  test("Merge is what every runtime does", () => {
    const pod = { supplementalGroupsPolicy: "Merge", fsGroup: 9 } as const;
    expect(contextOf({ pod })).toMatchObject({
      supplementalGroups: [9n],
      supplementalGroupsPolicy: SupplementalGroupsPolicy.Merge,
    });
  });

  test("Strict is refused where the image's groups would count all the same", () => {
    const written: Case = { pod: { supplementalGroupsPolicy: "Strict" } };
    const refusal = {
      reason: "UnsupportedByRuntime",
      message:
        "supplementalGroupsPolicy: Strict needs a runtime that knows it (containerd 2.0 or newer); update it, or remove supplementalGroupsPolicy",
    };
    expect(refusalOf(() => contextOf(written))).toEqual(refusal);
    expect(refusalOf(() => sandboxOf(written))).toEqual(refusal);
  });
});

describe("privileges", () => {
  test("a privileged container sees everything, and its sandbox is privileged too", () => {
    const written: Case = { container: { privileged: true } };
    expect(contextOf(written)).toMatchObject({
      privileged: true,
      maskedPaths: [],
      readonlyPaths: [],
    });
    expect(sandboxOf(written).privileged).toBe(true);
    const setup = aContainer("setup", { securityContext: { privileged: true } });
    expect(sandboxOf({ spec: { initContainers: [setup] } }).privileged).toBe(true);
  });

  test("an unmasked proc hides nothing, and does not make the container privileged", () => {
    expect(contextOf({ container: { procMount: "Unmasked" } })).toMatchObject({
      privileged: false,
      maskedPaths: [],
      readonlyPaths: [],
    });
    const { maskedPaths } = contextOf({ container: { procMount: "Default" } });
    expect(maskedPaths).toHaveLength(12);
  });

  test("no new privileges only where escalation is forbidden", () => {
    const of = (allowPrivilegeEscalation: boolean): boolean | undefined =>
      contextOf({ container: { allowPrivilegeEscalation } }).noNewPrivs;
    expect([of(false), of(true), contextOf({}).noNewPrivs]).toEqual([true, false, false]);
  });
});

describe("SELinux", () => {
  const level = { seLinuxOptions: { level: "s0:c1" } };
  const on = { features: { ...NO_FEATURES, selinux: true }, isSelinuxNode: true };

  test("labels of the pod where the container has none", () => {
    expect(contextOf({ pod: level, facts: on }).selinuxOptions).toEqual({
      user: "",
      role: "",
      type: "",
      level: "s0:c1",
    });
    expect(sandboxOf({ pod: level, facts: on }).selinuxOptions).toMatchObject({ level: "s0:c1" });
    expect(sandboxOf({ container: level, facts: on })).not.toHaveProperty("selinuxOptions");
  });

  test.each([
    ["kernel", { ...on, isSelinuxNode: false }],
    ["runtime", { ...on, features: NO_FEATURES }],
  ])("a label is refused where the %s knows none", (_, facts) => {
    const refusal = {
      reason: "UnsupportedByRuntime",
      message:
        "seLinuxOptions need SELinux on this node and in its runtime (containerd: enable_selinux = true); switch it on, or remove seLinuxOptions",
    };
    expect(refusalOf(() => contextOf({ container: level, facts }))).toEqual(refusal);
    expect(refusalOf(() => sandboxOf({ pod: level, facts }))).toEqual(refusal);
  });

  test("the type that wants no confinement gets what it wants anywhere", () => {
    const seLinuxOptions = { type: "spc_t", level: "s0" };
    expect(contextOf({ pod: { seLinuxOptions } }).selinuxOptions).toMatchObject(seLinuxOptions);
  });
});

describe("namespaces", () => {
  const cases: Record<string, [Partial<PodSpec>, Record<string, NamespaceMode>]> = {
    "of its own": [{}, {}],
    "the node's network": [{ hostNetwork: true }, { network: NamespaceMode.NODE }],
    "the node's processes": [{ hostPID: true }, { pid: NamespaceMode.NODE }],
    "the node's shared memory": [{ hostIPC: true }, { ipc: NamespaceMode.NODE }],
    "processes shared in the pod": [{ shareProcessNamespace: true }, { pid: NamespaceMode.POD }],
  };
  test.each(Object.entries(cases))("%s, in container and sandbox alike", (_, [spec, more]) => {
    const { POD, CONTAINER } = NamespaceMode;
    const expected = { network: POD, pid: CONTAINER, ipc: POD, ...more };
    expect(contextOf({ spec }).namespaceOptions).toEqual(expected);
    expect(sandboxOf({ spec }).namespaceOptions).toEqual(expected);
  });

  test("users of its own", () => {
    const facts = { userNamespace: { hostId: 65_536, length: 65_536 } };
    const ids = [{ hostId: 65_536, containerId: 0, length: 65_536 }];
    const usernsOptions = { mode: NamespaceMode.POD, uids: ids, gids: ids };
    const spec = { hostUsers: false };
    expect(contextOf({ spec, facts }).namespaceOptions).toMatchObject({ usernsOptions });
    expect(sandboxOf({ spec, facts }).namespaceOptions).toMatchObject({ usernsOptions });
  });
});

describe("the sandbox", () => {
  test("runs as the pod's user, in its groups, without a seccomp profile", () => {
    const pod = {
      runAsUser: 7,
      runAsGroup: 8,
      fsGroup: 9,
      supplementalGroups: [10],
      seccompProfile: { type: "Unconfined" },
    } as const;
    const context = sandboxOf({ pod });
    expect(context).toEqual({
      namespaceOptions: {
        network: NamespaceMode.POD,
        pid: NamespaceMode.CONTAINER,
        ipc: NamespaceMode.POD,
      },
      runAsUser: { value: 7n },
      runAsGroup: { value: 8n },
      supplementalGroups: [9n, 10n],
      privileged: false,
      seccomp: { profileType: ProfileType.Unconfined },
    });
    expect(create(LinuxSandboxSecurityContextSchema, context).privileged).toBe(false);
  });

  test("has the runtime's own seccomp profile where the pod asks for it", () => {
    const { seccomp } = sandboxOf({ pod: { seccompProfile: { type: "RuntimeDefault" } } });
    expect(seccomp).toEqual({ profileType: ProfileType.RuntimeDefault });
  });

  test("has no group without a user: runtimes refuse that", () => {
    expect(sandboxOf({ pod: { runAsGroup: 8 } })).not.toHaveProperty("runAsGroup");
  });
});
