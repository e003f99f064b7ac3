// Who a pod's processes are and what they may do.

import { refused } from "../decode/field-rules.ts";
import { field, type Field, type Level } from "./field.ts";
import { NO_WINDOWS } from "./refusals.ts";

export const CAPABILITIES: Level = {
  add: field(
    "[]string",
    "Capabilities beyond those of the runtime's default, such as NET_ADMIN or ALL.",
  ),
  drop: field("[]string", "Capabilities to take away, such as ALL."),
};

export const SECCOMP_PROFILE: Level = {
  type: field("string", "RuntimeDefault, Localhost or Unconfined.", { required: true }),
  localhostProfile: field(
    "string",
    "File below the node's directory of seccomp profiles; with type Localhost only.",
  ),
};

export const APP_ARMOR_PROFILE: Level = {
  type: field("string", "RuntimeDefault, Localhost or Unconfined.", { required: true }),
  localhostProfile: field(
    "string",
    "Name of a profile that the kernel has loaded; with type Localhost only.",
  ),
};

export const SELINUX_OPTIONS: Level = {
  user: field("string", "User part of the SELinux label."),
  role: field("string", "Role part of the SELinux label."),
  type: field("string", "Type part of the SELinux label."),
  level: field("string", "Level part of the SELinux label."),
};

export const SYSCTL: Level = {
  name: field("string", "Name of the kernel parameter, such as net.ipv4.ip_local_port_range.", {
    required: true,
  }),
  value: field("string", "Its value.", { required: true }),
};

const WINDOWS_OPTIONS: Field = field("WindowsSecurityContextOptions", "Options of Windows.", {
  rule: refused(NO_WINDOWS, {}),
});

export const POD_SECURITY_CONTEXT: Level = {
  runAsUser: field("integer", "User ID of all processes; the image's if it is not written."),
  runAsGroup: field("integer", "Group ID of all processes; the image's if it is not written."),
  runAsNonRoot: field("boolean", "Whether to refuse to start a container whose user is root."),
  supplementalGroups: field("[]integer", "Further groups of all processes."),
  supplementalGroupsPolicy: field(
    "string",
    "Merge: the groups that the image gives its user count too. Strict: they do not.",
  ),
  fsGroup: field(
    "integer",
    "Group that owns the files of the pod's volumes, and of all processes.",
  ),
  fsGroupChangePolicy: field(
    "string",
    "Always: files get their group at each start. OnRootMismatch: only if the volume's root has another.",
  ),
  seccompProfile: field("SeccompProfile", "Which system calls are allowed.", {
    level: SECCOMP_PROFILE,
  }),
  appArmorProfile: field("AppArmorProfile", "AppArmor profile of every container.", {
    level: APP_ARMOR_PROFILE,
  }),
  seLinuxOptions: field("SELinuxOptions", "SELinux label of every container.", {
    level: SELINUX_OPTIONS,
  }),
  seLinuxChangePolicy: field(
    "string",
    "How volumes get their SELinux label: MountOption or Recursive.",
  ),
  sysctls: field(
    "[]Sysctl",
    "Kernel parameters of the pod. The safe ones always work, others if this node allows them.",
    { level: SYSCTL },
  ),
  windowsOptions: WINDOWS_OPTIONS,
};

export const SECURITY_CONTEXT: Level = {
  privileged: field("boolean", "Whether the container may do on the node whatever root may do."),
  allowPrivilegeEscalation: field(
    "boolean",
    "Whether a process may gain more than its parent has; false sets no_new_privs.",
  ),
  capabilities: field("Capabilities", "Capabilities to add and to drop.", { level: CAPABILITIES }),
  readOnlyRootFilesystem: field(
    "boolean",
    "Whether the container's root file system is read-only.",
  ),
  procMount: field("string", "Default: parts of /proc are hidden. Unmasked: all of it is shown."),
  runAsUser: field("integer", "User ID, before the pod's."),
  runAsGroup: field("integer", "Group ID, before the pod's."),
  runAsNonRoot: field("boolean", "Whether to refuse to start as root, before the pod's."),
  seccompProfile: field("SeccompProfile", "Which system calls are allowed, before the pod's.", {
    level: SECCOMP_PROFILE,
  }),
  appArmorProfile: field("AppArmorProfile", "AppArmor profile, before the pod's.", {
    level: APP_ARMOR_PROFILE,
  }),
  seLinuxOptions: field("SELinuxOptions", "SELinux label, before the pod's.", {
    level: SELINUX_OPTIONS,
  }),
  windowsOptions: WINDOWS_OPTIONS,
};
