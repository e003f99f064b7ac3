// What a person orders on the page, read from a request: a change of a rollout, or the log of a pod.

import { isTopicName } from "../../protocol/mqtt-topics.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import {
  ROLLOUT_CHANGES,
  type RolloutChange,
  type SeenRollout,
} from "../rollout/rollout-change.ts";

export interface RolloutOrder {
  readonly group: string;
  readonly change: RolloutChange;
  readonly seen: SeenRollout;
}

export interface LogOrder {
  readonly node: string;
  readonly namespace: string;
  readonly pod: string;
  /** undefined = the pod has one. */
  readonly container: string | undefined;
}

export type PageOrder =
  ({ readonly type: "Rollout" } & RolloutOrder) | ({ readonly type: "Log" } & LogOrder);

/** undefined = it is neither. `body`: as JSON was read from it. */
export function orderOf(path: string, body: unknown): PageOrder | undefined {
  if (!isJsonObject(body)) return undefined;
  const [, group = "", written = ""] = /^\/api\/rollout\/([^/]+)\/([a-z]+)$/.exec(path) ?? [];
  const change = ROLLOUT_CHANGES.find((one) => one === written);
  const { generation, percent } = body;
  if (change !== undefined && isTopicName(group) && isWhole(generation) && isPercent(percent)) {
    // A pause is right however far it is by now.
    const seen = change === "pause" ? { generation } : { generation, percent };
    return { type: "Rollout", group, change, seen };
  }
  const node = /^\/api\/node\/([^/]+)\/logs$/.exec(path)?.[1] ?? "";
  return isTopicName(node) ? logOrder(node, body) : undefined;
}

function logOrder(node: string, body: JsonObject): PageOrder | undefined {
  const { namespace, pod, container } = body;
  if (!isName(namespace) || !isName(pod)) return undefined;
  if (container !== undefined && !isName(container)) return undefined;
  return { type: "Log", node, namespace, pod, container };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && isTopicName(value);
}

function isWhole(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}

function isPercent(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 100;
}
