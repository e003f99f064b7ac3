// Where the volumes of a pod are mounted inside a container. k8s: ValidateVolumeMounts

import { forbidden, invalid, invalidAt, type Node } from "../decode/field-reader.ts";
import { keptList, type Written, writtenIndex } from "../decode/written-index.ts";
import {
  boolean,
  fieldOf,
  textField,
  objectType,
  string,
  text,
  word,
  type Decoded,
} from "../schema/codec.ts";
import { notTogether } from "../schema/json-schema.ts";
import type { Type } from "../schema/type.ts";
import { textOf, unless } from "../schema/values.ts";
import { CLIMBING_PATH, DESCENDING_PATH_FORM, pathError } from "../validation/validate-names.ts";
import { memberOf } from "../../lib/json.ts";

/** Read as an absolute path: a relative one starts at the root, and two mounts compare by one spelling. kubelet: makeAbsolutePath */
const MOUNT_PATH: Type<string> = {
  ...text,
  read(at) {
    const written = text.read(at);
    if (written === undefined) return undefined;
    const path = written.startsWith("/") ? written : `/${written}`;
    const error = pathError(path);
    if (error !== undefined) invalidAt(at, error);
    else if (path.includes(":")) invalidAt(at, "must not contain ':'");
    return path;
  },
  schema: () => ({ ...text.schema(), not: { type: "string", pattern: `:|${CLIMBING_PATH}` } }),
};

const INNER_PATH = textOf(DESCENDING_PATH_FORM);

const VOLUME_MOUNT = objectType(
  "VolumeMount",
  {
    name: string({ about: "Name of one of the pod's volumes.", required: true }),
    mountPath: textField(MOUNT_PATH)({
      about: "Path inside the container, without `..` and `:`. A relative path starts at its root.",
      required: true,
    }),
    readOnly: boolean({ about: "Mount the volume read-only.", default: false }),
    recursiveReadOnly: fieldOf(unless(word(["Disabled", "Enabled", "IfPossible"]), "Disabled"))({
      about:
        "Whether readOnly extends to mounts below: Disabled, Enabled, or IfPossible if the runtime supports it. Default: Disabled.",
    }),
    subPath: fieldOf(INNER_PATH)({
      about: "Relative path inside the volume to mount. Default: its root.",
    }),
    subPathExpr: fieldOf(INNER_PATH)({
      about: "subPath in which $(VAR) is replaced by a variable of the container.",
    }),
    mountPropagation: fieldOf(unless(word(["Bidirectional", "HostToContainer", "None"]), "None"))({
      about:
        "Propagation of later mounts: None, HostToContainer, or Bidirectional for privileged containers. Default: None.",
    }),
  },
  {
    schema: notTogether({
      subPath: { type: "string", minLength: 1 },
      subPathExpr: { type: "string", minLength: 1 },
    }),
    check(mount, node) {
      if (mount.subPath !== undefined && mount.subPathExpr !== undefined)
        invalid(node, "subPathExpr", "subPathExpr and subPath are mutually exclusive");
      judgeRecursive(mount, node);
    },
  },
);
/** Without what equals the default of Kubernetes. */
export type VolumeMount = Written & Decoded<typeof VOLUME_MOUNT>;

/** k8s: validateMountRecursiveReadOnly */
function judgeRecursive(
  mount: Pick<VolumeMount, "recursiveReadOnly" | "readOnly" | "mountPropagation">,
  node: Node,
): void {
  const key = "recursiveReadOnly";
  if (mount.recursiveReadOnly === undefined) return;
  if (!mount.readOnly) forbidden(node, key, "may only be specified when readOnly is true");
  if (mount.mountPropagation !== undefined)
    forbidden(node, key, "may only be specified when mountPropagation is None or not specified");
}

/** Without the mount of the token that an API server injects into each pod. */
export const volumeMounts = fieldOf(keptList(VOLUME_MOUNT, { isLeftOut: isTokenMount }))({
  about: "Mounts of the pod's volumes inside the container.",
  default: [],
});

/** The token that an API server injects: this node has none, and no program of a pod here needs it. */
export function isTokenVolume(name: unknown): boolean {
  return typeof name === "string" && name.startsWith("kube-api-access-");
}

function isTokenMount(written: unknown): boolean {
  return (
    memberOf(written, "mountPath") === "/var/run/secrets/kubernetes.io/serviceaccount" &&
    isTokenVolume(memberOf(written, "name"))
  );
}

/** Of a container that is not privileged. k8s: validateMountPropagation */
export function refuseBidirectional(
  mounts: readonly VolumeMount[],
  { findings, path }: Node,
): void {
  const message = "Bidirectional mount propagation is available only to privileged containers";
  for (const [position, mount] of mounts.entries()) {
    if (mount.mountPropagation !== "Bidirectional") continue;
    const place = [...path, "volumeMounts", writtenIndex(mount, position), "mountPropagation"];
    findings.forbidden(place, message);
  }
}

/** Whether a mount shows a part of its volume only. */
export function isPart({ subPath, subPathExpr }: VolumeMount): boolean {
  return (subPath ?? subPathExpr) !== undefined;
}

/** A part of a volume that a container mounts. */
export interface SubPath {
  readonly uid: string;
  readonly container: string;
  /** In volumeMounts. */
  readonly index: number;
  readonly volumeName: string;
  /** The volume on the host. */
  readonly volumePath: string;
  /** Inside the volume; a `subPathExpr` is expanded already. */
  readonly subPath: string;
}
