import { describe, expect, test } from "bun:test";

import { containerOf, refusals, specOf, withInit, writtenPod } from "../written-pod.ts";

const ID_RULE = "must be between 0 and 2147483647, inclusive";
const SYSCTL_RULE =
  "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const CAPABILITY_RULE = "must be the name of a capability, such as NET_ADMIN, or ALL";

describe("what is written is what is kept", () => {
  test("every field of a pod", () => {
    const securityContext = {
      runAsUser: 0,
      runAsGroup: 2147483647,
      runAsNonRoot: false,
      supplementalGroups: [5, 20],
      supplementalGroupsPolicy: "Strict",
      fsGroup: 7,
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "Localhost", localhostProfile: "profiles/web.json" },
      appArmorProfile: { type: "Localhost", localhostProfile: "k8s-web" },
      seLinuxOptions: { user: "u", role: "r", type: "t", level: "s0:c1,c2" },
      seLinuxChangePolicy: "Recursive",
      sysctls: [
        { name: "net.core.somaxconn", value: "1024" },
        { name: "kernel/shm_rmid_forced", value: "0" },
      ],
    };
    expect(specOf(writtenPod({ securityContext })).securityContext).toEqual(
      securityContext as never,
    );
  });

  test("every field of a container", () => {
    const securityContext = {
      privileged: false,
      allowPrivilegeEscalation: false,
      capabilities: { add: ["NET_ADMIN", "CAP_SYS_TIME"], drop: ["ALL"] },
      readOnlyRootFilesystem: true,
      procMount: "Default",
      runAsUser: 1000,
      runAsGroup: 1000,
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
      appArmorProfile: { type: "Unconfined" },
      seLinuxOptions: { level: "s0" },
    };
    expect(containerOf({ securityContext })?.securityContext).toEqual(securityContext as never);
  });

  test("null and empty words are the same as not written", () => {
    const pod = { fsGroup: null, fsGroupChangePolicy: "", sysctls: null, seccompProfile: null };
    expect(specOf(writtenPod({ securityContext: pod })).securityContext).toEqual({
      supplementalGroups: [],
      sysctls: [],
    });
    const own = { runAsUser: null, seLinuxOptions: { type: "" }, capabilities: {} };
    expect(containerOf({ securityContext: own })?.securityContext).toEqual({
      seLinuxOptions: {},
      capabilities: { add: [], drop: [] },
    });
  });
});

