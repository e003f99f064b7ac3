// Whom a container runs as and what it may do, as CRI has it: what the container says goes before what its pod says.
// kubelet: determineEffectiveSecurityContext, generatePodSandboxLinuxConfig

import type { IdRange } from "../../api/pod/observed-pod.ts";
import { allContainers, podName, type Pod } from "../../api/v1/pod.ts";
import type {
  Capabilities,
  SecurityContext,
  SELinuxOptions,
} from "../../api/v1/security-context.ts";
import type {
  LinuxContainerSecurityContextInit,
  LinuxSandboxSecurityContextInit,
} from "../../cri/cri-client.ts";
import {
  SecurityProfile_ProfileType as ProfileType,
  SupplementalGroupsPolicy,
} from "../../cri/gen/runtime/v1/api_pb.ts";
import { AgentError } from "../../lib/errors.ts";
import type { LocalImage } from "../decide/action-input.ts";
import { unsupported, type RuntimeFeatures } from "./features.ts";
import { hiddenPaths } from "./masked-paths.ts";
import { namespaceOptions } from "./namespaces.ts";
import { appArmorProfile, seccompProfile, type SeccompFacts } from "./seccomp.ts";
import type { Container } from "../../api/v1/container.ts";

export interface SandboxSecurityFacts {
  readonly features: RuntimeFeatures;
  /** Whether the node's kernel has SELinux. */
  readonly isSelinuxNode: boolean;
  /** Of a pod with hostUsers: false. */
  readonly userNamespace?: IdRange;
}

export interface SecurityFacts extends SandboxSecurityFacts, SeccompFacts {
  readonly image: Pick<LocalImage, "uid" | "username">;
  /** Beside the ones that every machine has. */
  readonly maskedPaths: readonly string[];
}

/**
 * Throws AgentError: `CreateContainerConfigError` for a container that may not be root and would be, or whose seccomp profile is not there;
 * `UnsupportedByRuntime` where it would be less isolated than is written.
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

/** Throws AgentError `UnsupportedByRuntime` like the other. */
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
    // A privileged container needs a sandbox that is.
    privileged: allContainers(pod.spec).some(
      ({ securityContext }) => securityContext.privileged === true,
    ),
    seccomp: { profileType: sandboxSeccomp(pod) },
  };
}

/** The kubelet always asks for RuntimeDefault, for a program that only waits; its filter takes a tenth of every start. */
function sandboxSeccomp({ spec }: Pod): ProfileType {
  const type = spec.securityContext.seccompProfile?.type;
  return type === "RuntimeDefault" ? ProfileType.RuntimeDefault : ProfileType.Unconfined;
}

/** kubelet: verifyRunAsNonRoot, in its words. */
function requireNonRoot(pod: Pod, container: Container, image: SecurityFacts["image"]): void {
  const { runAsUser, runAsNonRoot } = effective(pod, container);
  if (runAsNonRoot !== true) return;
  const problem = rootProblem(runAsUser, image);
  if (problem === undefined) return;
  const message = `${problem} (pod: "${podName(pod)}", container: ${container.name})`;
  throw new AgentError({ reason: "CreateContainerConfigError", message });
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

function effective(
  { spec }: Pod,
  { securityContext }: Container,
): Pick<SecurityContext, "runAsUser" | "runAsNonRoot"> {
  const runAsUser = securityContext.runAsUser ?? spec.securityContext.runAsUser;
  const runAsNonRoot = securityContext.runAsNonRoot ?? spec.securityContext.runAsNonRoot;
  return {
    ...(runAsUser === undefined ? {} : { runAsUser }),
    ...(runAsNonRoot === undefined ? {} : { runAsNonRoot }),
  };
}

/** An image that names nobody runs as root: said out loud, as runtimes refuse a group without a user. */
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
): {
  readonly supplementalGroups: bigint[];
  readonly supplementalGroupsPolicy?: SupplementalGroupsPolicy;
} {
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

/** As the runtime wants them, which puts `CAP_` before each: `CAP_CAP_NET_RAW` would be dropped from nobody. */
function criCapabilities({ add, drop }: Capabilities): {
  readonly addCapabilities: string[];
  readonly dropCapabilities: string[];
} {
  const plain = (name: string): string => name.toUpperCase().replace(/^CAP_/, "");
  return { addCapabilities: add.map(plain), dropCapabilities: drop.map(plain) };
}

function selinuxOf(
  options: SELinuxOptions | undefined,
  { features, isSelinuxNode }: SandboxSecurityFacts,
): Pick<LinuxContainerSecurityContextInit, "selinuxOptions"> {
  if (options === undefined) return {};
  const { user = "", role = "", type = "", level = "" } = options;
  // This one type asks for no confinement, which is what there is without SELinux.
  if (type !== "spc_t" && !(isSelinuxNode && features.selinux))
    throw unsupported(
      "seLinuxOptions need SELinux on this node and in its runtime (containerd: enable_selinux = true); switch it on, or remove seLinuxOptions",
    );
  return { selinuxOptions: { user, role, type, level } };
}
