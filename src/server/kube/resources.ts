// Performs: every resource of the Kubernetes API of this node. A new one is an entry here.

import type { LocalObjectKind } from "../../api/v1/object/local-object.ts";
import { holdText } from "../../image/gc/hold-text.ts";
import type { NodeImage } from "../../image/gc/image-keys.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import { v1Event } from "../../node/events-list.ts";
import { v1Node, type ServerFacts } from "../../node/node-api.ts";
import { v1Object } from "../../node/object-list.ts";
import { v1Pod } from "../../node/pod-list.ts";
import type { V1Object } from "../../node/v1-shape.ts";
import {
  CLAIM_COLUMNS,
  CONFIG_MAP_COLUMNS,
  DESIRED_COLUMNS,
  EVENT_COLUMNS,
  IMAGE_COLUMNS,
  NAMESPACE_COLUMNS,
  NODE_COLUMNS,
  POD_COLUMNS,
  REJECTION_COLUMNS,
  SECRET_COLUMNS,
} from "./columns.ts";
import type { KubeResource, KubeVerb } from "./kube-resource.ts";
import { METRICS } from "./metrics-resources.ts";
import { memberOf, withUID } from "./object-meta.ts";

const CORE = { group: "", version: "v1" } as const;
const READ: readonly KubeVerb[] = ["get", "list", "watch"];
const WRITE: readonly KubeVerb[] = [
  ...READ,
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
];

function localObjects(
  kind: LocalObjectKind,
  names: Pick<KubeResource, "name" | "singularName" | "shortNames" | "columns" | "selectable">,
): KubeResource {
  return {
    ...CORE,
    ...names,
    kind,
    isNamespaced: true,
    verbs: WRITE,
    objects: (facts) =>
      facts
        .objects(undefined)
        .filter(({ object }) => object.kind === kind)
        .map((entry) => v1Object(entry, sha256)),
  };
}

export const PODS: KubeResource = {
  ...CORE,
  name: "pods",
  singularName: "pod",
  kind: "Pod",
  shortNames: ["po"],
  categories: ["all"],
  isNamespaced: true,
  verbs: WRITE,
  columns: POD_COLUMNS,
  selectable: [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
  ],
  objects: (facts) => facts.pods().map(v1Pod),
};

export const NODES: KubeResource = {
  ...CORE,
  name: "nodes",
  singularName: "node",
  kind: "Node",
  shortNames: ["no"],
  isNamespaced: false,
  verbs: READ,
  columns: NODE_COLUMNS,
  selectable: ["spec.unschedulable"],
  objects: (facts) => [nodeObject(facts)],
  // Without images if the runtime does not list them.
  load: async (facts, signal) => {
    const images = await facts.imageOrders.images(signal).catch(() => []);
    return [nodeObject(facts, images)];
  },
  volatile: (node) => ({
    ...node,
    metrics: undefined,
    status: withoutHeartbeats(memberOf(node, "status")),
  }),
};

function nodeObject(facts: ServerFacts, images: readonly NodeImage[] = []): V1Object {
  return withUID(v1Node(facts.node(), images), sha256);
}

function withoutHeartbeats(status: V1Object): V1Object {
  const { conditions } = status;
  if (!Array.isArray(conditions)) return status;
  const quiet = conditions.map((one: unknown) =>
    typeof one === "object" && one !== null ? { ...one, lastHeartbeatTime: undefined } : one,
  );
  return { ...status, conditions: quiet };
}

export const EVENTS: KubeResource = {
  ...CORE,
  name: "events",
  singularName: "event",
  kind: "Event",
  shortNames: ["ev"],
  isNamespaced: true,
  verbs: READ,
  columns: EVENT_COLUMNS,
  selectable: [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
  ],
  objects: (facts) => facts.events().map((event) => withUID(v1Event(event), sha256)),
};

export const NAMESPACES: KubeResource = {
  ...CORE,
  name: "namespaces",
  singularName: "namespace",
  kind: "Namespace",
  shortNames: ["ns"],
  isNamespaced: false,
  verbs: READ,
  columns: NAMESPACE_COLUMNS,
  selectable: ["status.phase"],
  objects: (facts) => {
    const used = [
      "default",
      ...facts.pods().map(({ pod }) => pod.metadata.namespace),
      ...facts.objects(undefined).map(({ object }) => object.metadata.namespace),
    ];
    return [...new Set(used)].map((name) => withUID(v1Namespace(name), sha256));
  },
};

function v1Namespace(name: string): V1Object {
  return {
    kind: "Namespace",
    apiVersion: "v1",
    metadata: { name, labels: { "kubernetes.io/metadata.name": name } },
    spec: {},
    status: { phase: "Active" },
  };
}

/** The images of the runtime, with what keeps each. */
const IMAGES: KubeResource = {
  group: "agent",
  version: "v1",
  name: "images",
  singularName: "image",
  kind: "Image",
  shortNames: ["img"],
  isNamespaced: false,
  verbs: ["get", "list"],
  columns: IMAGE_COLUMNS,
  selectable: [],
  objects: () => [],
  load: async (facts, signal) =>
    (await facts.imageOrders.list(signal)).map(({ image, hold }) => ({
      kind: "Image",
      apiVersion: "agent/v1",
      metadata: { name: image.id.replace(/^sha256:/, "").slice(0, 12) },
      id: image.id,
      names: image.tags.length > 0 ? image.tags : image.digests.slice(0, 1),
      sizeBytes: image.sizeBytes,
      ...(hold === undefined ? {} : { kept: { why: hold.why, by: hold.by, text: holdText(hold) } }),
    })),
};

/** What this node is meant to run, source by source, and how far it is. */
const DESIRED: KubeResource = {
  group: "agent",
  version: "v1",
  name: "desired",
  singularName: "desired",
  kind: "Desired",
  shortNames: [],
  isNamespaced: false,
  verbs: READ,
  columns: DESIRED_COLUMNS,
  selectable: ["status.phase"],
  objects: (facts) =>
    facts.desired().map(({ source, ...status }) => ({
      kind: "Desired",
      apiVersion: "agent/v1",
      metadata: { name: source.replaceAll("/", ".") },
      status,
    })),
};

/** What was refused, shadowed or ignored, and where. */
const REJECTIONS: KubeResource = {
  group: "agent",
  version: "v1",
  name: "rejections",
  singularName: "rejection",
  kind: "Rejection",
  shortNames: ["rejected"],
  isNamespaced: false,
  verbs: READ,
  columns: REJECTION_COLUMNS,
  selectable: ["code", "source"],
  objects: (facts) =>
    facts.rejected().map((rejection, index) => ({
      kind: "Rejection",
      apiVersion: "agent/v1",
      metadata: { name: `rejection-${index + 1}` },
      rejection,
    })),
};

export const RESOURCES: readonly KubeResource[] = [
  localObjects("ConfigMap", {
    name: "configmaps",
    singularName: "configmap",
    shortNames: ["cm"],
    columns: CONFIG_MAP_COLUMNS,
    selectable: [],
  }),
  EVENTS,
  NAMESPACES,
  NODES,
  localObjects("PersistentVolumeClaim", {
    name: "persistentvolumeclaims",
    singularName: "persistentvolumeclaim",
    shortNames: ["pvc"],
    columns: CLAIM_COLUMNS,
    selectable: [],
  }),
  PODS,
  localObjects("Secret", {
    name: "secrets",
    singularName: "secret",
    shortNames: [],
    columns: SECRET_COLUMNS,
    selectable: ["type"],
  }),
  DESIRED,
  IMAGES,
  REJECTIONS,
  ...METRICS,
];
