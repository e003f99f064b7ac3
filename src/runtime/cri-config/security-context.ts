// Security contexts in CRI's form; a container's fields take precedence over its pod's.
// kubelet: determineEffectiveSecurityContext, generatePodSandboxLinuxConfig, ConvertToRuntimeMaskedPaths

import type { IdRange } from "../../api/pod/observed-pod.ts";
import { allContainers, podName, type Pod } from "../../api/v1/pod.ts";
import type { Capabilities, SecurityContext } from "../../api/v1/security-context.ts";
import type {
  LinuxContainerSecurityContextInit,
  LinuxSandboxSecurityContextInit,
} from "../../cri/cri-client.ts";
import {
  SecurityProfile_ProfileType as ProfileType,
  SupplementalGroupsPolicy,
} from "../../cri/gen/runtime/v1/api_pb.ts";
import { appArmorProfile } from "./apparmor.ts";
import { unsupported, type RuntimeFeatures } from "./features.ts";
import { seccompProfile, type SeccompFacts } from "./seccomp.ts";
import { selinuxOf, type SelinuxFacts } from "./selinux.ts";
import type { Container } from "../../api/v1/container.ts";
import { namespaceOptions } from "./namespaces.ts";
import { configError } from "../../lib/errors.ts";

/** An image on this node and its user; neither uid nor name = root. */
export interface LocalImage {
  /** The runtime's reference. */
  readonly ref: string;
  readonly uid?: number;
  /** "" = none, or `uid` is set. */
  readonly username: string;
}

export interface SandboxSecurityFacts extends SelinuxFacts {
  readonly features: RuntimeFeatures;
  /** Only with hostUsers: false. */
  readonly userNamespace?: IdRange;
}

export interface SecurityFacts extends SandboxSecurityFacts, SeccompFacts {
  readonly image: Pick<LocalImage, "uid" | "username">;
  /** Paths of this machine, in addition to `MASKED`. */
  readonly maskedPaths: readonly string[];
}

/**
 * Throws AgentError: `CreateContainerConfigError` if the container would run as root despite runAsNonRoot, or its seccomp
 * profile does not exist; `UnsupportedByRuntime` if it would be isolated less than its spec asks for.
 */
export function containerSecurityContext(
  pod: Pod,
  container: Container,
  facts: SecurityFacts,
): LinuxContainerSecurityContextInit {
  const { securityContext } = container;
  const ofPod = pod.spec.securityContext;
  const runAsGroup = securityContext.runAsGroup ?? ofPod.runAsGroup;
  const { capabilities } = securityContext;
  requireNonRoot(pod, container, facts.image);
  return {
    ...(capabilities === undefined ? {} : { capabilities: criCapabilities(capabilities) }),
    privileged: securityContext.privileged === true,
    namespaceOptions: namespaceOptions(pod.spec, facts.userNamespace),
    ...selinuxOf(securityContext.seLinuxOptions ?? ofPod.seLinuxOptions, facts),
    ...userOf(securityContext.runAsUser ?? ofPod.runAsUser, facts.image),
    ...(runAsGroup === undefined ? {} : { runAsGroup: { value: BigInt(runAsGroup) } }),
    ...groupsOf(pod, facts.features),
    readonlyRootfs: securityContext.readOnlyRootFilesystem === true,
    noNewPrivs: securityContext.allowPrivilegeEscalation === false,
    ...hiddenPaths(securityContext, facts.maskedPaths),
    seccomp: seccompProfile(pod, container, facts),
    ...appArmorProfile(pod, container),
  };
}

/** Throws AgentError `UnsupportedByRuntime` like `containerSecurityContext`. */
export function sandboxSecurityContext(
  pod: Pod,
  facts: SandboxSecurityFacts,
): LinuxSandboxSecurityContextInit {
  const { runAsUser, runAsGroup, seLinuxOptions } = pod.spec.securityContext;
  return {
    namespaceOptions: namespaceOptions(pod.spec, facts.userNamespace),
    ...selinuxOf(seLinuxOptions, facts),
    ...(runAsUser === undefined ? {} : { runAsUser: { value: BigInt(runAsUser) } }),
    // Runtimes refuse a group without a user.
    ...(runAsUser === undefined || runAsGroup === undefined
      ? {}
      : { runAsGroup: { value: BigInt(runAsGroup) } }),
    ...groupsOf(pod, facts.features),
    // A privileged container needs a privileged sandbox.
    privileged: allContainers(pod.spec).some(
      ({ securityContext }) => securityContext.privileged === true,
    ),
    seccomp: { profileType: sandboxSeccomp(pod) },
  };
}

