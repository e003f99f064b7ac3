// The columns of every resource, as kubectl prints them for the same objects, and where each object is declared.

import { humanDuration } from "../../api/resource/duration.ts";
import { ANNOTATION } from "../../api/pod/labels.ts";
import { mebibytes } from "../../image/pull-progress.ts";
import {
  isEvent as looksLikeEvent,
  isLocalObject as looksLikeLocalObject,
  isNode as looksLikeNode,
  isPod as looksLikePod,
} from "../../node/api-views.ts";
import type { EventView, LocalObjectView, NodeView } from "../../node/api-views.ts";
import { podCells, type PodCells } from "../../node/pod-cells.ts";
import type { V1Object } from "../../node/v1-shape.ts";
import type { TableColumn } from "./kube-resource.ts";
import { metaOf, valueAt } from "./object-meta.ts";

type Cell = TableColumn["cell"];
type Extra = Partial<Omit<TableColumn, "name" | "cell">>;

function column(name: string, description: string, cell: Cell, extra: Extra = {}): TableColumn {
  return { name, description, type: "string", priority: 0, ...extra, cell };
}

function wide(name: string, description: string, cell: Cell): TableColumn {
  return column(name, description, cell, { priority: 1 });
}

const NAME = column("Name", "Name of the object.", (object) => metaOf(object).name, {
  format: "name",
});

/** How long ago the time at `path` was. */
function ageAt(...paths: readonly string[]): Cell {
  return (object, now) => {
    for (const path of paths) {
      const time = valueAt(object, path);
      if (typeof time === "string") return ageOf(time, now);
    }
    return "<unknown>";
  };
}

function ageOf(time: string, now: number): string {
  const then = Date.parse(time);
  return Number.isNaN(then) ? "<unknown>" : humanDuration(now - then);
}

const CREATED = "metadata.creationTimestamp";
const AGE = column("Age", "Time since the object was made.", ageAt(CREATED));

function textAt(object: V1Object, path: string, key: string): string {
  const member = valueAt(object, path);
  const value =
    typeof member === "object" && member !== null
      ? Object.entries(member).find(([k]) => k === key)
      : undefined;
  return typeof value?.[1] === "string" ? value[1] : "";
}

const SOURCE = wide("Source", "What declares the object.", (object) =>
  [
    textAt(object, "metadata.annotations", ANNOTATION.configSource),
    textAt(object, "metadata.annotations", ANNOTATION.sourceRef),
  ]
    .filter((word) => word !== "")
    .join(" "),
);

type Is<T> = (value: unknown) => value is T;

/** Each row has several cells, and objects of the API are never changed: the shape of each is looked at once. */
function once<T>(is: Is<T>): Is<T> {
  const known = new WeakMap<object, boolean>();
  return (value): value is T => {
    if (typeof value !== "object" || value === null) return is(value);
    const before = known.get(value);
    if (before !== undefined) return before;
    const found = is(value);
    known.set(value, found);
    return found;
  };
}

const isPod = once(looksLikePod);
const isNode = once(looksLikeNode);
const isEvent = once(looksLikeEvent);
const isLocalObject = once(looksLikeLocalObject);

/** The cell of objects of one shape; "" for what is no such object. */
function of<T>(is: Is<T>, read: (object: T, now: number) => string): Cell {
  return (object, now) => (is(object) ? read(object, now) : "");
}

function podColumn(name: string, description: string, cell: keyof PodCells): TableColumn {
  return column(
    name,
    description,
    of(isPod, (pod, now) => podCells(pod, now)[cell]),
  );
}

export const POD_COLUMNS: readonly TableColumn[] = [
  NAME,
  podColumn("Ready", "Containers that are ready, of all.", "ready"),
  podColumn("Status", "What the pod does.", "status"),
  podColumn("Restarts", "How often its containers were restarted.", "restarts"),
  column("Age", "Time since the pod was started.", ageAt("status.startTime", CREATED)),
  wide(
    "IP",
    "Address of the pod.",
    of(isPod, ({ status }) => status.podIP ?? "<none>"),
  ),
  wide(
    "Node",
    "Name of the node.",
    of(isPod, ({ spec }) => spec.nodeName ?? "<none>"),
  ),
  wide("Nominated Node", "Always none: a node without a scheduler.", () => "<none>"),
  wide("Readiness Gates", "Always none: they need an API server.", () => "<none>"),
  SOURCE,
];

export const NODE_COLUMNS: readonly TableColumn[] = [
  NAME,
  column("Status", "Ready or not, and every problem.", of(isNode, nodeStatus)),
  column("Roles", "Always none.", () => "<none>"),
  AGE,
  column("Version", "Version of the agent.", nodeInfo("kubeletVersion")),
  wide("Internal-IP", "Address of the node.", address("InternalIP")),
  wide("External-IP", "Address from outside.", address("ExternalIP")),
  wide("OS-Image", "Operating system.", nodeInfo("osImage")),
  wide("Kernel-Version", "Version of the kernel.", nodeInfo("kernelVersion")),
  wide("Container-Runtime", "Runtime and its version.", nodeInfo("containerRuntimeVersion")),
];

function nodeInfo(key: string): Cell {
  return of(isNode, ({ status }) => status.nodeInfo?.[key] ?? "<unknown>");
}

function address(wanted: string): Cell {
  return of(
    isNode,
    ({ status: { addresses = [] } }) =>
      addresses.find(({ type }) => type === wanted)?.address ?? "<none>",
  );
}

/** Also true of each device that has booted without a network, and harms nothing by itself. */
const HARMLESS = "ClockUntrusted";

