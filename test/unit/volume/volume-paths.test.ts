import { expect, test } from "bun:test";
import type { ContentVolume } from "../../../src/volume/volume-kinds.ts";
import {
  contentPath,
  emptyDirPath,
  isPodUID,
  podDirectory,
  subPathsDirectory,
} from "../../../src/volume/volume-paths.ts";

test("an emptyDir lies where the kubelet has it", () => {
  expect(emptyDirPath("/var/lib/agent/", "6f0c-1", "cache")).toBe(
    "/var/lib/agent/pods/6f0c-1/volumes/kubernetes.io~empty-dir/cache",
  );
});

const object = { name: "o", items: [], optional: false, defaultMode: 0o644 };
const CONTENT: Record<string, ContentVolume> = {
  configmap: { name: "v", configMap: object },
  secret: { name: "v", secret: object },
  "downward-api": { name: "v", downwardAPI: { items: [], defaultMode: 0o644 } },
  projected: { name: "v", projected: { sources: [], defaultMode: 0o644 } },
};

test.each(Object.entries(CONTENT))("and so does a volume of kind %s", (plugin, volume) => {
  expect(contentPath("/s", "6f0c-1", volume)).toBe(
    `/s/pods/6f0c-1/volumes/kubernetes.io~${plugin}/v`,
  );
});

test("and so does a subPath", () => {
  expect(subPathsDirectory("/s", "6f0c-1", { volumeName: "v", container: "app" })).toBe(
    "/s/pods/6f0c-1/volume-subpaths/v/app",
  );
});

test.each(["", ".", "..", "../x", "a/b", "-a", "a b", "a".repeat(200), "a\n"])(
  "%j is no UID, so it never becomes a path",
  (uid) => {
    expect(isPodUID(uid)).toBe(false);
    expect(() => podDirectory("/var/lib/agent", uid)).toThrow("is not a pod's UID");
  },
);
