// Reads the report of a node from its retained topics. The owner of the broker may have written anything there.

import {
  fieldOf,
  list,
  map,
  objectType,
  text as textType,
  type Decoded,
} from "../api/schema/codec.ts";
import { count, flag, item, maybeText, readWire, text } from "../protocol/read-published.ts";
import { PUBLISHED_KEYS } from "../protocol/node-keys.ts";
import { isTopicName } from "../protocol/mqtt-topics.ts";
import { ACK, POD_LINE } from "../protocol/reported-state.ts";

const GROUP_SOURCE = "group/";

const NODE_STATE = objectType("NodeState", {
  state: text("online, offline or lost."),
  incarnation: text("Identity of the node's state directory."),
  session: count("Number of the connection."),
  agent: maybeText("Version of the agent."),
  time: maybeText("When it was published."),
  keys: fieldOf(PUBLISHED_KEYS)({ about: "Keys of the node." }),
});
/** Birth, goodbye or will. */
export type NodeState = Decoded<typeof NODE_STATE>;

const CONDITION = objectType("NodeCondition", {
  type: text("Type of the condition."),
  status: text("True, False or Unknown."),
  reason: maybeText("Why, one word."),
  message: maybeText("Why, as a sentence."),
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
  status: fieldOf(
    objectType("NodeStatus", {
      conditions: list(
        item(
          objectType("NodeCondition", {
            type: text("Type of the condition."),
            status: text("True, False or Unknown."),
          }),
        ),
        { about: "Conditions of the node." },
      ),
    }),
  )({ about: "Status of the node.", default: { conditions: [] } }),
});
/** Most of a report, and read only where it is asked for. */
const DETAILS = objectType("ReportedState", {
  pods: list(item(POD_LINE), { about: "All pods." }),
  labels: map(textType, { about: "Labels that configuration and fleet have given it." }),
  status: fieldOf(
    objectType("NodeStatus", {
      conditions: list(item(CONDITION), { about: "Conditions of the node." }),
      addresses: list(item(ADDRESS), { about: "Addresses of the node." }),
      nodeInfo: map(textType, { about: "Versions and identifiers." }),
    }),
  )({ about: "Status of the node.", default: { conditions: [], addresses: [], nodeInfo: {} } }),
});
const NO_DETAILS: Details = {
  pods: [],
  labels: {},
  status: { conditions: [], addresses: [], nodeInfo: {} },
};
/** An acknowledgement as published: its phase may be one of a newer agent. */
export type ReportedAck = Decoded<typeof ACK>;
type Report = Decoded<typeof REPORT>;
type Details = Decoded<typeof DETAILS>;

export interface NodeReport
  extends Pick<Report, "time" | "clockTrusted" | "desired">, Pick<Details, "pods" | "labels"> {
  /** Status of the condition Ready; "" = not reported. */
  readonly ready: string;
  /** Conditions besides Ready that are true: each of them is trouble. */
  readonly troubles: readonly string[];
  /** All of them, Ready too. */
  readonly conditions: Details["status"]["conditions"];
  readonly address: string;
  readonly nodeInfo: Readonly<Record<string, string>>;
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
  return reportOf(payload, payload);
}

/** Without details: its pods, labels, conditions, address and node info are empty, and it keeps no payload. */
export function readSummary(payload: Uint8Array): NodeReport | undefined {
  return reportOf(payload, undefined);
}

/** `details`: where they are read when they are asked for. */
function reportOf(payload: Uint8Array, details: Uint8Array | undefined): NodeReport | undefined {
  const report = readWire(REPORT, payload);
  return report?.kind === "ReportedState" ? new ReadReport(report, details) : undefined;
}

/** A class: of ten thousand objects with getters of their own, each getter would be an object too. */
class ReadReport implements NodeReport {
  readonly time: string;
  readonly clockTrusted: boolean;
  readonly desired: readonly ReportedAck[];
  readonly ready: string;
  readonly troubles: readonly string[];
  readonly #payload: Uint8Array | undefined;
  #read: Details | undefined;

  constructor(
    { time, clockTrusted, desired, status: { conditions } }: Report,
    payload: Uint8Array | undefined,
  ) {
    this.time = time;
    this.clockTrusted = clockTrusted;
    this.desired = desired;
    this.ready = conditions.find(({ type }) => type === "Ready")?.status ?? "";
    this.troubles = conditions.flatMap(({ type, status }) =>
      type !== "Ready" && status === "True" ? [type] : [],
    );
    this.#payload = payload;
  }

  get #details(): Details {
    const payload = this.#payload;
    return (this.#read ??= (payload && readWire(DETAILS, payload)) ?? NO_DETAILS);
  }

  get labels(): Details["labels"] {
    return this.#details.labels;
  }

  get pods(): Details["pods"] {
    return this.#details.pods;
  }

  get conditions(): Details["status"]["conditions"] {
    return this.#details.status.conditions;
  }

  get address(): string {
    const { addresses } = this.#details.status;
    return addresses.find(({ type }) => type === "InternalIP")?.address ?? "";
  }

  get nodeInfo(): Readonly<Record<string, string>> {
    return this.#details.status.nodeInfo;
  }
}

export function readEvents(payload: Uint8Array): readonly EventReport[] {
  const { events = [] } = readWire(EVENTS, payload) ?? {};
  return events.map(({ object, ...event }) => ({
    ...event,
    object: `${object.kind.toLowerCase()}/${object.name}`,
    namespace: object.namespace,
  }));
}

/** Groups whose documents a node reports. */
export function groupsOf({ desired }: Pick<NodeReport, "desired">): readonly string[] {
  return desired.flatMap(({ source }) => {
    const name = source.startsWith(GROUP_SOURCE) ? source.slice(GROUP_SOURCE.length) : "";
    return isTopicName(name) ? [name] : [];
  });
}
