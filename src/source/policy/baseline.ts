// The profile baseline for pods of documents: Pod Security "baseline" plus hostPort.
// Files and devices of the node are judged in host-paths-and-devices.ts.

import { formatPath, type FieldPath } from "../../api/decode/field-path.ts";
import type { ProbeHandler } from "../../api/v1/probe.ts";
import { placedContainers, type Pod } from "../../api/v1/pod.ts";
import { isSystemCritical } from "../../api/resource/priority.ts";
import type { SELinuxOptions, SecurityProfile } from "../../api/v1/security-context.ts";
import { isSafeSysctl } from "../../api/validation/sysctls.ts";
import type { FieldError } from "../../lib/result.ts";
import type { Container } from "../../api/v1/container.ts";
import { BASELINE_REMEDY } from "./host-paths-and-devices.ts";
import { type LifecycleHandler } from "../../api/v1/lifecycle.ts";

/** The default capabilities of containers: to ask for them adds nothing. */
const CAPABILITIES: readonly string[] = [
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
];
const SELINUX_TYPES: readonly string[] = [
  "",
  "container_t",
  "container_init_t",
  "container_kvm_t",
  "container_engine_t",
];
/** Older than the field; the rest of the key is the name of a container. */
const APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/";

interface Breach {
  readonly path: FieldPath;
  /** Without the remedy. */
  readonly why: string;
  /** An alternative that is allowed; absent = there is none. */
  readonly instead?: string;
}

/** Every field that the profile forbids, with its path and the remedy; hostPort is allowed. */
export function forbiddenByBaseline(pod: Pod): readonly FieldError[] {
  const ofContainers = placedContainers(pod.spec).flatMap(({ container, path }) => [
    ...ofContext(container, [...path, "securityContext"]),
    ...ofReach(container, path),
  ]);
  const breaches = [...ofPod(pod), ...ofPodContext(pod), ...ofContainers];
  return breaches.map(({ path, why, instead }) => ({
    path: formatPath(path),
    code: "Forbidden",
    message: `${why}; ${instead === undefined ? "" : `${instead}, or `}${BASELINE_REMEDY}`,
  }));
}

function ofPod({ metadata, spec }: Pod): Breach[] {
  const breaches: Breach[] = [];
  if (spec.hostNetwork)
    breaches.push({
      path: ["spec", "hostNetwork"],
      why: "the node's network is not for pods of documents",
      instead: "use ports with hostPort",
    });
  if (spec.hostPID)
    breaches.push({
      path: ["spec", "hostPID"],
      why: "the node's processes are not for pods of documents",
    });
  if (spec.hostIPC)
    breaches.push({
      path: ["spec", "hostIPC"],
      why: "the node's shared memory is not for pods of documents",
    });
  if (isSystemCritical(spec))
    breaches.push({
      path: ["spec", spec.priorityClassName === undefined ? "priority" : "priorityClassName"],
      why: "pods of documents must not outlive the node's own pods when memory runs out",
      instead: "use a class of the node's priorityClasses",
    });
  for (const [key, value] of Object.entries(metadata.annotations)) {
    if (!key.startsWith(APPARMOR_ANNOTATION) || isConfining(value)) continue;
    breaches.push({
      path: ["metadata", "annotations", key],
      why: `pods of documents must not run without an AppArmor profile (${JSON.stringify(value)})`,
      instead: "leave it out",
    });
  }
  return breaches;
}

function isConfining(profile: string): boolean {
  return profile === "" || profile === "runtime/default" || profile.startsWith("localhost/");
}

function ofPodContext({ spec }: Pod): Breach[] {
  const path = ["spec", "securityContext"];
  const unsafe = spec.securityContext.sysctls.flatMap(({ name }, index) =>
    isSafeSysctl(name)
      ? []
      : [
          {
            path: [...path, "sysctls", index, "name"],
            why: `sysctl ${JSON.stringify(name)} is not in the safe set; pods of documents may set only those`,
          },
        ],
  );
  return [...unsafe, ...ofProfiles(spec.securityContext, path)];
}

function ofContext({ securityContext: context }: Container, path: FieldPath): Breach[] {
  const breaches: Breach[] = [];
  if (context.privileged === true)
    breaches.push({
      path: [...path, "privileged"],
      why: "pods of documents must not be privileged",
    });
  for (const [index, name] of (context.capabilities?.add ?? []).entries()) {
    if (CAPABILITIES.includes(name.toUpperCase().replace(/^CAP_/, ""))) continue;
    breaches.push({
      path: [...path, "capabilities", "add", index],
      why: `capability ${JSON.stringify(name)} is not for pods of documents`,
    });
  }
  if (context.procMount === "Unmasked")
    breaches.push({
      path: [...path, "procMount"],
      why: "pods of documents must not see all of /proc",
      instead: "leave it out",
    });
  return [...breaches, ...ofProfiles(context, path)];
}

interface Profiles {
  readonly seccompProfile?: SecurityProfile;
  readonly appArmorProfile?: SecurityProfile;
  readonly seLinuxOptions?: SELinuxOptions;
}

function ofProfiles(context: Profiles, path: FieldPath): Breach[] {
  const breaches: Breach[] = [];
  for (const [field, what] of [
    ["seccompProfile", "a seccomp profile"],
    ["appArmorProfile", "an AppArmor profile"],
  ] as const) {
    if (context[field]?.type !== "Unconfined") continue;
    breaches.push({
      path: [...path, field, "type"],
      why: `pods of documents must not run without ${what}`,
      instead: "write RuntimeDefault or leave it out",
    });
  }
  const { type = "", user = "", role = "" } = context.seLinuxOptions ?? {};
  for (const [field, value, isAllowed] of [
    ["type", type, SELINUX_TYPES.includes(type)],
    ["user", user, user === ""],
    ["role", role, role === ""],
  ] as const) {
    if (isAllowed) continue;
    breaches.push({
      path: [...path, "seLinuxOptions", field],
      why: `the SELinux ${field} ${JSON.stringify(value)} is not for pods of documents`,
      instead: "leave it out",
    });
  }
  return breaches;
}

/** Access beyond the container that is not declared in its security context. */
function ofReach(container: Container, path: FieldPath): Breach[] {
  return handlersOf(container).flatMap(([keys, handler]) => {
    if (handler === undefined || !("host" in handler) || handler.host === undefined) return [];
    if (handler.host === "") return [];
    return [
      {
        path: [...path, ...keys, handler.type, "host"],
        why: `the node must not connect to ${JSON.stringify(handler.host)} for pods of documents`,
        instead: "leave it out to use the pod's own address",
      },
    ];
  });
}

type Handled = readonly [keys: FieldPath, handler: ProbeHandler | LifecycleHandler | undefined];

function handlersOf(container: Container): readonly Handled[] {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  return [
    [["livenessProbe"], livenessProbe?.handler],
    [["readinessProbe"], readinessProbe?.handler],
    [["startupProbe"], startupProbe?.handler],
    [["lifecycle", "postStart"], lifecycle.postStart],
    [["lifecycle", "preStop"], lifecycle.preStop],
  ];
}
