// securityContext as written, of a pod and of a container → who its processes are and what they may do.

import {
  booleanField,
  checkFields,
  choiceField,
  integerField,
  invalid,
  invalidValue,
  isUnwritten,
  listField,
  objectField,
  objectList,
  required,
  stringField,
  stringList,
  type Node,
} from "../field-reader.ts";
import { optional } from "../optional-field.ts";
import {
  APP_ARMOR_PROFILE,
  CAPABILITIES,
  POD_SECURITY_CONTEXT,
  SECCOMP_PROFILE,
  SECURITY_CONTEXT,
  SELINUX_OPTIONS,
  SYSCTL,
} from "../../schema/security.ts";
import type {
  Capabilities,
  PodSecurityContext,
  SecurityContext,
  SecurityProfile,
  SELinuxOptions,
  Sysctl,
} from "../../v1/security-context.ts";
import { capabilityError, descendingPathError, idError } from "../../validation/validate-names.ts";

const MAX_SYSCTL_NAME = 253;
const SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const SYSCTL_NAME = new RegExp(`^(${SYSCTL_SEGMENT}[./])*${SYSCTL_SEGMENT}$`);
/** PATH_MAX without its end. */
const MAX_APP_ARMOR_PROFILE = 4095;

const GROUPS_POLICIES: readonly PodWord<"supplementalGroupsPolicy">[] = ["Merge", "Strict"];
const CHANGE_POLICIES: readonly PodWord<"fsGroupChangePolicy">[] = ["Always", "OnRootMismatch"];
const LABEL_POLICIES: readonly PodWord<"seLinuxChangePolicy">[] = ["MountOption", "Recursive"];
const PROC_MOUNTS: readonly NonNullable<SecurityContext["procMount"]>[] = ["Default", "Unmasked"];

type PodWord<K extends keyof PodSecurityContext> = NonNullable<PodSecurityContext[K]>;

export function decodePodSecurity(spec: Node): PodSecurityContext {
  const node = objectField(spec, "securityContext");
  if (node === undefined) return { supplementalGroups: [], sysctls: [] };
  checkFields(node, POD_SECURITY_CONTEXT);
  return {
    ...optional("fsGroup", idField(node, "fsGroup")),
    ...identity(node),
    supplementalGroups: idList(node, "supplementalGroups"),
    ...optional(
      "supplementalGroupsPolicy",
      choiceField(node, "supplementalGroupsPolicy", GROUPS_POLICIES),
    ),
    ...optional("fsGroupChangePolicy", choiceField(node, "fsGroupChangePolicy", CHANGE_POLICIES)),
    ...profiles(node),
    ...optional("seLinuxChangePolicy", choiceField(node, "seLinuxChangePolicy", LABEL_POLICIES)),
    sysctls: decodeSysctls(node),
  };
}

/** The `securityContext` of the container that `container` is. */
export function decodeContainerSecurity(container: Node): SecurityContext {
  const node = objectField(container, "securityContext");
  if (node === undefined) return {};
  checkFields(node, SECURITY_CONTEXT);
  const security: SecurityContext = {
    ...optional("privileged", booleanField(node, "privileged")),
    ...optional("allowPrivilegeEscalation", booleanField(node, "allowPrivilegeEscalation")),
    ...optional("capabilities", decodeCapabilities(node)),
    ...optional("readOnlyRootFilesystem", booleanField(node, "readOnlyRootFilesystem")),
    ...optional("procMount", choiceField(node, "procMount", PROC_MOUNTS)),
    ...identity(node),
    ...profiles(node),
  };
  judgeEscalation(node, security);
  return security;
}

type Identity = Pick<SecurityContext, "runAsUser" | "runAsGroup" | "runAsNonRoot">;
type Profiles = Pick<SecurityContext, "seccompProfile" | "appArmorProfile" | "seLinuxOptions">;

function identity(node: Node): Identity {
  return {
    ...optional("runAsUser", idField(node, "runAsUser")),
    ...optional("runAsGroup", idField(node, "runAsGroup")),
    ...optional("runAsNonRoot", booleanField(node, "runAsNonRoot")),
  };
}

function profiles(node: Node): Profiles {
  return {
    ...optional("seccompProfile", decodeSeccomp(node)),
    ...optional("appArmorProfile", decodeAppArmor(node)),
    ...optional("seLinuxOptions", decodeSELinux(node)),
  };
}

