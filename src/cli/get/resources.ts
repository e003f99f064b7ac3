// Every resource of `agent get`, in kubectl's words and columns. A new one is an entry here and a path of the local API.

import { ANNOTATION } from "../../api/pod/labels.ts";
import { isConditionTrue, summarizePod, type PodSummary } from "../../api/pod/pod-summary.ts";
import { UPDATE_CONDITIONS } from "../../api/pod/update-condition.ts";
import {
  isEvent,
  isLocalObject,
  isNode,
  isPod,
  type EventView,
  type LocalObjectView,
  type NodeView,
  type ObjectView,
  type PodView,
} from "../api-views.ts";
import { age, printable, type Column, type TableView } from "../terminal-text.ts";
import { namespaceFlag, outputFlag, type Flags } from "../flags.ts";
import { OUTPUT_FORMATS, inNamespace, type Resource } from "./resource-type.ts";

const OUTPUT = outputFlag(...OUTPUT_FORMATS);
const ALL_NAMESPACES: Flags = { "-A, --all-namespaces": "in all namespaces" };
const OBJECT_FLAGS: Flags = {
  ...OUTPUT,
  ...namespaceFlag(),
  ...ALL_NAMESPACES,
  "-l, --selector <selector>": "with these labels, such as app=web,tier!=test",
};

const NAME: Column<ObjectView> = { title: "NAME", cell: ({ metadata }) => metadata.name };

export const PODS: Resource<PodView> = {
  name: "pods",
  aliases: ["pod", "po"],
  kind: "Pod",
  description: "the pods of this node, and refused manifests",
  flags: { ...OBJECT_FLAGS, "-w, --watch": "print every change, until Ctrl-C" },
  path: () => "/pods",
  isObject: isPod,
  columns: [
    NAME,
    { title: "READY", cell: (pod) => readiness(podSummary(pod)) },
    { title: "STATUS", cell: (pod) => podSummary(pod).status },
    { title: "RESTARTS", cell: (pod, { now }) => restarts(podSummary(pod), now) },
    {
      title: "AGE",
      cell: ({ status, metadata }, { now }) =>
        age(status.startTime ?? metadata.creationTimestamp, now),
    },
    { title: "IP", isWide: true, cell: ({ status }) => status.podIP ?? "" },
    { title: "NODE", isWide: true, cell: ({ spec }) => spec.nodeName ?? "" },
    { title: "SOURCE", isWide: true, cell: sourceOf },
  ],
  identity: (pod, isWide) => [
    podSummary(pod),
    pod.status.startTime,
    ...(isWide ? [pod.status.podIP, pod.spec.nodeName, sourceOf(pod)] : []),
  ],
  goneColumn: "STATUS",
  refusals: "All",
  nothingFound: (query, total) => {
    const hint = total > 0 ? ` The node has ${total} more; -A shows all namespaces.` : "";
    return `No pods found${inNamespace(query)}.${query.namespace === undefined ? "" : hint}`;
  },
};

/** Shown with its message: who holds the update, and for how long. */
const HELD = "agent/UpdateHeld";

/** As `withPulls` words it. */
const PULLING = /^pulling image ".*": (.*)$/;

/** kubectl's READY, STATUS and RESTARTS; behind the status what became of an update, and how far a pull is. */
export function podSummary(pod: PodView): PodSummary {
  const summary = summarizePod(pod, pod.metadata.deletionTimestamp !== undefined);
  const notes = Object.entries(UPDATE_CONDITIONS)
    .filter(([type]) => isConditionTrue(pod, type))
    .map(([type, words]) => (type === HELD ? `${words}: ${messageOf(pod, type)}` : words));
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status;
  for (const { state } of [...initContainerStatuses, ...containerStatuses]) {
    const bytes = PULLING.exec(state.waiting?.message ?? "")?.[1];
    if (bytes !== undefined) notes.push(`pulling ${bytes}`);
  }
  if (notes.length === 0) return summary;
  return { ...summary, status: `${summary.status} (${notes.join(", ")})` };
}

