// What the node and its pods use, in the form of the metrics API, out of the node's statistics. k8s: metrics.k8s.io/v1beta1

import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";
import type { PodEntry } from "../../node/pod-list.ts";
import type { V1Object } from "../../node/v1-shape.ts";

const VERSION = { apiVersion: "metrics.k8s.io/v1beta1" } as const;
/** Over which a rate is taken, at least. */
const WINDOW = "10s";

export function nodeMetrics(summary: JsonObject, labels: object): readonly V1Object[] {
  const node = memberOf(summary, "node");
  const usage = usageOf(node);
  if (usage === undefined) return [];
  const time = timeOf(node);
  const metadata = { name: memberOf(node, "nodeName"), labels, creationTimestamp: time };
  return [{ kind: "NodeMetrics", ...VERSION, metadata, timestamp: time, window: WINDOW, usage }];
}

/** Of the pods whose containers are all known. */
export function podMetrics(summary: JsonObject, entries: readonly PodEntry[]): readonly V1Object[] {
  const pods = memberOf(summary, "pods");
  return (Array.isArray(pods) ? pods : []).flatMap((pod: unknown): readonly V1Object[] => {
    const ref = memberOf(pod, "podRef");
    const written = memberOf(pod, "containers");
    const containers = (Array.isArray(written) ? written : []).flatMap((one: unknown) => {
      const usage = usageOf(one);
      return usage === undefined ? [] : [{ name: memberOf(one, "name"), usage }];
    });
    if (containers.length === 0 || !isJsonObject(ref)) return [];
    const { name, namespace, uid } = ref;
    const { labels = {} } = entries.find((one) => one.pod.metadata.uid === uid)?.pod.metadata ?? {};
    const time = timeOf(pod);
    const metadata = { name, namespace, labels, creationTimestamp: time };
    return [
      { kind: "PodMetrics", ...VERSION, metadata, timestamp: time, window: WINDOW, containers },
    ];
  });
}

/** undefined = not known yet. */
function usageOf(of: unknown): { readonly cpu: string; readonly memory: string } | undefined {
  const memory = memberOf(memberOf(of, "memory"), "workingSetBytes");
  const cores = nanoCores(of);
  if (typeof memory !== "number" || cores === undefined) return undefined;
  return { cpu: `${Math.round(cores)}n`, memory: `${Math.round(memory / 1024)}Ki` };
}

/** Before there is a rate, the average since the start. */
function nanoCores(of: unknown): number | undefined {
  const cpu = memberOf(of, "cpu");
  const rate = memberOf(cpu, "usageNanoCores");
  if (typeof rate === "number") return rate;
  const used = memberOf(cpu, "usageCoreNanoSeconds");
  const seconds = (Date.parse(timeOf(of)) - Date.parse(String(memberOf(of, "startTime")))) / 1000;
  return typeof used === "number" && seconds > 0 ? used / seconds : undefined;
}

function timeOf(of: unknown): string {
  const time = memberOf(memberOf(of, "cpu"), "time") ?? memberOf(memberOf(of, "memory"), "time");
  return typeof time === "string" ? time : "";
}
