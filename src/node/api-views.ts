// What the local API answers, as far as this command reads it; every other field passes through unchanged.

import type { Explanation } from "./explain/explain-pod.ts";
import type { ShutdownView } from "./shutdown/node-shutdown.ts";
import type { Rejection } from "../api/pod/desired-pod.ts";
import type { EventContent, EventObject, RecordedEvent } from "../api/v1/events.ts";
import type { NodeStatus } from "../api/v1/pod-status.ts";
import type { ImageHold } from "../image/gc/image-holds.ts";
import type { SummarizedPod } from "../api/pod/pod-summary.ts";
import type { SelfUpdateView } from "../self-update/self-update-view.ts";
import type { TrustView } from "../trust/trust-view.ts";
import {
  boolean,
  fieldOf,
  integer,
  listOf,
  objectType,
  type Decoded,
} from "../api/schema/codec.ts";
import { readValue } from "../api/schema/read-value.ts";
import { anything, exactText } from "../api/schema/values.ts";
import type { Field, Level, Type } from "../api/schema/type.ts";
import { type JsonObject, isJsonObject } from "../lib/json.ts";

export interface ObjectView {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
  };
}

export interface PodView extends ObjectView {
  readonly spec: SummarizedPod["spec"] & { readonly nodeName?: string };
  readonly status: SummarizedPod["status"];
}

export interface NodeView extends ObjectView {
  readonly status: Partial<NodeStatus>;
}

export interface EventView extends ObjectView, EventContent, Pick<RecordedEvent, "count"> {
  readonly involvedObject: Pick<EventObject, "kind" | "name" | "fieldPath">;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly source?: { readonly component?: string; readonly host?: string };
}

export interface ImageView {
  readonly id: string;
  readonly names: readonly string[];
  readonly sizeBytes: number;
  /** Absent = nothing keeps it. */
  readonly kept?: ImageHold;
}

/** A ConfigMap, a Secret or a claim. */
export interface LocalObjectView extends ObjectView {
  readonly data?: JsonObject;
  readonly binaryData?: JsonObject;
  readonly type?: string;
  readonly status?: {
    readonly phase?: string;
    readonly capacity?: Readonly<Record<string, string>>;
    readonly accessModes?: readonly string[];
  };
}

const READ = { about: "Read by this command.", required: true } as const;
export const TEXT = fieldOf(exactText, "")(READ);
const MAYBE_TEXT = fieldOf(exactText)({ about: READ.about });
const COUNT = integer(READ);
const FLAG = boolean(READ);
const TEXTS = listField(exactText);
const MAYBE_TEXTS = fieldOf(listOf(exactText))({ about: READ.about, keep: true });
const MAYBE_OBJECT = fieldOf(objectType("Object", {}))({ about: READ.about });

function listField<T>(item: Type<T>): Field<readonly T[]> {
  return fieldOf(listOf(item), [])({ ...READ, keep: true });
}

function objectField(level: Level): Field {
  return fieldOf(objectType("Object", level))(READ);
}

/** Has `metadata.name`; with `TEXT` what most descriptors of `agent get` need. */
export const NAMED = { metadata: objectField({ name: TEXT }) };
const POD = objectType("Pod", {
  ...NAMED,
  spec: objectField({ containers: listField(anything) }),
  status: objectField({}),
});
const NODE = objectType("Node", { ...NAMED, status: objectField({}) });
const LOCAL_OBJECT = objectType("LocalObject", {
  ...NAMED,
  data: MAYBE_OBJECT,
  binaryData: MAYBE_OBJECT,
  type: MAYBE_TEXT,
  status: MAYBE_OBJECT,
});
const EVENT = objectType("Event", {
  ...NAMED,
  involvedObject: objectField({ kind: TEXT, name: TEXT }),
  type: TEXT,
  reason: TEXT,
  message: TEXT,
  firstTimestamp: TEXT,
  lastTimestamp: TEXT,
  count: COUNT,
});
const REJECTION = objectType("Rejection", {
  source: TEXT,
  ref: TEXT,
  code: TEXT,
  path: TEXT,
  message: TEXT,
});
const ROOT_KEY = objectType("RootKey", { keyid: TEXT, file: MAYBE_TEXT, inForce: FLAG });
const SIGNING_KEY = objectType("SigningKey", {
  keyid: TEXT,
  roles: TEXTS,
  nodes: MAYBE_TEXTS,
  groups: MAYBE_TEXTS,
});
const BUNDLE = objectType("TrustBundle", {
  version: COUNT,
  notBefore: MAYBE_TEXT,
  keys: listField(SIGNING_KEY),
});
const NODE_KEYS = objectType("NodeKeys", {
  fingerprint: TEXT,
  sealKey: TEXT,
  previousSealKey: MAYBE_TEXT,
});
const TRUST = objectType("Trust", {
  required: FLAG,
  why: TEXT,
  trustPath: TEXT,
  rootKeys: listField(ROOT_KEY),
  bundle: fieldOf(BUNDLE)({ about: READ.about }),
  nodeKeys: fieldOf(NODE_KEYS)({ about: READ.about }),
  problems: TEXTS,
});
const KEPT = objectType("Kept", { why: TEXT, by: TEXTS });
const IMAGES = objectType("ImageList", {
  items: listField(
    objectType("Image", {
      id: TEXT,
      names: TEXTS,
      sizeBytes: COUNT,
      kept: fieldOf(KEPT)({ about: READ.about }),
    }),
  ),
});
const PULL = objectType("Pull", { name: TEXT, progress: MAYBE_TEXT });
const PULLED = objectType("PulledImage", { ref: TEXT });
const RESTARTED = objectType("Restarted", {
  containers: listField(objectType("Container", { name: TEXT, restartCount: COUNT })),
});
const VERSION = objectType("Version", { version: TEXT });