function messageOf({ status }: PodView, wanted: string): string {
  return status.conditions?.find(({ type }) => type === wanted)?.message ?? "";
}

function readiness({ ready, containers }: PodSummary): string {
  return `${ready}/${containers}`;
}

function restarts({ restarts: count, lastRestart }: PodSummary, now: number): string {
  return count === 0 || lastRestart === undefined
    ? `${count}`
    : `${count} (${age(lastRestart, now)} ago)`;
}

function sourceOf({ metadata: { annotations = {} } }: PodView): string {
  return [annotations[ANNOTATION.configSource], annotations[ANNOTATION.sourceRef]]
    .filter((word) => word !== undefined)
    .join(" ");
}

export const EVENTS: Resource<EventView> = {
  name: "events",
  aliases: ["event", "ev"],
  kind: "Event",
  description: "recent events, the latest last",
  flags: {
    ...OUTPUT,
    ...namespaceFlag("in this namespace; the node's own are in default"),
    ...ALL_NAMESPACES,
    "-w, --watch": "print every new event, until Ctrl-C",
    "--for <object>": "of this object only, such as pod/web",
  },
  path: () => "/events",
  isObject: isEvent,
  columns: [
    { title: "LAST SEEN", cell: lastSeen },
    { title: "TYPE", cell: ({ type }) => type },
    { title: "REASON", cell: ({ reason }) => reason },
    {
      title: "OBJECT",
      cell: ({ involvedObject: { kind, name } }) => `${kind.toLowerCase()}/${name}`,
    },
    {
      title: "SUBOBJECT",
      isWide: true,
      cell: ({ involvedObject }) => involvedObject.fieldPath ?? "",
    },
    {
      title: "SOURCE",
      isWide: true,
      cell: ({ source }) =>
        [source?.component, source?.host].filter((word) => word !== undefined).join(", "),
    },
    { title: "MESSAGE", cell: ({ message }) => message.trim() },
    {
      title: "FIRST SEEN",
      isWide: true,
      cell: ({ firstTimestamp }, { now }) => age(firstTimestamp, now),
    },
    { title: "COUNT", isWide: true, cell: ({ count }) => `${count}` },
    { ...NAME, isWide: true },
  ],
  identity: ({ count, lastTimestamp, message }) => [count, lastTimestamp, message],
  about: ({ involvedObject }) => involvedObject,
  refusals: "None",
  nothingFound: ({ namespace, about }) => {
    const object = about === undefined ? "" : ` for ${about.kind.toLowerCase()}/${about.name}`;
    const where = namespace === undefined ? "" : ` in namespace "${namespace}"`;
    return printable(`No events found${object}${where}.`);
  },
};

/** kubectl events: how often since when; the wide table has columns for that. */
function lastSeen(event: EventView, { isWide, now }: TableView): string {
  const last = age(event.lastTimestamp, now);
  if (isWide || event.count <= 1) return last;
  return `${last} (x${event.count} over ${age(event.firstTimestamp, now)})`;
}

/** ConfigMaps, Secrets and claims have where they are declared instead of an age. */
function localObjects(
  names: Pick<Resource, "name" | "aliases" | "kind" | "description">,
  columns: readonly Column<LocalObjectView>[],
): Resource<LocalObjectView> {
  return {
    ...names,
    flags: OBJECT_FLAGS,
    path: ({ namespace, showSecrets }) => {
      const within = namespace === undefined ? "" : `namespaces/${encodeURIComponent(namespace)}/`;
      return `/api/v1/${within}${names.name}${showSecrets ? "?showSecrets=true" : ""}`;
    },
    isObject: isLocalObject,
    columns: [
      NAME,
      ...columns,
      { title: "SOURCE", cell: annotation(ANNOTATION.configSource) },
      { title: "DECLARED IN", isWide: true, cell: annotation(ANNOTATION.sourceRef) },
    ],
    refusals: "OfKind",
  };
}

