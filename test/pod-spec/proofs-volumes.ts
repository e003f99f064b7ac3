// Tests of volumes and of where they stand inside a container.

import { below, type Proof } from "./proof.ts";

const VOLUME = "pod.spec.volumes";
const MOUNT = "pod.spec.containers.volumeMounts";
const INSIDE = "test/e2e/volumes.test.ts";
const PROJECTION = "test/unit/volume/projection.test.ts";
const MOUNTS = "test/unit/runtime/cri-config/container-mounts.test.ts";

/** Volumes and projections that show keys of an object. */
const OF_OBJECTS = [
  "configMap",
  "secret",
  "projected.sources.configMap",
  "projected.sources.secret",
];
const DOWNWARD = ["downwardAPI", "projected.sources.downwardAPI"];
const PROJECTED = "projected.sources";

function inEach(sources: readonly string[], ...names: readonly string[]): readonly string[] {
  return sources.flatMap((source) => below(`${VOLUME}.${source}`, ...names));
}

export const VOLUME_PROOFS: readonly Proof[] = [
  {
    fields: [VOLUME, ...below(VOLUME, "name", "emptyDir")],
    proof: "here",
    test: INSIDE,
    title: "an emptyDir is shared, limited in memory, and empty in the next life",
  },
  {
    fields: below(VOLUME, "emptyDir.medium", "emptyDir.sizeLimit"),
    proof: "here",
    test: INSIDE,
    title: "an emptyDir is shared, limited in memory, and empty in the next life",
  },
  {
    fields: below(VOLUME, "hostPath", "hostPath.path", "hostPath.type"),
    proof: "here",
    test: INSIDE,
    title: "a hostPath of each of the eight types",
  },
  {
    fields: below(VOLUME, "configMap", "configMap.name", `${PROJECTED}.configMap.name`),
    proof: "here",
    test: INSIDE,
    title: "files of ConfigMaps, Secrets and the pod's own fields",
  },
  {
    fields: below(VOLUME, "secret", "secret.secretName", `${PROJECTED}.secret.name`),
    proof: "here",
    test: "test/e2e/secrets.test.ts",
    title: "a Secret is in memory, with its modes, and nowhere else",
  },
  {
    fields: inEach(OF_OBJECTS, "items", "items.*"),
    proof: "here",
    test: INSIDE,
    title: "files of ConfigMaps, Secrets and the pod's own fields",
  },
  {
    fields: inEach(OF_OBJECTS, "optional"),
    proof: "here",
    test: PROJECTION,
    title: "a missing optional object as nothing",
  },
  {
    fields: inEach(["configMap", "secret", "downwardAPI", "projected"], "defaultMode"),
    proof: "here",
    test: "test/component/volume/atomic-directory.test.ts",
    title: "gives files their modes whatever the umask, and notices one that is wrong",
  },
  {
    fields: below(VOLUME, "downwardAPI").concat(
      inEach(DOWNWARD, "items", "items.path", "items.mode", "items.fieldRef", "items.fieldRef.*"),
    ),
    proof: "here",
    test: INSIDE,
    title: "files of ConfigMaps, Secrets and the pod's own fields",
  },
  {
    fields: inEach(DOWNWARD, "items.resourceFieldRef", "items.resourceFieldRef.*"),
    proof: "here",
    test: INSIDE,
    title: "files of ConfigMaps, Secrets and the pod's own fields",
  },
  {
    fields: below(VOLUME, "projected", PROJECTED).concat(
      below(`${VOLUME}.${PROJECTED}`, "configMap", "secret", "downwardAPI"),
    ),
    proof: "here",
    test: INSIDE,
    title: "files of ConfigMaps, Secrets and the pod's own fields",
  },
  {
    fields: below(VOLUME, "persistentVolumeClaim", "persistentVolumeClaim.claimName"),
    proof: "here",
    test: "test/e2e/claims.test.ts",
    title: "a claim is waited for, and outlives its pods and its declaration",
  },
  {
    fields: below(VOLUME, "persistentVolumeClaim.readOnly"),
    proof: "here",
    test: "test/e2e/claims.test.ts",
    title: "a claim is waited for, and outlives its pods and its declaration",
  },
  {
    fields: below(VOLUME, "image", "image.*"),
    proof: "request",
    test: MOUNTS,
    title: "is mounted by the runtime, for reading",
  },
  {
    fields: below(VOLUME, "image"),
    proof: "request",
    test: "test/e2e/linux-features.test.ts",
    title: "what the runtime cannot is refused, never left out",
  },
  {
    fields: [MOUNT, ...below(MOUNT, "name", "mountPath", "readOnly")],
    proof: "here",
    test: INSIDE,
    title: "an emptyDir is shared, limited in memory, and empty in the next life",
  },
  {
    fields: below(MOUNT, "subPath"),
    proof: "here",
    test: "test/component/volume/sub-path.test.ts",
    title: "is a bind mount of what is there",
  },
  {
    fields: below(MOUNT, "subPathExpr"),
    proof: "request",
    test: MOUNTS,
    title: "of which a part is mounted, and never more than that",
  },
  {
    fields: below(MOUNT, "subPath", "subPathExpr"),
    proof: "here",
    test: "test/e2e/sub-paths.test.ts",
    title: "a part of every kind of volume",
  },
  {
    fields: below(MOUNT, "subPath"),
    proof: "here",
    test: "test/e2e/sub-paths.test.ts",
    title: "nobody gets out by changing links all the time",
  },
  {
    fields: below(MOUNT, "mountPropagation"),
    proof: "here",
    test: INSIDE,
    title: "mounts are seen on the other side as far as they are shared",
  },
  {
    fields: below(MOUNT, "recursiveReadOnly"),
    proof: "request",
    test: MOUNTS,
    title: "where it cannot, only IfPossible makes do with less",
  },
  {
    fields: below(MOUNT, "recursiveReadOnly"),
    proof: "here",
    test: "test/e2e/linux-features.test.ts",
    title: "recursiveReadOnly: IfPossible makes do with what there is",
  },
];
