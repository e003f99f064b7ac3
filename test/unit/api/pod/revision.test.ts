import { expect, test } from "bun:test";

import { revisionOf } from "../../../../src/api/pod/revision.ts";
import { aContainer, aDesiredPod, aPod } from "../../../fakes/a-pod.ts";
import { localObjects, type WrittenObjects } from "../../../fakes/local-objects.ts";
import { sha256 } from "../digest.ts";

const secretDigest = (text: string): string => `keyed(${sha256(text)})`;
const from = (type: "configMap" | "secret", name: string) =>
  ({ type, name, prefix: "", optional: false }) as const;
const reader = aPod({
  containers: [aContainer("a", { envFrom: [from("configMap", "web"), from("secret", "web")] })],
});

function revision(pod = reader, written: WrittenObjects = {}): string {
  return revisionOf(aDesiredPod(pod), { objects: localObjects(written), sha256, secretDigest });
}

test("of a pod that reads nothing it is the hash of its spec", () => {
  const pod = aPod();
  expect(revision(pod)).toBe(aDesiredPod(pod).specHash);
});

test("it changes with what the pod reads, be it there or not, and with nothing else", () => {
  const written: readonly WrittenObjects[] = [
    {},
    { configMaps: { web: { a: "1" } } },
    { configMaps: { web: { a: "2" } } },
    { configMaps: { web: { a: "1" } }, secrets: { web: { a: "1" } } },
    { configMaps: { web: { a: "1" } }, secrets: { web: { a: "2" } } },
  ];
  const all = written.map((one) => revision(reader, one));
  expect(new Set(all).size).toBe(written.length);
  for (const one of all) expect(one).toMatch(/^[0-9a-f]{16}$/);
  expect(revision(reader, { configMaps: { web: { a: "1" }, other: { b: "3" } } })).toBe(
    all[1] ?? "",
  );
});

test("the node's own ConfigMap is no part of it", () => {
  const pod = aPod({
    containers: [aContainer("a", { envFrom: [from("configMap", "agent-node")] })],
  });
  expect(revision(pod)).toBe(aDesiredPod(pod).specHash);
});

test("an object that is referred to a thousand times is encoded once", () => {
  const envFrom = Array.from({ length: 1000 }, () => from("secret", "web"));
  const pod = aPod({ containers: [aContainer("a", { envFrom })] });
  let encoded = 0;
  revisionOf(aDesiredPod(pod), {
    objects: localObjects({ secrets: { web: { a: "1" } } }),
    sha256,
    secretDigest: (text) => {
      encoded += 1;
      return secretDigest(text);
    },
  });
  expect(encoded).toBe(1);
});
