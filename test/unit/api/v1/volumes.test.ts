import { describe, expect, test } from "bun:test";

import type { Volume } from "../../../../src/api/v1/volumes.ts";
import { refusals, specOf, writtenPod } from "../written-pod.ts";

function volumeOf(source: object): Volume | undefined {
  return specOf(writtenPod({ volumes: [{ name: "v", ...source }] })).volumes[0];
}

function refused(source: object): readonly string[] {
  return refusals(writtenPod({ volumes: [{ name: "v", ...source }] }));
}

describe("a volume", () => {
  const cases: Readonly<Record<string, { readonly written: object; readonly read: object }>> = {
    "of the host has no check of its type": {
      written: { hostPath: { path: "/data" } },
      read: { hostPath: { path: "/data", type: "" } },
    },
    "of the host may be a device": {
      written: { hostPath: { path: "/dev/fuse", type: "CharDevice" } },
      read: { hostPath: { path: "/dev/fuse", type: "CharDevice" } },
    },
    "without a source is empty": {
      written: {},
      read: { emptyDir: { medium: "" } },
    },
    "whose source is null is empty": {
      written: { emptyDir: null },
      read: { emptyDir: { medium: "" } },
    },
    "that is empty stands on disk": {
      written: { emptyDir: {} },
      read: { emptyDir: { medium: "" } },
    },
    "on disk may have a limit": {
      written: { emptyDir: { sizeLimit: "1024Mi" } },
      read: { emptyDir: { medium: "", sizeLimit: "1Gi" } },
    },
    "with a limit of 0 has none": {
      written: { emptyDir: { medium: "Memory", sizeLimit: 0 } },
      read: { emptyDir: { medium: "Memory" } },
    },
    "may be of huge pages": {
      written: { emptyDir: { medium: "HugePages" } },
      read: { emptyDir: { medium: "HugePages" } },
    },
    "may be of huge pages of one size": {
      written: { emptyDir: { medium: "HugePages-2Mi" } },
      read: { emptyDir: { medium: "HugePages-2Mi" } },
    },
    "of a ConfigMap holds every key with mode 0644": {
      written: { configMap: { name: "c" } },
      read: { configMap: { name: "c", items: [], optional: false, defaultMode: 0o644 } },
    },
    "of a ConfigMap may hold some keys under other names": {
      written: {
        configMap: {
          name: "c",
          optional: true,
          defaultMode: 256,
          items: [
            { key: "a", path: "b" },
            { key: "c", path: "./d//e", mode: 0o777 },
          ],
        },
      },
      read: {
        configMap: {
          name: "c",
          optional: true,
          defaultMode: 0o400,
          items: [
            { key: "a", path: "b" },
            { key: "c", path: "d/e", mode: 0o777 },
          ],
        },
      },
    },
    "of a Secret names it as secretName": {
      written: { secret: { secretName: "s", defaultMode: 0 } },
      read: { secret: { name: "s", items: [], optional: false, defaultMode: 0 } },
    },
    "of the pod's own fields": {
      written: {
        downwardAPI: {
          items: [
            { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
            {
              path: "cpu",
              mode: 256,
              resourceFieldRef: { containerName: "a", resource: "limits.cpu", divisor: "1m" },
            },
          ],
        },
      },
      read: {
        downwardAPI: {
          items: [
            { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
            {
              path: "cpu",
              mode: 0o400,
              resourceFieldRef: { containerName: "a", resource: "limits.cpu", divisor: "1m" },
            },
          ],
          defaultMode: 0o644,
        },
      },
    },
    "of several sources": {
      written: {
        projected: {
          sources: [
            { configMap: { name: "c", items: [{ key: "a", path: "x/a" }] } },
            { secret: { name: "s", optional: true } },
            { downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }] } },
          ],
        },
      },
      read: {
        projected: {
          sources: [
            {
              type: "configMap",
              name: "c",
              items: [{ key: "a", path: "x/a" }],
              optional: false,
            },
            { type: "secret", name: "s", items: [], optional: true },
            {
              type: "downwardAPI",
              items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }],
            },
          ],
          defaultMode: 0o644,
        },
      },
    },
    "of a claim": {
      written: { persistentVolumeClaim: { claimName: "data" } },
      read: { persistentVolumeClaim: { claimName: "data", readOnly: false } },
    },
    "of a claim may be read-only": {
      written: { persistentVolumeClaim: { claimName: "data", readOnly: true } },
      read: { persistentVolumeClaim: { claimName: "data", readOnly: true } },
    },
    "of an image is pulled like an image": {
      written: { image: { reference: "registry/x:latest" } },
      read: { image: { reference: "registry/x:latest", pullPolicy: "Always" } },
    },
    "of an image may have a pull policy": {
      written: { image: { reference: "registry/x:latest", pullPolicy: "Never" } },
      read: { image: { reference: "registry/x:latest", pullPolicy: "Never" } },
    },
  };
  test.each(Object.entries(cases))("%s", (_sentence, { written, read }) => {
    expect(volumeOf(written)).toEqual({ name: "v", ...read } as Volume);
  });

  const MODE = "must be a number between 0 and 0777 (octal), both inclusive";
  const items = (...list: object[]): object => ({ configMap: { name: "c", items: list } });
  const file = (more: object): object => ({ downwardAPI: { items: [{ path: "f", ...more }] } });
  const wrong: Readonly<Record<string, { readonly written: object; readonly says: string[] }>> = {
    "of which only an unknown source is written": {
      written: { emptydir: {} },
      says: [".emptydir: unknown field (did you mean emptyDir?)"],
    },
    "whose source is not for this node": {
      written: { emptyDir: null, csi: {} },
      says: [
        ".csi: csi needs a Kubernetes API server; use hostPath, emptyDir, persistentVolumeClaim, configMap, secret, projected or downwardAPI",
      ],
    },
    "with two sources": {
      written: { emptyDir: {}, hostPath: { path: "/x" } },
      says: [": Forbidden: may not specify more than 1 volume type"],
    },
    "with a source that is text": {
      written: { emptyDir: "x" },
      says: ['.emptyDir: Invalid value: "x": must be an object'],
    },
    "of the host without a path": {
      written: { hostPath: {} },
      says: [".hostPath.path: Required value"],
    },
    "of the host with a path that climbs": {
      written: { hostPath: { path: "/data/../etc" } },
      says: ['.hostPath.path: Invalid value: "/data/../etc": must not contain ".."'],
    },
    "of the host with an unknown type": {
      written: { hostPath: { path: "/x", type: "Pipe" } },
      says: [
        '.hostPath.type: Unsupported value: "Pipe": supported values: "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"',
      ],
    },
    "of an unknown medium": {
      written: { emptyDir: { medium: "Disk" } },
      says: [
        '.emptyDir.medium: Unsupported value: "Disk": supported values: "HugePages", "Memory"',
      ],
    },
    "of huge pages without a size": {
      written: { emptyDir: { medium: "HugePages-big" } },
      says: [
        '.emptyDir.medium: Invalid value: "HugePages-big": must name a page size, such as HugePages-2Mi',
      ],
    },
    "with a limit below 0": {
      written: { emptyDir: { sizeLimit: "-1" } },
      says: ['.emptyDir.sizeLimit: Invalid value: "-1": must be greater than or equal to 0'],
    },
    "of a ConfigMap without a name": {
      written: { configMap: {} },
      says: [".configMap.name: Required value"],
    },
    "of a Secret that is named like a ConfigMap": {
      written: { secret: { name: "s" } },
      says: [".secret.name: unknown field (did you mean secretName?)"],
    },
    "with a mode above 0777": {
      written: { secret: { secretName: "s", defaultMode: 0o1000 } },
      says: [`.secret.defaultMode: Invalid value: 512: ${MODE}`],
    },
    "with a mode that is text": {
      written: { secret: { secretName: "s", defaultMode: "0644" } },
      says: ['.secret.defaultMode: Invalid value: "0644": must be an integer'],
    },
    "with a file of a mode below 0": {
      written: items({ key: "k", path: "p", mode: -1 }),
      says: [`.configMap.items[0].mode: Invalid value: -1: ${MODE}`],
    },
    "with a file without key and path": {
      written: items({}),
      says: [".configMap.items[0].key: Required value", ".configMap.items[0].path: Required value"],
    },
    "with an absolute file": {
      written: items({ key: "k", path: "/etc/passwd" }),
      says: ['.configMap.items[0].path: Invalid value: "/etc/passwd": must be a relative path'],
    },
    "with a file that climbs": {
      written: items({ key: "k", path: "a/../../b" }),
      says: [`.configMap.items[0].path: Invalid value: "a/../../b": must not contain '..'`],
    },
    "with a file among ours": {
      written: items({ key: "k", path: "..data/x" }),
      says: [`.configMap.items[0].path: Invalid value: "..data/x": must not start with '..'`],
    },
    "with a file that is a directory": {
      written: items({ key: "k", path: "a/" }, { key: "k", path: "." }),
      says: [
        '.configMap.items[0].path: Invalid value: "a/": must name a file',
        '.configMap.items[1].path: Invalid value: ".": must name a file',
      ],
    },
    "with a file with a NUL": {
      written: items({ key: "k", path: "a\0b" }),
      says: [
        '.configMap.items[0].path: Invalid value: "a\\u0000b": must not contain a NUL character',
      ],
    },
    "with a key that cannot be": {
      written: items({ key: "..", path: "p" }, { key: "..k", path: "q" }),
      says: [
        `.configMap.items[0].key: Invalid value: "..": must not be '..'`,
        `.configMap.items[1].key: Invalid value: "..k": must not start with '..'`,
      ],
    },
    "with a field of nothing": {
      written: file({}),
      says: [
        ".downwardAPI.items[0]: Required value: one of fieldRef and resourceFieldRef is required",
      ],
    },
    "with a field of two things": {
      written: file({
        fieldRef: { fieldPath: "metadata.name" },
        resourceFieldRef: { containerName: "a", resource: "limits.cpu" },
      }),
      says: [
        '.downwardAPI.items[0]: Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously',
      ],
    },
    "with an address, which only variables have": {
      written: file({ fieldRef: { fieldPath: "status.podIP" } }),
      says: [
        '.downwardAPI.items[0].fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
      ],
    },
    "with a limit of no container": {
      written: file({ resourceFieldRef: { resource: "limits.cpu" } }),
      says: [".downwardAPI.items[0].resourceFieldRef.containerName: Required value"],
    },
    "of sources that claim one path": {
      written: {
        projected: {
          sources: [
            { configMap: { name: "c", items: [{ key: "a", path: "x" }] } },
            { secret: { name: "s", items: [{ key: "a", path: "./x" }] } },
          ],
        },
      },
      says: ['.projected: Invalid value: "x": conflicting duplicate paths'],
    },
    "of a source that is two": {
      written: { projected: { sources: [{ configMap: { name: "c" }, secret: { name: "s" } }] } },
      says: [".projected.sources[0]: Forbidden: may not specify more than 1 volume type"],
    },
    "of a source that is none": {
      written: { projected: { sources: [{}] } },
      says: [".projected.sources[0]: Required value: must specify a volume type"],
    },
    "of a claim without a name": {
      written: { persistentVolumeClaim: {} },
      says: [".persistentVolumeClaim.claimName: Required value"],
    },
    "of a claim whose name is a path": {
      written: { persistentVolumeClaim: { claimName: "../x" } },
      says: [
        `.persistentVolumeClaim.claimName: Invalid value: "../x": must be lower-case letters, digits, '-' or '.', with a letter or digit at both ends (RFC 1123 subdomain)`,
      ],
    },
    "of an image without a reference": {
      written: { image: {} },
      says: [".image.reference: Required value"],
    },
    "of an image in white space": {
      written: { image: { reference: " x" } },
      says: ['.image.reference: Invalid value: " x": must not begin or end with white space'],
    },
  };
  test.each(Object.entries(wrong))("%s is refused", (_sentence, { written, says }) => {
    expect(refused(written)).toEqual(says.map((line) => `spec.volumes[0]${line}`));
  });

  test("the token volume that an API server injects is left out in silence", () => {
    const token = {
      name: "kube-api-access-x7k2p",
      projected: { sources: [{ serviceAccountToken: { path: "token" } }] },
    };
    const mount = {
      name: "kube-api-access-x7k2p",
      mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
      readOnly: true,
    };
    const spec = specOf(writtenPod({ volumes: [token] }, { volumeMounts: [mount] }));
    expect(spec.volumes).toEqual([]);
    expect(spec.containers[0]?.volumeMounts).toEqual([]);
  });

  test("a projected serviceAccountToken is refused", () => {
    const [first] = refused({ projected: { sources: [{ serviceAccountToken: { path: "t" } }] } });
    expect(first).toStartWith("spec.volumes[0].projected.sources[0].serviceAccountToken:");
  });
});