/** `Ready` or `NotReady`, then every other condition that is true: on a node each of them is a problem. */
export function nodeStatus({ status: { conditions = [] } }: NodeView): string {
  const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
  const problems = conditions
    .filter(({ type, status }) => type !== "Ready" && type !== HARMLESS && status === "True")
    .map(({ type }) => type);
  return [isReady ? "Ready" : "NotReady", ...problems].join(",");
}

export const NAMESPACE_COLUMNS: readonly TableColumn[] = [
  NAME,
  column("Status", "Always Active.", () => "Active"),
  AGE,
];

export const EVENT_COLUMNS: readonly TableColumn[] = [
  column("Last Seen", "Time since the newest occurrence.", of(isEvent, lastSeen)),
  column("Type", "Normal or Warning.", at("type")),
  column("Reason", "Why, in one word.", at("reason")),
  column("Object", "What it is about.", of(isEvent, aboutOf)),
  wide(
    "Subobject",
    "Its part.",
    of(isEvent, ({ involvedObject }) => involvedObject.fieldPath ?? ""),
  ),
  wide("Source", "What recorded it.", of(isEvent, recorderOf)),
  column(
    "Message",
    "What happened.",
    of(isEvent, ({ message }) => message.trim()),
  ),
  wide("First Seen", "Time since the first occurrence.", ageAt("firstTimestamp")),
  column(
    "Count",
    "How often it happened.",
    of(isEvent, ({ count }) => String(count)),
    { priority: 1 },
  ),
  { ...NAME, priority: 1 },
];

/** kubectl events: also how often since when. */
function lastSeen({ count, firstTimestamp, lastTimestamp }: EventView, now: number): string {
  const last = ageOf(lastTimestamp, now);
  return count <= 1 ? last : `${last} (x${count} over ${ageOf(firstTimestamp, now)})`;
}

function aboutOf({ involvedObject: { kind, name } }: EventView): string {
  return `${kind.toLowerCase()}/${name}`;
}

function recorderOf({ source }: EventView): string {
  return [source?.component, source?.host].filter((word) => word !== undefined).join(", ");
}

function localColumn(
  name: string,
  description: string,
  read: (object: LocalObjectView) => string,
): TableColumn {
  return column(name, description, of(isLocalObject, read));
}

const KEYS = localColumn("Data", "How many keys.", ({ data, binaryData }) =>
  String([data, binaryData].flatMap((content) => Object.keys(content ?? {})).length),
);

const DECLARED: readonly TableColumn[] = [AGE, SOURCE];

export const CONFIG_MAP_COLUMNS: readonly TableColumn[] = [NAME, KEYS, ...DECLARED];

export const SECRET_COLUMNS: readonly TableColumn[] = [
  NAME,
  localColumn("Type", "Kind of content.", ({ type }) => type ?? ""),
  KEYS,
  ...DECLARED,
];

const SHORT_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

export const CLAIM_COLUMNS: readonly TableColumn[] = [
  NAME,
  localColumn("Status", "Bound: a directory of this node.", ({ status }) => status?.phase ?? ""),
  column("Volume", "Always the node's own directory.", (object) => volumeOf(object)),
  localColumn(
    "Capacity",
    "As the claim asks; informative.",
    ({ status }) => status?.capacity?.["storage"] ?? "",
  ),
  localColumn("Access Modes", "As the claim asks.", modesOf),
  column("StorageClass", "Always none.", () => ""),
  ...DECLARED,
];

function volumeOf(object: V1Object): string {
  const { namespace = "", name } = metaOf(object);
  return `${namespace}/${name}`;
}

function modesOf({ status }: LocalObjectView): string {
  return (status?.accessModes ?? []).map((mode) => SHORT_MODES[mode] ?? mode).join(",");
}

export const DESIRED_COLUMNS: readonly TableColumn[] = [
  NAME,
  column("Generation", "Of the newest accepted document.", at("status.generation")),
  column("Observed", "Generation that has fully converged.", at("status.observedGeneration")),
  column("Phase", "How far it is.", at("status.phase")),
  column("Code", "The code of its acknowledgement.", at("status.code")),
  column("Age", "Time since it is so.", ageAt("status.since")),
  column("Message", "What it waits for, or what failed.", at("status.message")),
  wide("Digest", "Of the document.", at("status.digest")),
];

export const REJECTION_COLUMNS: readonly TableColumn[] = [
  NAME,
  column("Code", "Why, in one word.", at("rejection.code")),
  column("Kind", "Kind of the object.", at("rejection.kind")),
  column("Object", "Name of the object.", at("rejection.name")),
  column("Where", "File, or document.", at("rejection.ref")),
  column("Line", "In the file.", at("rejection.line")),
  column("Field", "What is wrong.", at("rejection.path")),
  column("Message", "Why it is wrong, and the remedy.", at("rejection.message")),
];

export const IMAGE_COLUMNS: readonly TableColumn[] = [
  NAME,
  column("Image", "Names of the image.", (object) => wordsAt(object, "names")),
  column("Size", "Bytes on the disk.", sizeOf),
  column("Kept", "What keeps it from being collected.", at("kept.text")),
  wide("ID", "Digest of its configuration.", at("id")),
];

/** A text or number; "" = there is none. */
function at(path: string): Cell {
  return (object) => {
    const value = valueAt(object, path);
    return typeof value === "string" || typeof value === "number" ? value : "";
  };
}

function wordsAt(object: V1Object, path: string): string {
  const value = valueAt(object, path);
  return Array.isArray(value) ? value.filter((one) => typeof one === "string").join(",") : "";
}

function sizeOf(object: V1Object): string {
  const bytes = valueAt(object, "sizeBytes");
  return typeof bytes === "number" ? mebibytes(bytes) : "";
}
