import { describe, expect, test } from "bun:test";

import { refusals, specOf, writtenPod } from "../written-pod.ts";
import type { VolumeMount } from "../../../../src/api/v1/volume-mounts.ts";

const VOLUMES = { volumes: [{ name: "v", emptyDir: {} }] };

function podWith(mount: object, container: object): object {
  const volumeMounts = [{ name: "v", mountPath: "/data", ...mount }];
  return writtenPod(VOLUMES, { volumeMounts, ...container });
}

function mountOf(mount: object, container: object = {}): VolumeMount | undefined {
  return specOf(podWith(mount, container)).containers[0]?.volumeMounts[0];
}

function refused(mount: object, container: object = {}): readonly string[] {
  return refusals(podWith(mount, container));
}

const PRIVILEGED = { securityContext: { privileged: true } };

describe("a mount", () => {
  const cases: Readonly<
    Record<string, { readonly written: object; readonly read: object; readonly container?: object }>
  > = {
    "is written to": { written: {}, read: {} },
    "at a relative path starts at the root": {
      written: { mountPath: "var/data" },
      read: { mountPath: "/var/data" },
    },
    "may be read-only": { written: { readOnly: true }, read: { readOnly: true } },
    "may show a part of its volume": { written: { subPath: "a/b" }, read: { subPath: "a/b" } },
    "may show a part that the environment names": {
      written: { subPathExpr: "$(POD)/x" },
      read: { subPathExpr: "$(POD)/x" },
    },
    "of no part shows all": { written: { subPath: "", subPathExpr: "" }, read: {} },
    "without propagation says nothing of it": { written: { mountPropagation: "None" }, read: {} },
    "may see what the host mounts": {
      written: { mountPropagation: "HostToContainer" },
      read: { mountPropagation: "HostToContainer" },
    },
    "may show the host what it mounts, if privileged": {
      written: { mountPropagation: "Bidirectional" },
      read: { mountPropagation: "Bidirectional" },
      container: PRIVILEGED,
    },
    "may be read-only throughout": {
      written: { readOnly: true, recursiveReadOnly: "Enabled", mountPropagation: "None" },
      read: { readOnly: true, recursiveReadOnly: "Enabled" },
    },
    "may be read-only throughout where possible": {
      written: { readOnly: true, recursiveReadOnly: "IfPossible" },
      read: { readOnly: true, recursiveReadOnly: "IfPossible" },
    },
    "that is not read-only throughout may be written to": {
      written: { recursiveReadOnly: "Disabled" },
      read: {},
    },
  };
  test.each(Object.entries(cases))("%s", (_sentence, { written, read, container }) => {
    const plain = { name: "v", mountPath: "/data", readOnly: false };
    expect(mountOf(written, container)).toEqual({ ...plain, ...read });
  });

  const wrong: Readonly<
    Record<string, { readonly written: object; readonly says: string; readonly container?: object }>
  > = {
    "without a name": { written: { name: null }, says: "name: Required value" },
    "without a path": { written: { mountPath: "" }, says: "mountPath: Required value" },
    "at a relative path that climbs": {
      written: { mountPath: "../etc" },
      says: 'mountPath: Invalid value: "../etc": must not contain ".."',
    },
    "at a path with a colon": {
      written: { mountPath: "/a:b" },
      says: `mountPath: Invalid value: "/a:b": must not contain ':'`,
    },
    "of an absolute part": {
      written: { subPath: "/etc" },
      says: 'subPath: Invalid value: "/etc": must be a relative path',
    },
    "of a part that climbs": {
      written: { subPath: "a/../../b" },
      says: `subPath: Invalid value: "a/../../b": must not contain '..'`,
    },
    "of a part with a NUL": {
      written: { subPath: "a\0" },
      says: 'subPath: Invalid value: "a\\u0000": must not contain a NUL character',
    },
    "of a part of the environment that climbs": {
      written: { subPathExpr: "$(X)/.." },
      says: `subPathExpr: Invalid value: "$(X)/..": must not contain '..'`,
    },
    "of two parts": {
      written: { subPath: "a", subPathExpr: "$(A)" },
      says: 'subPathExpr: Invalid value: "$(A)": subPathExpr and subPath are mutually exclusive',
    },
    "with an unknown propagation": {
      written: { mountPropagation: "Both" },
      says: 'mountPropagation: Unsupported value: "Both": supported values: "Bidirectional", "HostToContainer", "None"',
    },
    "that shows the host what it mounts, without privilege": {
      written: { mountPropagation: "Bidirectional" },
      says: "mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers",
    },
    "that shows the host what it mounts, with privilege refused": {
      written: { mountPropagation: "Bidirectional" },
      container: { securityContext: { privileged: false } },
      says: "mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers",
    },
    "that is read-only throughout and not at its top": {
      written: { recursiveReadOnly: "Enabled" },
      says: "recursiveReadOnly: Forbidden: may only be specified when readOnly is true",
    },
    "that is read-only throughout and propagates": {
      written: {
        readOnly: true,
        recursiveReadOnly: "IfPossible",
        mountPropagation: "HostToContainer",
      },
      says: "recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified",
    },
    "with an unknown word for it": {
      written: { readOnly: true, recursiveReadOnly: "Yes" },
      says: 'recursiveReadOnly: Unsupported value: "Yes": supported values: "Disabled", "Enabled", "IfPossible"',
    },
  };
  test.each(Object.entries(wrong))("%s is refused", (_sentence, { written, says, container }) => {
    expect(refused(written, container)).toEqual([`spec.containers[0].volumeMounts[0].${says}`]);
  });
});
