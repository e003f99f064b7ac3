// Reads the report of a node from its retained topics. The owner of the broker may have written anything there.

import {
  converted,
  fieldOf,
  list,
  map,
  objectType,
  text as textType,
  type Decoded,
} from "../api/schema/codec.ts";
import type { Level, Type } from "../api/schema/type.ts";
import { readLeniently } from "../api/schema/read-value.ts";
import type { JsonObject } from "../lib/json.ts";
import {
  count,
  flag,
  item,
  maybeCount,
  maybeText,
  readWire,
  text,
  wireObject,
} from "./wire-values.ts";

const NODE_STATE = objectType("NodeState", {
  state: text("online, offline or lost."),
  incarnation: text("Identity of the node's state directory."),
  session: count("Number of the connection."),
  agent: maybeText("Version of the agent."),
  time: maybeText("When it was published."),
});
/** Birth, goodbye or will. */
export type NodeState = Decoded<typeof NODE_STATE>;

const REJECTED = objectType("LastRejected", {
  generation: maybeCount("Generation of the refused document."),
  digest: text("sha256 of its payload."),
  code: count("Why it was refused."),
  message: text("Why it was refused."),
  at: text("Time of the latest refusal."),
  count: count("Number of refusals.", 1),
});

const ACK = objectType("Ack", {
  source: text("node, group/<name> or static."),
  epoch: text("Epoch of the accepted document."),
  generation: count("Generation of the accepted document; 0 is none."),
  observedGeneration: count("Last generation that has converged; 0 is none."),
  digest: text("sha256 of the payload."),
  signed: flag("Whether a signature was verified."),
  phase: text("How the document runs."),
  code: count("The same as a number."),
  message: maybeText("The same as a sentence."),
  since: text("Time since which phase and code are what they are."),
  lastGood: fieldOf(
    complete(objectType("LastGood", { generation: maybeCount("Generation that runs instead.") })),
  )({ about: "What runs instead." }),
  lastRejected: fieldOf(REJECTED)({ about: "The document that was refused last." }),
  progress: fieldOf(
    complete(
      objectType("Progress", {
        images: maybeCount("Images that the pods need."),
        imagesDone: maybeCount("Images that are here."),
      }),
    ),
  )({ about: "Progress of pulling." }),
});
/** An acknowledgement as published: its phase may be one of a newer agent. */
export type ReportedAck = Decoded<typeof ACK>;

const POD_LINE = objectType("PodLine", {
  namespace: text("Namespace of the pod."),
  name: text("Name of the pod."),
  uid: text("Uid of the pod."),
  source: text("Document that the pod is from."),
  specHash: text("Hash of its spec."),
  phase: text("Phase of the pod."),
  ready: text("Ready containers of all, as 1/2."),
  restarts: count("Restarts of all containers."),
  reason: maybeText("Why it does not run."),
  since: text("Time since which it is so."),
});

const CONDITION = objectType("NodeCondition", {
  type: text("Type of the condition."),
  status: text("True, False or Unknown."),
});
const ADDRESS = objectType("NodeAddress", {
  type: text("Type of the address."),
  address: text("The address."),
});

const REPORT = objectType("ReportedState", {
  kind: text("ReportedState."),
  time: text("Time of the report."),
  clockTrusted: flag("Whether the node's clock is synchronised."),
  desired: list(item(ACK), { about: "One acknowledgement for each document." }),
  pods: list(item(POD_LINE), { about: "All pods." }),
  status: fieldOf(
    objectType("NodeStatus", {
      conditions: list(item(CONDITION), { about: "Conditions of the node." }),
      addresses: list(item(ADDRESS), { about: "Addresses of the node." }),
      nodeInfo: map(textType, { about: "Versions and identifiers." }),
    }),
  )({ about: "Status of the node.", default: { conditions: [], addresses: [], nodeInfo: {} } }),
});
type Report = Decoded<typeof REPORT>;

export interface NodeReport extends Pick<Report, "time" | "clockTrusted" | "desired" | "pods"> {
  /** Status of the condition Ready; "" = not reported. */
  readonly ready: string;
  /** Conditions besides Ready that are true: each of them is trouble. */
  readonly troubles: readonly string[];
  readonly address: string;
  readonly nodeInfo: Readonly<Record<string, string>>;
  /** As published. */
  readonly whole: JsonObject;
}

const EVENT = objectType("Event", {
  time: text("When it happened last."),
  type: text("Normal or Warning."),
  reason: text("Reason, one word."),
  object: fieldOf(
    objectType("ObjectReference", {
      kind: text("Kind of the object."),
      namespace: text("Namespace of the object."),
      name: text("Name of the object."),
    }),
  )({ about: "What it is about.", default: { kind: "", namespace: "", name: "" } }),
  message: text("What happened."),
  count: count("How often.", 1),
});
const EVENTS = objectType("Events", { events: list(item(EVENT), { about: "Events." }) });

export interface EventReport extends Omit<Decoded<typeof EVENT>, "object"> {
  /** `pod/web`. */
  readonly object: string;
  readonly namespace: string;
}

export function readState(payload: Uint8Array): NodeState | undefined {
  const state = readWire(NODE_STATE, payload);
  return state === undefined || state.state === "" ? undefined : state;
}

export function readReport(payload: Uint8Array): NodeReport | undefined {
  const whole = wireObject(payload);
  const report = whole === undefined ? undefined : readLeniently(REPORT, whole);
  if (whole === undefined || report?.kind !== "ReportedState") return undefined;
  const { time, clockTrusted, desired, pods, status } = report;
  const { conditions, addresses, nodeInfo } = status;
  return {
    time,
    clockTrusted,
    desired,
    pods,
    ready: conditions.find(({ type }) => type === "Ready")?.status ?? "",
    troubles: conditions.flatMap(({ type, status: is }) =>
      type !== "Ready" && is === "True" ? [type] : [],
    ),
    address: addresses.find(({ type }) => type === "InternalIP")?.address ?? "",
    nodeInfo,
    whole,
  };
}

export function readEvents(payload: Uint8Array): readonly EventReport[] {
  const { events = [] } = readWire(EVENTS, payload) ?? {};
  return events.map(({ object, ...event }) => ({
    ...event,
    object: `${object.kind.toLowerCase()}/${object.name}`,
    namespace: object.namespace,
  }));
}

/** An object without one of its fields is as good as none. */
function complete<T extends object>(
  type: Type<T> & { readonly level: Level },
): Type<T & Required<T>> {
  const isComplete = (value: T): value is T & Required<T> =>
    Object.keys(type.level).every((key) => Object.hasOwn(value, key));
  return converted(type, {
    to: (value) => (isComplete(value) ? value : undefined),
    from: (value: T & Required<T>): T => value,
  });
}
