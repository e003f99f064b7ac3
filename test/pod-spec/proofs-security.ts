// Tests of who a pod's processes are and what they may do.

import { below, type Proof } from "./proof.ts";

const POD = "pod.spec.securityContext";
const CONTAINER = "pod.spec.containers.securityContext";
const INSIDE = "test/e2e/linux-security.test.ts";
const RUNTIME = "test/unit/runtime/cri-config/security-context.test.ts";
const APPARMOR = "test/unit/runtime/cri-config/apparmor.test.ts";

export const SECURITY_PROOFS: readonly Proof[] = [
  {
    fields: [CONTAINER, ...below(CONTAINER, "capabilities", "capabilities.*")],
    proof: "here",
    test: INSIDE,
    title: "root has its capabilities: %s",
  },
  {
    fields: below(CONTAINER, "readOnlyRootFilesystem"),
    proof: "here",
    test: INSIDE,
    title: "a read-only root file system takes nothing, a volume does",
  },
  {
    fields: below(CONTAINER, "procMount"),
    proof: "here",
    test: INSIDE,
    title:
      "other containers see nothing of what is masked, and do not write the kernel's settings: %s",
  },
  {
    fields: below(CONTAINER, "privileged"),
    proof: "here",
    test: INSIDE,
    title: "a privileged container sees and may do what the node's root may",
  },
  {
    fields: below(CONTAINER, "allowPrivilegeEscalation"),
    proof: "here",
    test: INSIDE,
    title: "no new privileges only where escalation is forbidden: %s",
  },
  {
    fields: below(CONTAINER, "procMount"),
    proof: "request",
    test: RUNTIME,
    title: "an unmasked proc hides nothing, and does not make the container privileged",
  },
  {
    fields: [POD, ...below(POD, "runAsUser", "runAsGroup")],
    proof: "here",
    test: INSIDE,
    title: "a container runs as %s user and group, with the pod's groups",
  },
  {
    fields: below(CONTAINER, "runAsUser", "runAsGroup"),
    proof: "here",
    test: INSIDE,
    title: "a container runs as %s user and group, with the pod's groups",
  },
  {
    fields: [...below(POD, "runAsNonRoot"), ...below(CONTAINER, "runAsNonRoot")],
    proof: "here",
    test: INSIDE,
    title: "runAsNonRoot keeps a container from starting: %s",
  },
  {
    fields: [...below(POD, "runAsNonRoot"), ...below(CONTAINER, "runAsNonRoot")],
    proof: "here",
    test: INSIDE,
    title: "runAsNonRoot lets a container start %s",
  },
  {
    fields: below(POD, "supplementalGroups"),
    proof: "here",
    test: INSIDE,
    title: "a container runs as %s user and group, with the pod's groups",
  },
  {
    fields: below(POD, "supplementalGroupsPolicy"),
    proof: "request",
    test: RUNTIME,
    title: "Strict is refused where the image's groups would count all the same",
  },
  {
    fields: below(POD, "supplementalGroupsPolicy", "seLinuxOptions"),
    proof: "request",
    test: "test/e2e/linux-features.test.ts",
    title: "what the runtime cannot is refused, never left out",
  },
  {
    fields: below(POD, "fsGroup"),
    proof: "here",
    test: INSIDE,
    title: "a container runs as %s user and group, with the pod's groups",
  },
  {
    fields: below(POD, "fsGroup"),
    proof: "here",
    test: "test/component/volume/claim-directory.test.ts",
    title: "owns everything in it, and nothing that a link leads to",
  },
  {
    fields: below(POD, "fsGroupChangePolicy"),
    proof: "here",
    test: "test/component/volume/claim-directory.test.ts",
    title: "with OnRootMismatch is not looked for below a root that fits",
  },
  {
    fields: below(POD, "seccompProfile", "seccompProfile.type").concat(
      below(CONTAINER, "seccompProfile", "seccompProfile.type"),
    ),
    proof: "here",
    test: INSIDE,
    title: "a container has a seccomp profile: %s",
  },
  {
    fields: [...below(POD, "seccompProfile.localhostProfile")].concat(
      below(CONTAINER, "seccompProfile.localhostProfile"),
    ),
    proof: "here",
    test: INSIDE,
    title: "a container waits for its profile, and starts when it is there",
  },
  {
    fields: below(POD, "appArmorProfile", "appArmorProfile.*").concat(
      below(CONTAINER, "appArmorProfile", "appArmorProfile.*"),
    ),
    proof: "request",
    test: APPARMOR,
    title: "each type in both of its forms",
  },
  {
    fields: below(POD, "appArmorProfile"),
    proof: "here",
    test: "test/e2e/linux-admission.test.ts",
    title: "a profile of AppArmor is refused where nobody can enforce it",
  },
  {
    fields: below(POD, "seLinuxOptions", "seLinuxOptions.*").concat(
      below(CONTAINER, "seLinuxOptions", "seLinuxOptions.*"),
    ),
    proof: "request",
    test: RUNTIME,
    title: "labels of the pod where the container has none",
  },
  {
    fields: below(POD, "seccompProfile").concat(below(CONTAINER, "seccompProfile")),
    proof: "here",
    test: INSIDE,
    title: "with seccompDefault the runtime's profile is the default: %s",
  },
  {
    fields: below(POD, "seLinuxChangePolicy"),
    proof: "request",
    test: "test/unit/api/v1/security-context.test.ts",
    title: "every field of a pod",
  },
  {
    fields: below(POD, "sysctls", "sysctls.*"),
    proof: "here",
    test: "test/e2e/linux-namespaces.test.ts",
    title: "safe sysctls are set for the pod and nobody else",
  },
  {
    fields: below(POD, "sysctls", "sysctls.name"),
    proof: "here",
    test: "test/e2e/linux-namespaces.test.ts",
    title: "unsafe sysctls are refused, unless the configuration allows them",
  },
];