const ofPod: Readonly<Record<string, readonly [written: object, ...errors: string[]]>> = {
  "a user below zero": [{ runAsUser: -1 }, `runAsUser: Invalid value: -1: ${ID_RULE}`],
  "a user beyond 31 bits": [
    { runAsUser: 2147483648 },
    `runAsUser: Invalid value: 2147483648: ${ID_RULE}`,
  ],
  "a user by name": [{ runAsUser: "www" }, 'runAsUser: Invalid value: "www": must be an integer'],
  "a group below zero": [{ runAsGroup: -5 }, `runAsGroup: Invalid value: -5: ${ID_RULE}`],
  "an fsGroup below zero": [{ fsGroup: -1 }, `fsGroup: Invalid value: -1: ${ID_RULE}`],
  "groups that are none": [
    { supplementalGroups: [1, -1, "wheel", 1.5] },
    `supplementalGroups[1]: Invalid value: -1: ${ID_RULE}`,
    'supplementalGroups[2]: Invalid value: "wheel": must be an integer',
    "supplementalGroups[3]: Invalid value: 1.5: must be an integer",
  ],
  "a policy that does not exist": [
    { fsGroupChangePolicy: "Never", supplementalGroupsPolicy: "merge", seLinuxChangePolicy: "x" },
    'supplementalGroupsPolicy: Unsupported value: "merge": supported values: "Merge", "Strict"',
    'fsGroupChangePolicy: Unsupported value: "Never": supported values: "Always", "OnRootMismatch"',
    'seLinuxChangePolicy: Unsupported value: "x": supported values: "MountOption", "Recursive"',
  ],
  "a seccomp profile without its type": [
    { seccompProfile: { localhostProfile: "x.json" } },
    "seccompProfile.type: Required value: type is required when seccompProfile is set",
  ],
  "a seccomp type that does not exist": [
    { seccompProfile: { type: "Default" } },
    'seccompProfile.type: Unsupported value: "Default": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
  ],
  "a Localhost seccomp profile without its file": [
    { seccompProfile: { type: "Localhost" } },
    "seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
  ],
  "a seccomp file that another type does not read": [
    { seccompProfile: { type: "RuntimeDefault", localhostProfile: "x.json" } },
    'seccompProfile.localhostProfile: Invalid value: "x.json": can only be set when seccomp type is Localhost',
  ],
  "a seccomp file outside of its directory": [
    { seccompProfile: { type: "Localhost", localhostProfile: "/etc/x.json" } },
    'seccompProfile.localhostProfile: Invalid value: "/etc/x.json": must be a relative path',
  ],
  "a seccomp file that climbs out": [
    { seccompProfile: { type: "Localhost", localhostProfile: "a/../../x.json" } },
    "seccompProfile.localhostProfile: Invalid value: \"a/../../x.json\": must not contain '..'",
  ],
  "an AppArmor profile without its type": [
    { appArmorProfile: {} },
    "appArmorProfile.type: Required value: type is required when appArmorProfile is set",
  ],
  "a Localhost AppArmor profile without its name": [
    { appArmorProfile: { type: "Localhost", localhostProfile: "" } },
    "appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost",
  ],
  "an AppArmor name with space around it": [
    { appArmorProfile: { type: "Localhost", localhostProfile: " web" } },
    'appArmorProfile.localhostProfile: Invalid value: " web": must not be padded with whitespace',
  ],
  "an AppArmor name that another type does not read": [
    { appArmorProfile: { type: "Unconfined", localhostProfile: "web" } },
    'appArmorProfile.localhostProfile: Invalid value: "web": can only be set when AppArmor type is Localhost',
  ],
  "a sysctl without a name": [{ sysctls: [{ value: "1" }] }, "sysctls[0].name: Required value"],
  "a sysctl with a name that cannot be": [
    { sysctls: [{ name: "net..core", value: "1" }] },
    `sysctls[0].name: Invalid value: "net..core": ${SYSCTL_RULE}`,
  ],
  "a sysctl twice": [
    {
      sysctls: [
        { name: "kernel.sem", value: "1" },
        { name: "kernel.sem", value: "2" },
      ],
    },
    'sysctls[1].name: Duplicate value: "kernel.sem"',
  ],
  "a sysctl whose value is a number": [
    { sysctls: [{ name: "kernel.sem", value: 1 }] },
    "sysctls[0].value: Invalid value: 1: must be a string; put it in quotes",
  ],
  "options of Windows": [
    { windowsOptions: { hostProcess: true } },
    "windowsOptions: this node runs Linux containers only",
  ],
  "a field of containers": [{ privileged: true }, "privileged: unknown field"],
};

test.each(Object.entries(ofPod))("a pod is refused for %s", (_, [securityContext, ...errors]) => {
  const expected = errors.map((error) => `spec.securityContext.${error}`);
  expect(refusals(writtenPod({ securityContext }))).toEqual(expected);
});

const ofContainer: Readonly<Record<string, readonly [written: object, ...errors: string[]]>> = {
  "an id that cannot be": [
    { runAsUser: -1, runAsGroup: 2147483648 },
    `.runAsUser: Invalid value: -1: ${ID_RULE}`,
    `.runAsGroup: Invalid value: 2147483648: ${ID_RULE}`,
  ],
  "being privileged without escalation": [
    { privileged: true, allowPrivilegeEscalation: false },
    ': Invalid value: {"privileged":true,"allowPrivilegeEscalation":false}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
  ],
  "CAP_SYS_ADMIN without escalation": [
    { allowPrivilegeEscalation: false, capabilities: { add: ["CAP_SYS_ADMIN"] } },
    ': Invalid value: {"allowPrivilegeEscalation":false,"capabilities":{"add":["CAP_SYS_ADMIN"]}}: cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
  ],
  "capabilities that have no such names": [
    { capabilities: { add: ["net admin", 5], drop: ["", null] } },
    `.capabilities.add[0]: Invalid value: "net admin": ${CAPABILITY_RULE}`,
    ".capabilities.add[1]: Invalid value: 5: must be a string; put it in quotes",
    `.capabilities.drop[0]: Invalid value: "": ${CAPABILITY_RULE}`,
    `.capabilities.drop[1]: Invalid value: "": ${CAPABILITY_RULE}`,
  ],
  "a procMount that does not exist": [
    { procMount: "unmasked" },
    '.procMount: Unsupported value: "unmasked": supported values: "Default", "Unmasked"',
  ],
  "a bare /proc in the node's user namespace": [
    { procMount: "Unmasked" },
    '.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
  ],
  "words where yes or no is asked for": [
    { readOnlyRootFilesystem: "true", runAsNonRoot: 1 },
    '.readOnlyRootFilesystem: Invalid value: "true": must be true or false',
    ".runAsNonRoot: Invalid value: 1: must be true or false",
  ],
  "a field of pods": [{ fsGroup: 5 }, ".fsGroup: unknown field"],
};