/**
 * Unlike the kubelet's, not always RuntimeDefault: the pause process only waits, and compiling its filter takes a tenth of
 * every start.
 */
function sandboxSeccomp({ spec }: Pod): ProfileType {
  const type = spec.securityContext.seccompProfile?.type;
  return type === "RuntimeDefault" ? ProfileType.RuntimeDefault : ProfileType.Unconfined;
}

/** kubelet: verifyRunAsNonRoot, with its messages */
function requireNonRoot(pod: Pod, container: Container, image: SecurityFacts["image"]): void {
  const [own, ofPod] = [container.securityContext, pod.spec.securityContext];
  if ((own.runAsNonRoot ?? ofPod.runAsNonRoot) !== true) return;
  const problem = rootProblem(own.runAsUser ?? ofPod.runAsUser, image);
  if (problem === undefined) return;
  const message = `${problem} (pod: "${podName(pod)}", container: ${container.name})`;
  throw configError(message);
}

function rootProblem(
  runAsUser: number | undefined,
  { uid, username }: SecurityFacts["image"],
): string | undefined {
  if (runAsUser === 0) return "container's runAsUser breaks non-root policy";
  if (runAsUser !== undefined) return undefined;
  if (uid === 0 || (uid === undefined && username === ""))
    return "container has runAsNonRoot and image will run as root";
  if (uid === undefined)
    return `container has runAsNonRoot and image has non-numeric user (${username}), cannot verify user is non-root`;
  return undefined;
}

/** An image without a user runs as root: sent as uid 0, because runtimes refuse a group without a user. */
function userOf(
  runAsUser: number | undefined,
  { uid, username }: SecurityFacts["image"],
): Pick<LinuxContainerSecurityContextInit, "runAsUser" | "runAsUsername"> {
  const known = runAsUser ?? uid;
  if (known !== undefined) return { runAsUser: { value: BigInt(known) } };
  return username === "" ? { runAsUser: { value: 0n } } : { runAsUsername: username };
}

function groupsOf(
  { spec }: Pod,
  features: RuntimeFeatures,
): Pick<LinuxSandboxSecurityContextInit, "supplementalGroups" | "supplementalGroupsPolicy"> {
  const { fsGroup, supplementalGroups, supplementalGroupsPolicy: policy } = spec.securityContext;
  const groups = [...(fsGroup === undefined ? [] : [fsGroup]), ...supplementalGroups].map(BigInt);
  if (policy === undefined) return { supplementalGroups: groups };
  if (policy === "Strict" && !features.supplementalGroupsPolicy)
    throw unsupported(
      "supplementalGroupsPolicy: Strict needs a runtime that knows it (containerd 2.0 or newer); update it, or remove supplementalGroupsPolicy",
    );
  return {
    supplementalGroups: groups,
    supplementalGroupsPolicy: SupplementalGroupsPolicy[policy],
  };
}

/** Without `CAP_`: the runtime adds that prefix, and would silently not drop `CAP_CAP_NET_RAW`. */
function criCapabilities({ add, drop }: Capabilities) {
  const plain = (name: string): string => name.toUpperCase().replace(/^CAP_/, "");
  return { addCapabilities: add.map(plain), dropCapabilities: drop.map(plain) };
}

// The runtime masks no path by itself.
const MASKED: readonly string[] = [
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
];
const READONLY: readonly string[] = [
  "/proc/bus",
  "/proc/fs",
  "/proc/irq",
  "/proc/sys",
  "/proc/sysrq-trigger",
];

/** `more`: paths of this machine. A privileged container sees everything. */
export function hiddenPaths(
  { privileged, procMount }: SecurityContext,
  more: readonly string[],
): { readonly maskedPaths: string[]; readonly readonlyPaths: string[] } {
  if (privileged === true || procMount === "Unmasked")
    return { maskedPaths: [], readonlyPaths: [] };
  return { maskedPaths: [...MASKED, ...more], readonlyPaths: [...READONLY] };
}
