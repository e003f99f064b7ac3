import { describe, expect, test } from "bun:test";

import { referencesOf } from "../../../../src/api/pod/object-references.ts";
import type { ObjectProjection } from "../../../../src/api/v1/projected-volumes.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import { decode, writtenPod } from "../written-pod.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

const all = (name: string): ObjectProjection => ({ name, items: [], optional: false });

describe("references", () => {
  test("a pod that refers to nothing has none", () => {
    expect(referencesOf(aPod())).toEqual([]);
  });

  test("are found wherever they stand", () => {
    const variables: Container["env"] = [
      { name: "A", value: "x" },
      { name: "B", valueFrom: { type: "fieldRef", fieldPath: "metadata.name" } },
      {
        name: "C",
        valueFrom: { type: "configMapKeyRef", name: "c1", key: "k", optional: true },
      },
      {
        name: "D",
        valueFrom: { type: "secretKeyRef", name: "s1", key: "k", optional: false },
      },
    ];
    const pod = aPod(
      {
        imagePullSecrets: ["pull"],
        volumes: [
          { name: "e", emptyDir: { medium: "" } },
          { name: "c", configMap: { ...all("c2"), defaultMode: 0o644 } },
          { name: "s", secret: { ...all("s2"), optional: true, defaultMode: 0o644 } },
          {
            name: "p",
            projected: {
              defaultMode: 0o644,
              sources: [
                { type: "downwardAPI", items: [] },
                { type: "configMap", ...all("c3") },
                { type: "secret", ...all("s3") },
              ],
            },
          },
          { name: "d", persistentVolumeClaim: { claimName: "data", readOnly: false } },
        ],
        initContainers: [aContainer("i", { env: variables })],
        containers: [
          aContainer("a", {
            envFrom: [
              { type: "configMap", name: "c4", prefix: "", optional: false },
              { type: "secret", name: "s4", prefix: "", optional: true },
            ],
          }),
        ],
      },
      { namespace: "shop" },
    );
    const found = referencesOf(pod).map(
      ({ kind, namespace, name, optional, path }) =>
        `${path}: ${kind} ${namespace}/${name}${optional ? "?" : ""}`,
    );
    expect(found).toEqual([
      "spec.imagePullSecrets[0]: Secret shop/pull?",
      "spec.volumes[1].configMap: ConfigMap shop/c2",
      "spec.volumes[2].secret: Secret shop/s2?",
      "spec.volumes[3].projected.sources[1].configMap: ConfigMap shop/c3",
      "spec.volumes[3].projected.sources[2].secret: Secret shop/s3",
      "spec.volumes[4].persistentVolumeClaim: PersistentVolumeClaim shop/data",
      "spec.initContainers[0].env[2].valueFrom.configMapKeyRef: ConfigMap shop/c1?",
      "spec.initContainers[0].env[3].valueFrom.secretKeyRef: Secret shop/s1",
      "spec.containers[0].envFrom[0].configMapRef: ConfigMap shop/c4",
      "spec.containers[0].envFrom[1].secretRef: Secret shop/s4?",
    ]);
  });

  test("are reported with their written index, although an injected token before them was left out", () => {
    const { pods } = decode(
      writtenPod({
        volumes: [
          { name: "kube-api-access-x", projected: { sources: [{ serviceAccountToken: {} }] } },
          { name: "c", configMap: { name: "settings" } },
        ],
      }),
    );
    const found = pods.flatMap(({ desired }) => referencesOf(desired.pod));
    expect(found.map(({ path }) => path)).toEqual(["spec.volumes[1].configMap"]);
  });
});