function annotation(key: string): (object: ObjectView) => string {
  return ({ metadata }) => metadata.annotations?.[key] ?? "";
}

function keysOf(content: object | undefined): number {
  return Object.keys(content ?? {}).length;
}

const CONFIG_MAPS = localObjects(
  {
    name: "configmaps",
    aliases: ["configmap", "cm"],
    kind: "ConfigMap",
    description: "the ConfigMaps of this node",
  },
  [{ title: "DATA", cell: ({ data, binaryData }) => `${keysOf(data) + keysOf(binaryData)}` }],
);

const SECRETS: Resource<LocalObjectView> = {
  ...localObjects(
    {
      name: "secrets",
      aliases: ["secret"],
      kind: "Secret",
      description: "the Secrets of this node; their content only with --show-secrets",
    },
    [
      { title: "TYPE", cell: ({ type }) => type ?? "" },
      { title: "DATA", cell: ({ data }) => `${keysOf(data)}` },
    ],
  ),
  flags: { ...OBJECT_FLAGS, "--show-secrets": "with -o json or yaml: the content in base64" },
};

export const CLAIMS = localObjects(
  {
    name: "persistentvolumeclaims",
    aliases: ["persistentvolumeclaim", "pvc"],
    kind: "PersistentVolumeClaim",
    description: "the PersistentVolumeClaims of this node",
  },
  [
    { title: "STATUS", cell: ({ status }) => status?.phase ?? "" },
    { title: "CAPACITY", cell: ({ status }) => status?.capacity?.["storage"] ?? "" },
    {
      title: "ACCESS MODES",
      cell: ({ status }) =>
        (status?.accessModes ?? []).map((mode) => SHORT_MODES[mode] ?? mode).join(","),
    },
  ],
);

const SHORT_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

export const NODE: Resource<NodeView> = {
  name: "node",
  aliases: ["nodes", "no"],
  kind: "Node",
  description: "this node",
  flags: OUTPUT,
  isSingle: true,
  path: () => "/node",
  isObject: isNode,
  columns: [
    NAME,
    { title: "STATUS", cell: nodeStatus },
    { title: "AGE", cell: ({ metadata }, { now }) => age(metadata.creationTimestamp, now) },
    { title: "VERSION", cell: nodeInfo("kubeletVersion") },
    {
      title: "INTERNAL-IP",
      isWide: true,
      cell: ({ status: { addresses = [] } }) =>
        addresses.find(({ type }) => type === "InternalIP")?.address ?? "",
    },
    { title: "OS-IMAGE", isWide: true, cell: nodeInfo("osImage") },
    { title: "KERNEL-VERSION", isWide: true, cell: nodeInfo("kernelVersion") },
    { title: "ARCH", isWide: true, cell: nodeInfo("architecture") },
    { title: "CONTAINER-RUNTIME", isWide: true, cell: nodeInfo("containerRuntimeVersion") },
  ],
  refusals: "None",
};

function nodeInfo(key: string): (node: NodeView) => string {
  return ({ status }) => status.nodeInfo?.[key] ?? "";
}

/** Also true of each device that has booted without a network, and harms nothing by itself. */
const HARMLESS = "ClockUntrusted";

/** `Ready` or `NotReady`, then every other condition that is true: on a node each of them is a problem. */
function nodeStatus({ status: { conditions = [] } }: NodeView): string {
  const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
  const problems = conditions
    .filter(({ type, status }) => type !== "Ready" && type !== HARMLESS && status === "True")
    .map(({ type }) => type);
  return [isReady ? "Ready" : "NotReady", ...problems].join(",");
}

/** In the order of `agent get --help`. */
export const RESOURCES: readonly Resource[] = [PODS, EVENTS, CONFIG_MAPS, SECRETS, CLAIMS, NODE];
