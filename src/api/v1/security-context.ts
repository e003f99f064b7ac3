// Identity and privileges of a pod's processes. A container's own fields take precedence over the pod's.

import { invalid, invalidAt, required, type Node } from "../decode/field-reader.ts";
import { refused, NO_WINDOWS } from "../decode/field-rules.ts";
import {
  boolean,
  converted,
  fieldOf,
  textField,
  list,
  objectType,
  oneOf,
  string,
  unread,
  type Decoded,
  type ObjectOf,
} from "../schema/codec.ts";
import { notTogether } from "../schema/json-schema.ts";
import type { Field, Type } from "../schema/type.ts";
import { between, MAX_INT32, textOf } from "../schema/values.ts";
import { SYSCTL_FORM } from "../validation/sysctls.ts";
import { CAPABILITY_FORM, DESCENDING_PATH_FORM } from "../validation/validate-names.ts";
import { repeated } from "../../lib/compare.ts";

/** PATH_MAX without its end. */
const MAX_APP_ARMOR_PROFILE = 4095;
const WINDOWS_OPTIONS = unread(
  "WindowsSecurityContextOptions",
  "Options of Windows.",
  refused(NO_WINDOWS, {}),
);

/** A user or group. k8s: IsValidUserID, IsValidGroupID */
const ID = between(0, MAX_INT32);
const id = fieldOf(ID);

const CAPABILITY_NAME = textOf(CAPABILITY_FORM);

/** Names as written: with or without `CAP_`, or `ALL`, in capital or small letters. */
const CAPABILITIES = objectType("Capabilities", {
  add: list(CAPABILITY_NAME, {
    about: "Capabilities beyond the runtime's default, such as NET_ADMIN or ALL.",
  }),
  drop: list(CAPABILITY_NAME, { about: "Capabilities to remove, such as ALL." }),
});
export type Capabilities = Decoded<typeof CAPABILITIES>;

/** seccomp and AppArmor alike. */
export type SecurityProfile =
  | { readonly type: "RuntimeDefault" }
  | { readonly type: "Unconfined" }
  | { readonly type: "Localhost"; readonly localhostProfile: string };

interface ProfileKind {
  readonly kind: "seccomp" | "AppArmor";
  /** The name of the field that holds the profile. */
  readonly key: "seccompProfile" | "appArmorProfile";
  readonly localhostProfile: Field<string | undefined>;
  readonly errorOf: (localhostProfile: string) => string | undefined;
}

/** k8s: validateSeccompProfileField, ValidateAppArmorProfileField */
function profileType(
  name: string,
  { kind, key, localhostProfile, errorOf }: ProfileKind,
): Type<SecurityProfile> {
  const fields = objectType(
    name,
    {
      type: oneOf(["Localhost", "RuntimeDefault", "Unconfined"], {
        about: "RuntimeDefault, Unconfined, or Localhost: the profile of localhostProfile.",
        required: `type is required when ${key} is set`,
      }),
      localhostProfile,
    },
    {
      schema: {
        oneOf: [
          { properties: { type: { const: "Localhost" } }, required: ["localhostProfile"] },
          {
            properties: {
              type: { enum: ["RuntimeDefault", "Unconfined"] },
              localhostProfile: { type: "null" },
            },
          },
        ],
      },
      check(profile, node) {
        const file = profile.localhostProfile;
        if (profile.type === undefined) return;
        if (profile.type !== "Localhost") {
          if (file !== undefined)
            invalid(node, "localhostProfile", `can only be set when ${kind} type is Localhost`);
        } else if (file === undefined || file === "") {
          required(node, "localhostProfile", `must be set when ${kind} type is Localhost`);
        } else {
          const error = errorOf(file);
          if (error !== undefined) invalid(node, "localhostProfile", error);
        }
      },
    },
  );
  return converted(fields, {
    to({ type, localhostProfile: file }): SecurityProfile | undefined {
      if (type === undefined) return undefined;
      if (type !== "Localhost") return { type };
      return file === undefined || file === "" ? undefined : { type, localhostProfile: file };
    },
    from: (profile) => profile,
  });
}

/** What is wrong with the name of a loaded AppArmor profile. */
export function appArmorNameError(name: string): string | undefined {
  if (name !== name.trim()) return "must not be padded with whitespace";
  if (name.length <= MAX_APP_ARMOR_PROFILE) return undefined;
  return `must be no more than ${MAX_APP_ARMOR_PROFILE} characters`;
}

const SECCOMP_PROFILE = profileType("SeccompProfile", {
  kind: "seccomp",
  key: "seccompProfile",
  localhostProfile: string({
    about: "File below the node's directory of seccomp profiles. Only with type Localhost.",
    keep: true,
    schema: DESCENDING_PATH_FORM.schema,
  }),
  errorOf: DESCENDING_PATH_FORM.check,
});

const APP_ARMOR_PROFILE = profileType("AppArmorProfile", {
  kind: "AppArmor",
  key: "appArmorProfile",
  localhostProfile: string({
    about: "Name of a profile that the kernel has loaded. Only with type Localhost.",
    keep: true,
    schema: { pattern: "^\\S([\\s\\S]*\\S)?$", maxLength: MAX_APP_ARMOR_PROFILE },
  }),
  errorOf: appArmorNameError,
});

