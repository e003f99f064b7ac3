// Tests of ConfigMaps, Secrets and claims.

import { below, type Proof } from "./proof.ts";

const DECODE = "test/unit/api/decode/decode-local-object.test.ts";
const INSIDE = "test/e2e/config-objects.test.ts";
const KINDS = ["configmap", "secret", "pvc"];

export const OBJECT_PROOFS: readonly Proof[] = [
  {
    fields: KINDS.flatMap((kind) =>
      below(kind, "metadata.namespace", "metadata.labels", "metadata.annotations"),
    ),
    proof: "here",
    test: DECODE,
    title: "carries its source and itself as written",
  },
  {
    fields: below("configmap", "data", "binaryData"),
    proof: "here",
    test: DECODE,
    title: "that is a ConfigMap holds text and bytes",
  },
  {
    fields: below("secret", "data", "stringData", "type"),
    proof: "here",
    test: DECODE,
    title: "that is a Secret is Opaque, and text goes before bytes",
  },
  {
    fields: below("secret", "data"),
    proof: "here",
    test: "test/component/store/secrets.test.ts",
    title: "stands in no file in plain sight, and is there again after a restart",
  },
  {
    fields: ["configmap.immutable", "secret.immutable"],
    proof: "here",
    test: "test/unit/source/desired-objects.test.ts",
    title: "keeps its content",
  },
  {
    fields: ["configmap.data", "secret.stringData"],
    proof: "here",
    test: INSIDE,
    title: "pods wait for what is missing, name it, and start when it appears",
  },
  {
    fields: ["configmap.immutable", "secret.immutable"],
    proof: "here",
    test: INSIDE,
    title: "what is immutable refuses an edit, and says so",
  },
  {
    fields: ["configmap.data"],
    proof: "here",
    test: "test/e2e/config-changes.test.ts",
    title: "a volume follows its ConfigMap in one step, and nothing restarts",
  },
  {
    fields: ["secret.data"],
    proof: "here",
    test: "test/e2e/secrets.test.ts",
    title: "a Secret is in memory, with its modes, and nowhere else",
  },
  {
    fields: below("pvc", "spec", "spec.accessModes", "spec.resources", "spec.resources.*"),
    proof: "here",
    test: DECODE,
    title: "that is a claim",
  },
  {
    fields: below("pvc", "spec.volumeMode"),
    proof: "here",
    test: DECODE,
    title: "is a claim of a block device",
  },
];