const API_RESOURCES = objectType("APIResourceList", {
  groupVersion: TEXT,
  resources: listField(
    objectType("APIResource", {
      name: TEXT,
      singularName: TEXT,
      kind: TEXT,
      namespaced: FLAG,
      shortNames: MAYBE_TEXTS,
      categories: MAYBE_TEXTS,
    }),
  ),
});
const API_GROUPS = objectType("APIGroupList", {
  groups: listField(
    objectType("APIGroup", { preferredVersion: objectField({ groupVersion: TEXT }) }),
  ),
});
const TABLE = objectType("Table", {
  columnDefinitions: listField(
    objectType("TableColumnDefinition", { name: TEXT, priority: COUNT }),
  ),
  rows: listField(objectType("TableRow", { cells: listField(anything), object: MAYBE_OBJECT })),
});
const OBJECT = objectType("Object", { kind: TEXT, ...NAMED });

const EXPLANATION = objectType("Explanation", {
  namespace: TEXT,
  pod: TEXT,
  well: FLAG,
  advice: TEXT,
  admitted: FLAG,
  causes: listField(anything),
  dependencies: listField(anything),
  updates: listField(anything),
  images: listField(anything),
  volumes: listField(anything),
  containers: listField(objectType("ExplainedContainer", { name: TEXT, stage: TEXT })),
  warnings: listField(anything),
});

const SHUTDOWN = objectType("Shutdown", { active: FLAG, known: FLAG, pods: TEXTS, seconds: COUNT });

const SELF_UPDATE = objectType("SelfUpdate", {
  version: TEXT,
  phase: TEXT,
  failed: fieldOf(listOf(anything))({ about: "", default: [] }),
});

/** What a server has of one group and version. */
export interface ApiResourceList {
  readonly groupVersion: string;
  readonly resources: readonly {
    readonly name: string;
    readonly singularName: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
  }[];
}

export interface TableView {
  readonly metadata?: { readonly resourceVersion?: string };
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: readonly TableRowView[];
}

export interface TableRowView {
  readonly cells: readonly unknown[];
  readonly object: ObjectView;
}

export const isApiResources = isView<ApiResourceList>(API_RESOURCES);
export const isApiGroups = isView<{
  readonly groups: readonly { readonly preferredVersion: { readonly groupVersion: string } }[];
}>(API_GROUPS);
export const isTable = isView<TableView>(TABLE);
export const isObjectView = isView<ObjectView>(OBJECT);
export const isPod = isView<PodView>(POD);
export const isNode = isView<NodeView>(NODE);
export const isLocalObject = isView<LocalObjectView>(LOCAL_OBJECT);
export const isEvent = isView<EventView>(EVENT);
export const isRejections = isView<readonly Rejection[]>(listOf(REJECTION));
export const isVersion = isView<Decoded<typeof VERSION>>(VERSION);
export const isShutdown = isView<ShutdownView>(SHUTDOWN);
export const isSelfUpdate = isView<SelfUpdateView>(SELF_UPDATE);
export const isImages = isView<{ readonly items: readonly ImageView[] }>(IMAGES);
export const isPull = isView<Decoded<typeof PULL>>(PULL);
export const isPulled = isView<Decoded<typeof PULLED>>(PULLED);
export const isRestarted = isView<Decoded<typeof RESTARTED>>(RESTARTED);
export const isExplanation = isView<Explanation>(EXPLANATION);
export const isTrust = isView<TrustView>(TRUST);

/** A v1 list of such objects. */
export function isListOf<T>(isItem: (value: unknown) => value is T) {
  return (value: unknown): value is { readonly items: readonly T[] } =>
    isJsonObject(value) && Array.isArray(value["items"]) && value["items"].every(isItem);
}

/** Whether the fields that are read have their types: the answer itself is used, with all that it contains. */
export function isView<V>(type: Type<unknown>) {
  return (value: unknown): value is V =>
    value !== null && value !== undefined && readValue(type, value, { unknownFields: "ignore" }).ok;
}
