// Reads the report of a node from its retained topics. The owner of the broker may have written anything there.

import type { Ack, LastRejected, PodLine, Progress } from "../protocol/reported-state.ts";
import { countOf, objectOf, objectsOf, textOf, textsOf, wireObject } from "./wire-values.ts";
import type { JsonObject } from "../lib/json.ts";

/** Birth, goodbye or will. */
export interface NodeState {
  readonly state: string;
  readonly incarnation: string;
  readonly session: number;
  readonly agent?: string;
  readonly time?: string;
}

/** As `Ack`, but with any texts that the node reported. */
export type ToldAck = Omit<Ack, "phase"> & { readonly phase: string };

export interface NodeReport {
  readonly time: string;
  readonly clockTrusted: boolean;
  readonly desired: readonly ToldAck[];
  readonly pods: readonly PodLine[];
  /** Status of the condition Ready; "" = not reported. */
  readonly ready: string;
  /** Conditions besides Ready that are true: each of them is trouble. */
  readonly troubles: readonly string[];
  readonly address: string;
  readonly nodeInfo: Readonly<Record<string, string>>;
  /** As it came. */
  readonly whole: JsonObject;
}

export interface ToldEvent {
  readonly time: string;
  readonly type: string;
  readonly reason: string;
  /** `pod/web`. */
  readonly object: string;
  readonly namespace: string;
  readonly message: string;
  readonly count: number;
}

export function readState(payload: Uint8Array): NodeState | undefined {
  const value = wireObject(payload);
  const state = textOf(value?.["state"]);
  if (value === undefined || state === undefined) return undefined;
  const agent = textOf(value["agent"]);
  const time = textOf(value["time"]);
  return {
    state,
    incarnation: textOf(value["incarnation"]) ?? "",
    session: countOf(value["session"]) ?? 0,
    ...(agent === undefined ? {} : { agent }),
    ...(time === undefined ? {} : { time }),
  };
}

export function readReport(payload: Uint8Array): NodeReport | undefined {
  const whole = wireObject(payload);
  if (whole === undefined || whole["kind"] !== "ReportedState") return undefined;
  const status = objectOf(whole["status"]) ?? {};
  const conditions = objectsOf(status["conditions"]).map((condition) => textsOf(condition));
  const addresses = objectsOf(status["addresses"]).map((address) => textsOf(address));
  const internal = addresses.find((address) => address["type"] === "InternalIP");
  return {
    time: textOf(whole["time"]) ?? "",
    clockTrusted: whole["clockTrusted"] === true,
    desired: objectsOf(whole["desired"]).map(readAck),
    pods: objectsOf(whole["pods"]).map(readPodLine),
    ready: conditions.find(({ type }) => type === "Ready")?.["status"] ?? "",
    troubles: conditions.flatMap(({ type = "", status: is }) =>
      type !== "Ready" && is === "True" ? [type] : [],
    ),
    address: internal?.["address"] ?? "",
    nodeInfo: textsOf(status["nodeInfo"]),
    whole,
  };
}

function readAck(value: JsonObject): ToldAck {
  const message = textOf(value["message"]);
  const lastGood = countOf(objectOf(value["lastGood"])?.["generation"]);
  const lastRejected = readRejected(objectOf(value["lastRejected"]));
  const progress = readProgress(objectOf(value["progress"]));
  return {
    source: textOf(value["source"]) ?? "",
    epoch: textOf(value["epoch"]) ?? "",
    generation: countOf(value["generation"]) ?? 0,
    observedGeneration: countOf(value["observedGeneration"]) ?? 0,
    digest: textOf(value["digest"]) ?? "",
    signed: value["signed"] === true,
    phase: textOf(value["phase"]) ?? "",
    code: countOf(value["code"]) ?? 0,
    since: textOf(value["since"]) ?? "",
    ...(message === undefined ? {} : { message }),
    ...(lastGood === undefined ? {} : { lastGood: { generation: lastGood } }),
    ...(lastRejected === undefined ? {} : { lastRejected }),
    ...(progress === undefined ? {} : { progress }),
  };
}

function readRejected(value: JsonObject | undefined): LastRejected | undefined {
  if (value === undefined) return undefined;
  const generation = countOf(value["generation"]);
  return {
    digest: textOf(value["digest"]) ?? "",
    code: countOf(value["code"]) ?? 0,
    message: textOf(value["message"]) ?? "",
    at: textOf(value["at"]) ?? "",
    count: countOf(value["count"]) ?? 1,
    ...(generation === undefined ? {} : { generation }),
  };
}

function readProgress(value: JsonObject | undefined): Progress | undefined {
  const images = countOf(value?.["images"]);
  const imagesDone = countOf(value?.["imagesDone"]);
  return images === undefined || imagesDone === undefined ? undefined : { images, imagesDone };
}

function readPodLine(value: JsonObject): PodLine {
  const reason = textOf(value["reason"]);
  const text = (key: string): string => textOf(value[key]) ?? "";
  return {
    namespace: text("namespace"),
    name: text("name"),
    uid: text("uid"),
    source: text("source"),
    specHash: text("specHash"),
    phase: text("phase"),
    ready: text("ready"),
    restarts: countOf(value["restarts"]) ?? 0,
    since: text("since"),
    ...(reason === undefined ? {} : { reason }),
  };
}

export function readEvents(payload: Uint8Array): readonly ToldEvent[] {
  return objectsOf(wireObject(payload)?.["events"]).map((event) => {
    const object = textsOf(event["object"]);
    return {
      time: textOf(event["time"]) ?? "",
      type: textOf(event["type"]) ?? "",
      reason: textOf(event["reason"]) ?? "",
      object: `${(object["kind"] ?? "").toLowerCase()}/${object["name"] ?? ""}`,
      namespace: object["namespace"] ?? "",
      message: textOf(event["message"]) ?? "",
      count: countOf(event["count"]) ?? 1,
    };
  });
}
