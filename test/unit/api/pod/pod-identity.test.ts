// These values are on devices in the field: a test that has to change here restarts every pod of every customer.

import { expect, test } from "bun:test";

import { decodeManifest } from "../../../../src/api/decode/decode-manifest.ts";
import type { DesiredPod } from "../../../../src/api/pod/desired-pod.ts";
import {
  containerHash,
  objectUID,
  podUID,
  specHash,
} from "../../../../src/api/pod/pod-identity.ts";
import { sha256 } from "../digest.ts";

const spec = {
  containers: [{ name: "a", image: "local/busybox:1", args: ["1"] }],
  restartPolicy: "Never",
};

test("the identity of a pod is frozen", () => {
  expect({
    uid: podUID({ namespace: "default", name: "web", spec }, sha256),
    withDevices: podUID({ namespace: "default", name: "web", spec, devices: "/dev/x" }, sha256),
    specHash: specHash(spec, sha256),
    container: containerHash(spec.containers[0], sha256),
  }).toEqual({
    uid: "ef963db9-35fc-8d59-8f39-8ebdb56b0ea9",
    withDevices: "62e6b566-7cae-83a6-adfa-44b84622b730",
    specHash: "63ed210f76c59c8e",
    container: "v1:ba8f9a257d229e4335bee2224c45c98746e78b1f22da1d1df1b4b9c4d0a1eaf9",
  });
});

test("the UID of another object is of its kind, its names and its source", () => {
  const settings = { kind: "ConfigMap", namespace: "default", name: "settings", source: "file" };
  expect(objectUID(settings, sha256)).toBe("7a4c0aef-cb22-813a-93ff-4f3cf147d673");
  const others = [
    { ...settings, kind: "Secret" },
    { ...settings, namespace: "shop" },
    { ...settings, name: "other" },
    { ...settings, source: "node" },
    { kind: "Node", name: "settings" },
  ].map((one) => objectUID(one, sha256));
  expect(new Set([...others, objectUID(settings, sha256)]).size).toBe(6);
});

function decoded(text: string): DesiredPod {
  const { pods, errors } = decodeManifest(text, {
    source: "file",
    ref: "/m/a.yaml",
    nodeName: "n",
    sha256,
  });
  expect(errors).toEqual([]);
  const [first] = pods;
  if (first === undefined) throw new Error("no pod");
  return first.desired;
}

const base = `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - { name: a, image: "local/busybox:1", resources: { limits: { cpu: 1 } } }
`;

const same: Readonly<Record<string, string>> = {
  "a comment": `# hello\n${base}`,
  "the key order": `kind: Pod
apiVersion: v1
spec:
  containers:
    - { resources: { limits: { cpu: 1 } }, image: local/busybox:1, name: a }
  terminationGracePeriodSeconds: 1
metadata: { name: web }
`,
  "another spelling of a number": base
    .replace("Seconds: 1", "Seconds: 1.0")
    .replace("cpu: 1", "cpu: 1e0"),
  "a label": base.replace("name: web", "name: web, labels: { a: b }"),
  "an annotation": base.replace("name: web", "name: web, annotations: { a: b }"),
  "the default namespace, written out": base.replace("name: web", "name: web, namespace: default"),
  "a uid in the manifest": base.replace("name: web", "name: web, uid: 1-2-3"),
  JSON: '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"a","image":"local/busybox:1","resources":{"limits":{"cpu":1}}}],"terminationGracePeriodSeconds":1}}',
};
test.each(Object.entries(same))("%s changes nothing", (_sentence, text) => {
  const { uid, specHash: hash, containerHashes } = decoded(text);
  const before = decoded(base);
  expect({ uid, hash, containerHashes }).toEqual({
    uid: before.uid,
    hash: before.specHash,
    containerHashes: before.containerHashes,
  });
});

const other: Readonly<Record<string, string>> = {
  "another image": base.replace("busybox:1", "busybox:2"),
  "a default, written out": base.replace("spec:", "spec:\n  restartPolicy: Always"),
  "another name": base.replace("name: web", "name: web2"),
  "another namespace": base.replace("name: web", "name: web, namespace: shop"),
};
test.each(Object.entries(other))("%s makes another pod", (_sentence, text) => {
  expect(decoded(text).uid).not.toBe(decoded(base).uid);
});

test("the uid is a UUID of version 8 and metadata carries it", () => {
  const pod = decoded(base);
  expect(pod.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(pod.pod.metadata.uid).toBe(pod.uid);
});
