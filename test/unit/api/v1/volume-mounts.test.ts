import { describe, expect, test } from "bun:test";

import { specOf, writtenPod } from "../written-pod.ts";
import type { VolumeMount } from "../../../../src/api/v1/volume-mounts.ts";

const VOLUMES = { volumes: [{ name: "v", emptyDir: {} }] };

function podWith(mount: object, container: object): object {
  const volumeMounts = [{ name: "v", mountPath: "/data", ...mount }];
  return writtenPod(VOLUMES, { volumeMounts, ...container });
}

function mountOf(mount: object, container: object = {}): VolumeMount | undefined {
  return specOf(podWith(mount, container)).containers[0]?.volumeMounts[0];
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
    "without propagation has none": { written: { mountPropagation: "None" }, read: {} },
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
});
