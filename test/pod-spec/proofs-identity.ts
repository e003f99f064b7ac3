// Tests of what a pod is called, and where it stands.

import { below, type Proof } from "./proof.ts";

const KIND_FIELDS = ["pod", "configmap", "secret", "pvc"].flatMap((kind) =>
  below(kind, "apiVersion", "kind", "metadata", "metadata.name"),
);

export const IDENTITY_PROOFS: readonly Proof[] = [
  {
    fields: KIND_FIELDS.concat(below("pod", "spec")),
    proof: "here",
    test: "test/unit/api/fixtures.test.ts",
    title: "invalid manifests",
  },
  {
    fields: ["pod.metadata.namespace"],
    proof: "here",
    test: "test/e2e/local-api.test.ts",
    title: "get pods -o wide, -A, -n, NAME",
  },
  {
    fields: below("pod.metadata", "labels", "annotations"),
    proof: "here",
    test: "test/e2e/manifests.test.ts",
    title: "comments, the order of keys, labels and annotations are edited without a restart",
  },
  {
    fields: ["pod.spec.nodeName"],
    proof: "here",
    test: "test/component/source/file-source.test.ts",
    title: "a pod that is given to another node stops",
  },
];