const SELINUX_OPTIONS = objectType("SELinuxOptions", {
  user: string({ about: "User part of the SELinux label." }),
  role: string({ about: "Role part of the SELinux label." }),
  type: string({ about: "Type part of the SELinux label." }),
  level: string({ about: "Level part of the SELinux label." }),
});
export type SELinuxOptions = Decoded<typeof SELINUX_OPTIONS>;

const SYSCTL = objectType("Sysctl", {
  name: textField(textOf(SYSCTL_FORM))({
    about: "Name of the kernel parameter, such as net.ipv4.ip_local_port_range.",
    required: true,
  }),
  value: string({
    about: "Value of the kernel parameter.",
    default: "",
    marked: true,
    keep: true,
  }),
});
export type Sysctl = Decoded<typeof SYSCTL>;

/** k8s: validateSysctls; which of them the pod's namespaces allow is judged with the whole spec. */
function judgeSysctls(sysctls: readonly Sysctl[], { findings, path }: Node): void {
  const valid = [...sysctls.entries()].filter(
    ([, { name }]) => SYSCTL_FORM.check(name) === undefined,
  );
  for (const [index, { name }] of repeated(valid, ([, sysctl]) => sysctl.name))
    findings.duplicate([...path, "sysctls", index, "name"], name);
}

interface IdentityTexts {
  readonly of: string;
  readonly ids: string;
  readonly nonRoot: string;
}

function identity({ of, ids, nonRoot }: IdentityTexts) {
  return {
    runAsUser: id({ about: `User ID of ${of}. Default: ${ids}.` }),
    runAsGroup: id({ about: `Group ID of ${of}. Default: ${ids}.` }),
    runAsNonRoot: boolean({
      about: `Refuse to start a container whose user is root. Default: ${nonRoot}.`,
    }),
  };
}

function profiles(whose: string) {
  return {
    seccompProfile: fieldOf(SECCOMP_PROFILE)({
      about: `Filter of the system calls of ${whose}.`,
    }),
    appArmorProfile: fieldOf(APP_ARMOR_PROFILE)({ about: `AppArmor profile of ${whose}.` }),
    seLinuxOptions: fieldOf(SELINUX_OPTIONS)({ about: `SELinux label of ${whose}.` }),
  };
}

export const POD_SECURITY_CONTEXT = objectType(
  "PodSecurityContext",
  {
    ...identity({ of: "all processes", ids: "the image's", nonRoot: "false" }),
    supplementalGroups: list(ID, { about: "Additional group IDs of all processes." }),
    supplementalGroupsPolicy: oneOf(["Merge", "Strict"], {
      about:
        "Merge: the groups that the image gives its user are added. Strict: they are not. Default: Merge.",
    }),
    fsGroup: id({
      about:
        "Group that owns the files of the pod's volumes, and an additional group of all processes.",
    }),
    fsGroupChangePolicy: oneOf(["Always", "OnRootMismatch"], {
      about:
        "Always: files get their group at each start. OnRootMismatch: only if the root of the volume has another group. Default: Always.",
    }),
    ...profiles("every container"),
    seLinuxChangePolicy: oneOf(["MountOption", "Recursive"], {
      about: "How volumes get their SELinux label: MountOption or Recursive.",
    }),
    sysctls: list(SYSCTL, {
      about: "Kernel parameters of the pod. Unsafe ones only if this node allows them.",
    }),
    windowsOptions: WINDOWS_OPTIONS,
  },
  { check: ({ sysctls }, node) => judgeSysctls(sysctls, node) },
);
/** An absent field leaves the choice to the image or the runtime. */
export type PodSecurityContext = Decoded<typeof POD_SECURITY_CONTEXT>;

const FIELDS = {
  privileged: boolean({ about: "Allow the container whatever root may do on the node." }),
  allowPrivilegeEscalation: boolean({
    about:
      "Whether a process may gain more privileges than its parent; false sets no_new_privs. Default: true.",
  }),
  capabilities: fieldOf(CAPABILITIES)({ about: "Capabilities to add and to drop." }),
  readOnlyRootFilesystem: boolean({ about: "Mount the container's root file system read-only." }),
  procMount: oneOf(["Default", "Unmasked"], {
    about:
      "Default: parts of /proc are hidden. Unmasked: all of it is visible; requires hostUsers: false.",
  }),
  ...identity({ of: "the container's processes", ids: "the pod's", nonRoot: "the pod's" }),
  ...profiles("the container"),
  windowsOptions: WINDOWS_OPTIONS,
};
/** An absent field means the pod's. */
export type SecurityContext = ObjectOf<typeof FIELDS>;
export const SECURITY_CONTEXT = objectType("SecurityContext", FIELDS, {
  schema: notTogether({ privileged: { const: true }, allowPrivilegeEscalation: { const: false } }),
  check: judgeEscalation,
});

/** k8s: ValidateSecurityContext */
function judgeEscalation(
  { privileged, allowPrivilegeEscalation, capabilities }: SecurityContext,
  node: Node,
): void {
  if (allowPrivilegeEscalation !== false) return;
  const refuse = (what: string): void =>
    invalidAt(node, `cannot set \`allowPrivilegeEscalation\` to false and ${what}`);
  if (privileged === true) refuse("`privileged` to true");
  // Kubernetes checks this spelling and no other: what it accepts as SYS_ADMIN runs here too.
  if (capabilities?.add.includes("CAP_SYS_ADMIN") === true)
    refuse("`capabilities.Add` CAP_SYS_ADMIN");
}
