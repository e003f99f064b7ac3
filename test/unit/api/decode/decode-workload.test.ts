// What a Deployment, a DaemonSet and a StatefulSet turn into: one pod, as its author would have written it by hand.

import { describe, expect, test } from "bun:test";

import { decode } from "../written-pod.ts";

const SPEC = { containers: [{ name: "a", image: "x:1" }] };
const TEMPLATE = { metadata: { labels: { app: "web" }, annotations: { note: "n" } }, spec: SPEC };

function workload(kind: string, spec: object = {}, metadata: object = {}): object {
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name: "web", namespace: "shop", ...metadata },
    spec: { selector: { matchLabels: { app: "web" } }, template: TEMPLATE, ...spec },
  };
}

function onlyPod(value: object) {
  const { pods, errors } = decode(value);
  expect(errors).toEqual([]);
  expect(pods).toHaveLength(1);
  const [pod] = pods;
  if (pod === undefined) throw new Error("no pod");
  return pod;
}

describe.each(["Deployment", "DaemonSet", "StatefulSet"])("a %s", (kind) => {
  test("is one pod with an ordinal, in its namespace, with the template's labels", () => {
    const { metadata, spec } = onlyPod(workload(kind)).desired.pod;
    expect([metadata.namespace, metadata.name]).toEqual(["shop", "web-0"]);
    expect(metadata.labels).toMatchObject({ app: "web" });
    expect(metadata.annotations).toEqual({ note: "n", "agent/owner": `apps/v1 ${kind} web` });
    expect(spec.containers.map(({ image }) => image)).toEqual(["x:1"]);
  });

  test("is another pod under the same name when its template's spec changes, and only then", () => {
    const before = onlyPod(workload(kind)).desired;
    const relabelled = onlyPod(workload(kind, {}, { labels: { a: "b" } })).desired;
    const other = { ...TEMPLATE, spec: { containers: [{ name: "a", image: "x:2" }] } };
    const edited = onlyPod(workload(kind, { template: other })).desired;
    expect(relabelled.uid).toBe(before.uid);
    expect(edited.uid).not.toBe(before.uid);
    expect(edited.pod.metadata.name).toBe("web-0");
  });

  test("is the same when its pod is read again as it was written", () => {
    const { desired, written } = onlyPod(workload(kind));
    expect(onlyPod(written).desired).toEqual(desired);
  });

  test("lets unknown fields of its template pass if its own annotation permits", () => {
    const template = { ...TEMPLATE, spec: { ...SPEC, nosuchthing: 1 } };
    const annotations = { "agent/unknown-fields": "warn" };
    const { errors, notices } = decode(workload(kind, { template }, { annotations }));
    expect(errors).toEqual([]);
    expect(notices.map(({ path }) => path)).toEqual(["spec.template.spec.nosuchthing"]);
  });

  test("of another node is only noted", () => {
    const template = { ...TEMPLATE, spec: { ...SPEC, nodeName: "elsewhere" } };
    const { pods, errors, notices } = decode(workload(kind, { template }));
    expect([pods, errors]).toEqual([[], []]);
    expect(notices.map(({ code, path }) => [code, path])).toEqual([
      ["NotForThisNode", "spec.template.spec.nodeName"],
    ]);
  });
});

describe.each(["Deployment", "StatefulSet"])("a %s", (kind) => {
  test("with no replicas runs none", () => {
    const { pods, errors, notices } = decode(workload(kind, { replicas: 0 }));
    expect([pods, errors, notices]).toEqual([[], [], []]);
  });

  test("with several replicas runs one, with a warning", () => {
    const { pods, notices } = decode(workload(kind, { replicas: 3 }));
    expect(pods.map(({ desired }) => desired.pod.metadata.name)).toEqual(["web-0"]);
    expect(notices.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      "spec.replicas: 1 of 3 replicas runs on this node",
    ]);
  });
});

test("a StatefulSet has a stable name, labels, and a claim for each template", () => {
  const claim = {
    metadata: { name: "data", labels: { app: "web" } },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  };
  const own = { name: "data", emptyDir: {} };
  const template = {
    ...TEMPLATE,
    spec: { ...SPEC, volumes: [own, { name: "tmp", emptyDir: {} }] },
  };
  const value = workload("StatefulSet", {
    serviceName: "peers",
    ordinals: { start: 3 },
    template,
    volumeClaimTemplates: [claim],
  });
  const { metadata, spec } = onlyPod(value).desired.pod;
  expect(metadata.name).toBe("web-3");
  expect(metadata.labels).toEqual({
    app: "web",
    "statefulset.kubernetes.io/pod-name": "web-3",
    "apps.kubernetes.io/pod-index": "3",
  });
  expect([spec.hostname, spec.subdomain]).toEqual(["web-3", "peers"]);
  expect(spec.volumes.map(({ name }) => name)).toEqual(["tmp", "data"]);
  expect(spec.volumes[1]).toMatchObject({ persistentVolumeClaim: { claimName: "data-web-3" } });
  const [object] = decode(value).objects;
  expect(object?.desired.object).toMatchObject({
    kind: "PersistentVolumeClaim",
    metadata: { namespace: "shop", name: "data-web-3", labels: { app: "web" } },
  });
});

test("a list of Deployments needs no kind in its items", () => {
  const {
    kind: _kind,
    apiVersion: _version,
    ...item
  } = workload("Deployment") as Record<string, unknown>;
  const list = { apiVersion: "apps/v1", kind: "DeploymentList", items: [item] };
  expect(onlyPod(list).desired.pod.metadata.name).toBe("web-0");
});
