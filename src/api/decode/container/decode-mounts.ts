// volumeMounts as written → mounts; those of an injected token are left out. k8s: ValidateVolumeMounts

import {
  booleanField,
  checkFields,
  choiceField,
  forbidden,
  invalid,
  isUnwritten,
  objectList,
  required,
  stringField,
  type Node,
} from "../field-reader.ts";
import { VOLUME_MOUNT } from "../../schema/container.ts";
import { descendingPathError, pathError } from "../../validation/validate-names.ts";
import type { VolumeMount } from "../../v1/volumes.ts";
import { keptEntries, isTokenVolume } from "../written-index.ts";
import { isJsonObject } from "../../../lib/json.ts";

export function decodeMounts(container: Node): readonly VolumeMount[] {
  const context = container.value["securityContext"];
  const privileged = isJsonObject(context) && context["privileged"] === true;
  const entries = objectList(container, "volumeMounts").map((node) => ({
    node,
    value: isTokenMount(node) ? undefined : decodeMount(node, privileged),
  }));
  return keptEntries(entries);
}

function isTokenMount(node: Node): boolean {
  return (
    node.value["mountPath"] === "/var/run/secrets/kubernetes.io/serviceaccount" &&
    isTokenVolume(node.value["name"])
  );
}

function decodeMount(node: Node, privileged: boolean): VolumeMount {
  checkFields(node, VOLUME_MOUNT);
  const name = stringField(node, "name") ?? "";
  if ((node.value["name"] ?? "") === "") required(node, "name");
  const readOnly = booleanField(node, "readOnly") ?? false;
  const propagation = propagationField(node, privileged);
  return {
    name,
    mountPath: mountPathField(node),
    readOnly,
    ...recursiveField(node, { readOnly, propagated: propagation.mountPropagation !== undefined }),
    ...subPathFields(node),
    ...propagation,
  };
}

/** A relative path starts at the root, as in Kubernetes: whoever compares mounts finds one place under one name. kubelet: makeAbsolutePath */
function mountPathField(node: Node): string {
  const written = stringField(node, "mountPath") ?? "";
  if (isUnwritten(node, "mountPath")) required(node, "mountPath");
  if (written === "") return "";
  const path = written.startsWith("/") ? written : `/${written}`;
  const error = pathError(path);
  if (error !== undefined) invalid(node, "mountPath", error);
  else if (path.includes(":")) invalid(node, "mountPath", "must not contain ':'");
  return path;
}

function subPathFields(node: Node): Pick<VolumeMount, "subPath" | "subPathExpr"> {
  const subPath = innerPath(node, "subPath");
  const subPathExpr = innerPath(node, "subPathExpr");
  if (subPath !== "" && subPathExpr !== "")
    invalid(node, "subPathExpr", "subPathExpr and subPath are mutually exclusive");
  return {
    ...(subPath === "" ? {} : { subPath }),
    ...(subPathExpr === "" ? {} : { subPathExpr }),
  };
}

function innerPath(node: Node, key: "subPath" | "subPathExpr"): string {
  const path = stringField(node, key) ?? "";
  const error = descendingPathError(path);
  if (error !== undefined) invalid(node, key, error);
  return path;
}

/** k8s: validateMountPropagation */
function propagationField(node: Node, privileged: boolean): Pick<VolumeMount, "mountPropagation"> {
  const key = "mountPropagation";
  const written = choiceField(node, key, ["Bidirectional", "HostToContainer", "None"]);
  if (written === "Bidirectional" && !privileged)
    forbidden(
      node,
      key,
      "Bidirectional mount propagation is available only to privileged containers",
    );
  return written === undefined || written === "None" ? {} : { mountPropagation: written };
}

/** k8s: validateMountRecursiveReadOnly */
function recursiveField(
  node: Node,
  mount: { readonly readOnly: boolean; readonly propagated: boolean },
): Pick<VolumeMount, "recursiveReadOnly"> {
  const key = "recursiveReadOnly";
  const written = choiceField(node, key, ["Disabled", "Enabled", "IfPossible"]);
  if (written === undefined || written === "Disabled") return {};
  if (!mount.readOnly) forbidden(node, key, "may only be specified when readOnly is true");
  if (mount.propagated)
    forbidden(node, key, "may only be specified when mountPropagation is None or not specified");
  return { recursiveReadOnly: written };
}