/** k8s: ValidateSecurityContext */
function judgeEscalation(node: Node, security: SecurityContext): void {
  if (security.allowPrivilegeEscalation !== false) return;
  const refuse = (message: string): void => {
    node.findings.fail(node.path, "Invalid", invalidValue(node.value, message));
  };
  if (security.privileged === true)
    refuse("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
  // Kubernetes asks for this spelling and no other: what it accepts as SYS_ADMIN runs here too.
  if (security.capabilities?.add.includes("CAP_SYS_ADMIN") === true)
    refuse("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
}

function decodeCapabilities(security: Node): Capabilities | undefined {
  const node = objectField(security, "capabilities");
  if (node === undefined) return undefined;
  checkFields(node, CAPABILITIES);
  return { add: capabilityList(node, "add"), drop: capabilityList(node, "drop") };
}

function capabilityList(node: Node, key: "add" | "drop"): readonly string[] {
  const names = stringList(node, key);
  for (const [index, name] of names.entries()) {
    const error = capabilityError(name);
    const written = listField(node, key)[index];
    // What is no text has been said.
    if (error === undefined || (typeof written !== "string" && written !== null)) continue;
    node.findings.fail([...node.path, key, index], "Invalid", invalidValue(name, error));
  }
  return names;
}

function decodeSeccomp(security: Node): SecurityProfile | undefined {
  const node = objectField(security, "seccompProfile");
  if (node === undefined) return undefined;
  checkFields(node, SECCOMP_PROFILE);
  return decodeProfile(node, "seccomp", descendingPathError);
}

function decodeAppArmor(security: Node): SecurityProfile | undefined {
  const node = objectField(security, "appArmorProfile");
  if (node === undefined) return undefined;
  checkFields(node, APP_ARMOR_PROFILE);
  return decodeProfile(node, "AppArmor", appArmorNameError);
}

/** k8s: validateSeccompProfileField, ValidateAppArmorProfileField */
function decodeProfile(
  node: Node,
  kind: "seccomp" | "AppArmor",
  errorOf: (localhostProfile: string) => string | undefined,
): SecurityProfile | undefined {
  const type = choiceField(node, "type", ["Localhost", "RuntimeDefault", "Unconfined"]);
  if ((node.value["type"] ?? "") === "")
    required(node, "type", `type is required when ${node.path.at(-1) ?? ""} is set`);
  const localhostProfile = stringField(node, "localhostProfile");
  if (type === undefined) return undefined;
  if (type !== "Localhost") {
    if (localhostProfile !== undefined)
      invalid(node, "localhostProfile", `can only be set when ${kind} type is Localhost`);
    return { type };
  }
  if (localhostProfile === undefined || localhostProfile === "") {
    required(node, "localhostProfile", `must be set when ${kind} type is Localhost`);
    return undefined;
  }
  const error = errorOf(localhostProfile);
  if (error !== undefined) invalid(node, "localhostProfile", error);
  return { type, localhostProfile };
}

/** What is wrong with the name of a loaded AppArmor profile. */
export function appArmorNameError(name: string): string | undefined {
  if (name !== name.trim()) return "must not be padded with whitespace";
  if (name.length <= MAX_APP_ARMOR_PROFILE) return undefined;
  return `must be no more than ${MAX_APP_ARMOR_PROFILE} characters`;
}

function decodeSELinux(security: Node): SELinuxOptions | undefined {
  const node = objectField(security, "seLinuxOptions");
  if (node === undefined) return undefined;
  checkFields(node, SELINUX_OPTIONS);
  return {
    ...optional("user", textField(node, "user")),
    ...optional("role", textField(node, "role")),
    ...optional("type", textField(node, "type")),
    ...optional("level", textField(node, "level")),
  };
}

/** k8s: validateSysctls; what the namespaces of the pod allow is judged with the whole spec. */
function decodeSysctls(security: Node): readonly Sysctl[] {
  const names = new Set<string>();
  return objectList(security, "sysctls").map((node) => {
    checkFields(node, SYSCTL);
    const name = stringField(node, "name") ?? "";
    if (name === "") {
      if (isUnwritten(node, "name")) required(node, "name");
    } else if (name.length > MAX_SYSCTL_NAME || !SYSCTL_NAME.test(name)) {
      const message = `must have at most ${MAX_SYSCTL_NAME} characters and match regex ${SYSCTL_NAME.source}`;
      invalid(node, "name", message);
    } else if (names.has(name)) {
      const message = `Duplicate value: ${JSON.stringify(name)}`;
      node.findings.fail([...node.path, "name"], "Duplicate", message);
    }
    names.add(name);
    return { name, value: stringField(node, "value") ?? "" };
  });
}

function idField(node: Node, key: string): number | undefined {
  const id = integerField(node, key);
  const error = id === undefined ? undefined : idError(id);
  if (error !== undefined) invalid(node, key, error);
  return id;
}

function idList(node: Node, key: string): readonly number[] {
  return listField(node, key).flatMap((value, index) => {
    const isInteger = typeof value === "number" && Number.isSafeInteger(value);
    const error = isInteger ? idError(value) : "must be an integer";
    if (error !== undefined)
      node.findings.fail([...node.path, key, index], "Invalid", invalidValue(value, error));
    return isInteger ? [value] : [];
  });
}

/** "" is the same as not written. */
function textField(node: Node, key: string): string | undefined {
  const text = stringField(node, key);
  return text === "" ? undefined : text;
}