test.each(Object.entries(ofContainer))(
  "a container is refused for %s",
  (_, [securityContext, ...errors]) => {
    const at = (list: string): readonly string[] =>
      errors.map((error) => `spec.${list}[0].securityContext${error}`);
    expect(refusals(writtenPod({}, { securityContext }))).toEqual(at("containers"));
    expect(refusals(writtenPod(withInit({ securityContext })))).toEqual(at("initContainers"));
  },
);

describe("what a pod shares with the node", () => {
  const cases: Readonly<Record<string, readonly [spec: object, ...errors: string[]]>> = {
    "a user namespace of its own needs the other ones": [
      { hostUsers: false, hostNetwork: true, hostPID: true, hostIPC: true },
      "spec.hostNetwork: Forbidden: when `pod.Spec.HostUsers` is false",
      "spec.hostPID: Forbidden: when `pod.Spec.HostUsers` is false",
      "spec.hostIPC: Forbidden: when `pod.Spec.HostUsers` is false",
    ],
    "the node's processes and those of the pod alone": [
      { hostPID: true, shareProcessNamespace: true },
      "spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
    ],
    "a sysctl of the network on the node's network": [
      {
        hostNetwork: true,
        securityContext: {
          sysctls: [
            { name: "kernel.sem", value: "1" },
            { name: "net/core/somaxconn", value: "1" },
          ],
        },
      },
      "spec.securityContext.sysctls[1].name: Invalid value: \"net/core/somaxconn\": may not be specified when 'hostNetwork' is true",
    ],
    "a sysctl of IPC in the node's IPC": [
      {
        hostIPC: true,
        securityContext: {
          sysctls: [
            { name: "net.core.somaxconn", value: "1" },
            { name: "fs.mqueue.msg_max", value: "1" },
          ],
        },
      },
      "spec.securityContext.sysctls[1].name: Invalid value: \"fs.mqueue.msg_max\": may not be specified when 'hostIPC' is true",
    ],
  };
  test.each(Object.entries(cases))("refused: %s", (_, [spec, ...errors]) => {
    expect(refusals(writtenPod(spec))).toEqual(errors);
  });

  test("every namespace of the node may be shared at once", () => {
    expect(specOf(writtenPod({ hostNetwork: true, hostPID: true, hostIPC: true }))).toMatchObject({
      hostNetwork: true,
      hostPID: true,
      hostIPC: true,
      hostUsers: true,
    });
  });

  test("a bare /proc goes with a user namespace", () => {
    const value = writtenPod(
      { hostUsers: false, shareProcessNamespace: true },
      { securityContext: { procMount: "Unmasked" } },
    );
    expect(specOf(value)).toMatchObject({
      hostUsers: false,
      shareProcessNamespace: true,
      containers: [{ securityContext: { procMount: "Unmasked" } }],
    });
  });
});

test("a checkpoint is judged by nothing of this", () => {
  const value = writtenPod(
    { hostPID: true, shareProcessNamespace: true, securityContext: { runAsUser: -1, x: 1 } },
    { securityContext: { privileged: true, allowPrivilegeEscalation: false } },
  );
  expect(specOf(value, { lenient: true })).toMatchObject({
    hostPID: true,
    securityContext: { runAsUser: -1 },
    containers: [{ securityContext: { privileged: true, allowPrivilegeEscalation: false } }],
  });
});
