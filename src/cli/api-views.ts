// What the local API answers, as far as this command reads it; every other field passes through unchanged.

import type { Rejection } from "../api/pod/desired-pod.ts";
import type { NodeStatus } from "../api/v1/pod-status.ts";
import type { SummarizedPod } from "../api/pod/pod-summary.ts";
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
import type { Type } from "../api/schema/type.ts";
import { type JsonObject, isJsonObject } from "../lib/json.ts";

export interface ObjectView {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
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

export interface EventView extends ObjectView {
  readonly involvedObject: {
    readonly kind: string;
    readonly name: string;
    readonly fieldPath?: string;
  };
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly source?: { readonly component?: string; readonly host?: string };
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

const text = (about: string) => fieldOf(exactText, "")({ about, required: true });
const maybeText = (about: string) => fieldOf(exactText)({ about });
const texts = (about: string) =>
  fieldOf(listOf(exactText), [])({ about, required: true, keep: true });
const object = fieldOf(objectType("Object", {}));
const OBJECT = { about: "An object.", required: true } as const;

const NAMED = {
  metadata: fieldOf(objectType("ObjectMeta", { name: text("Name of the object.") }))(OBJECT),
};

const POD = objectType("Pod", {
  ...NAMED,
  spec: fieldOf(
    objectType("PodSpec", {
      containers: fieldOf(
        listOf(anything),
        [],
      )({ about: "Containers.", required: true, keep: true }),
    }),
  )(OBJECT),
  status: object(OBJECT),
});

const NODE = objectType("Node", { ...NAMED, status: object(OBJECT) });

const LOCAL_OBJECT = objectType("LocalObject", {
  ...NAMED,
  data: object({ about: "Content as text." }),
  binaryData: object({ about: "Content in base64." }),
  type: maybeText("Type of a Secret."),
  status: object({ about: "Status of a claim." }),
});

const EVENT = objectType("Event", {
  ...NAMED,
  involvedObject: fieldOf(
    objectType("ObjectReference", { kind: text("Kind."), name: text("Name.") }),
  )(OBJECT),
  type: text("Normal or Warning."),
  reason: text("Reason, one word."),
  message: text("What happened."),
  firstTimestamp: text("When it happened first."),
  lastTimestamp: text("When it happened last."),
  count: integer({ about: "How often.", required: true }),
});

const REJECTION = objectType("Rejection", {
  source: text("Source of the object."),
  ref: text("File or topic."),
  code: text("Why, one word."),
  path: text("Field."),
  message: text("What is wrong."),
});

const TRUST = objectType("Trust", {
  required: boolean({ about: "Whether signatures are required.", required: true }),
  why: text("Why they are, or are not."),
  trustPath: text("Directory of the root keys."),
  rootKeys: fieldOf(
    listOf(
      objectType("RootKey", {
        keyid: text("Id of the key."),
        file: maybeText("File of the key."),
        inForce: boolean({ about: "Whether the key counts.", required: true }),
      }),
    ),
    [],
  )({ about: "Root keys.", required: true, keep: true }),
  bundle: fieldOf(
    objectType("TrustBundle", {
      version: integer({ about: "Version of the bundle.", required: true }),
      notBefore: maybeText("What was issued before does not count."),
      keys: fieldOf(
        listOf(
          objectType("SigningKey", {
            keyid: text("Id of the key."),
            roles: texts("What it may sign."),
            nodes: fieldOf(listOf(exactText))({ about: "Nodes it may sign for.", keep: true }),
            groups: fieldOf(listOf(exactText))({ about: "Groups it may sign for.", keep: true }),
          }),
        ),
        [],
      )({ about: "Keys that may sign.", required: true, keep: true }),
    }),
  )({ about: "TrustBundle in force." }),
  problems: texts("Problems with the keys."),
});

const VERSION = objectType("Version", { version: text("Version of the agent.") });

export const isPod = isA<PodView>(POD);
export const isNode = isA<NodeView>(NODE);
export const isLocalObject = isA<LocalObjectView>(LOCAL_OBJECT);
export const isEvent = isA<EventView>(EVENT);
export const isRejections = isA<readonly Rejection[]>(listOf(REJECTION));
export const isVersion = isA<Decoded<typeof VERSION>>(VERSION);
export const isTrust = isA<TrustView>(TRUST);

/** A v1 list of such objects. */
export function isListOf<T>(isItem: (value: unknown) => value is T) {
  return (value: unknown): value is { readonly items: readonly T[] } =>
    isJsonObject(value) && Array.isArray(value["items"]) && value["items"].every(isItem);
}

/** Whether the fields that are read have their types: the answer itself is used, with all that it contains. */
function isA<V>(type: Type<unknown>) {
  return (value: unknown): value is V =>
    value !== null && value !== undefined && readValue(type, value, { unknownFields: "warn" }).ok;
}
