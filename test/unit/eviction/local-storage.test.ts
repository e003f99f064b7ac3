import { expect, test } from "bun:test";
import { limitsStorage, storageExcess } from "../../../src/eviction/local-storage.ts";
import type { PodUsage } from "../../../src/stats/pod-usage.ts";
import type { EmptyDirVolume } from "../../../src/api/v1/volumes.ts";
import { aContainer, aPod } from "../../fakes/a-pod.ts";

const MIB = 1024 ** 2;

function limited(name: string, limit?: string) {
  const limits = limit === undefined ? {} : { "ephemeral-storage": limit };
  return aContainer(name, { resources: { requests: {}, limits } });
}

function using(
  sizes: Readonly<Record<string, readonly [layer: number, logs: number]>>,
  dir = 0,
): PodUsage {
  const tree = (size: number) => ({ bytes: size * MIB, inodes: 1 });
  return {
    containers: Object.entries(sizes).map(([name, [layer, logs]]) => {
      return { name, memoryBytes: 0, writableLayer: tree(layer), logs: tree(logs) };
    }),
    emptyDirs: new Map([["cache", tree(dir)]]),
    cgroupMemoryBytes: undefined,
    pids: 1,
  };
}

const cache = (sizeLimit?: string, medium: "" | "Memory" = ""): EmptyDirVolume => {
  return { name: "cache", emptyDir: { medium, ...(sizeLimit === undefined ? {} : { sizeLimit }) } };
};

test("a pod without limits is not measured", () => {
  expect(limitsStorage(aPod())).toBe(false);
  expect(limitsStorage(aPod({ volumes: [cache()] }))).toBe(false);
  expect(limitsStorage(aPod({ volumes: [cache("1Mi", "Memory")] }))).toBe(false);
  expect(limitsStorage(aPod({ volumes: [cache("1Mi")] }))).toBe(true);
  expect(limitsStorage(aPod({ containers: [limited("a", "1Mi")] }))).toBe(true);
});

test("an emptyDir may have its sizeLimit, and not a byte more", () => {
  const pod = aPod({ volumes: [cache("10Mi")] });
  expect(storageExcess(pod, using({ a: [0, 0] }, 10))).toBeUndefined();
  expect(storageExcess(pod, using({ a: [0, 0] }, 10.5))).toEqual({
    signal: "emptydirfs.limit",
    message: 'Usage of EmptyDir volume "cache" exceeds the limit "10Mi".',
  });
});

test("layer and logs count against a container's limit", () => {
  const pod = aPod({ containers: [limited("a", "10Mi"), limited("b", "90Mi")] });
  expect(storageExcess(pod, using({ a: [5, 5], b: [0, 0] }))).toBeUndefined();
  expect(storageExcess(pod, using({ a: [6, 5], b: [0, 0] }))).toEqual({
    signal: "ephemeralcontainerfs.limit",
    message: 'Container a exceeded its local ephemeral storage limit "10Mi".',
  });
});

test("emptyDirs count against the sum of the containers' limits", () => {
  const pod = aPod({
    containers: [limited("a", "10Mi"), limited("b", "10Mi")],
    volumes: [cache()],
  });
  expect(storageExcess(pod, using({ a: [4, 4], b: [4, 4] }, 4))).toBeUndefined();
  expect(storageExcess(pod, using({ a: [4, 4], b: [4, 4] }, 5))).toEqual({
    signal: "ephemeralpodfs.limit",
    message: "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi.",
  });
});
