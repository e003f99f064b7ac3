// A pod as kubectl describes it. kubectl: describePod

import { compareText } from "../../lib/compare.ts";
import type { JsonObject } from "../../lib/json.ts";
import { age } from "../terminal-text.ts";
import {
  annotationLines,
  conditionsOf,
  eventLines,
  labelLines,
  listLines,
  longTime,
  mapLines,
  orNone,
  type Described,
} from "./describe-common.ts";
import { containerLines } from "./describe-containers.ts";
import { volumeLines } from "./describe-volumes.ts";
import { Description } from "./description.ts";
import { has, listAt, objectAt, textAt } from "./read-json.ts";

export function describePod(described: Described): string {
  const { object: pod, now } = described;
  const out = new Description(described.palette);
  placeLines(out, pod);
  labelLines(out, pod);
  annotationLines(out, pod);
  statusLines(out, pod, now);
  addressLines(out, pod);
  if (listAt(pod, "spec", "initContainers").length > 0) containerLines(out, "Init Containers", pod);
  containerLines(out, "Containers", pod);
  const conditions = conditionsOf(pod);
  if (conditions.length > 0) {
    out.line(0, "Conditions:");
    out.line(1, "Type", "Status");
    for (const one of conditions)
      out.line(1, `${textAt(one, "type")} `, `${textAt(one, "status")} `);
  }
  volumeLines(out, listAt(pod, "spec", "volumes"));
  out.line(0, "QoS Class:", textAt(pod, "status", "qosClass"));
  mapLines(out, "Node-Selectors", objectAt(pod, "spec", "nodeSelector"));
  listLines(out, "Tolerations", tolerations(pod));
  eventLines(out, described);
  return out.toString();
}

function placeLines(out: Description, pod: JsonObject): void {
  out.line(0, "Name:", textAt(pod, "metadata", "name"));
  out.line(0, "Namespace:", textAt(pod, "metadata", "namespace"));
  const optional: readonly (readonly [string, string])[] = [
    ["Priority", "priority"],
    ["Priority Class Name", "priorityClassName"],
    ["Runtime Class Name", "runtimeClassName"],
    ["Service Account", "serviceAccountName"],
  ];
  for (const [title, field] of optional)
    if (has(pod, "spec", field)) out.line(0, `${title}:`, textAt(pod, "spec", field));
  const node = textAt(pod, "spec", "nodeName");
  const address = textAt(pod, "status", "hostIP");
  out.line(0, "Node:", node === "" ? "<none>" : `${node}/${address}`);
  const start = textAt(pod, "status", "startTime");
  if (start !== "") out.line(0, "Start Time:", longTime(start));
}

function statusLines(out: Description, pod: JsonObject, now: number): void {
  const deleted = textAt(pod, "metadata", "deletionTimestamp");
  const phase = textAt(pod, "status", "phase");
  if (deleted === "" || phase === "Failed" || phase === "Succeeded") out.line(0, "Status:", phase);
  else {
    out.line(0, "Status:", `Terminating (lasts ${age(deleted, now)})`);
    const seconds = textAt(pod, "metadata", "deletionGracePeriodSeconds");
    if (seconds !== "") out.line(0, "Termination Grace Period:", `${seconds}s`);
  }
  for (const [title, field] of [
    ["Reason", "reason"],
    ["Message", "message"],
  ] as const) {
    const text = textAt(pod, "status", field);
    if (text !== "") out.line(0, `${title}:`, text);
  }
  const seccomp = objectAt(pod, "spec", "securityContext", "seccompProfile");
  const type = textAt(seccomp, "type");
  if (type !== "") out.line(0, "SeccompProfile:", type);
  const profile = textAt(seccomp, "localhostProfile");
  if (profile !== "") out.line(0, "LocalhostProfile:", profile);
}

function addressLines(out: Description, pod: JsonObject): void {
  out.line(0, "IP:", textAt(pod, "status", "podIP"));
  const addresses = listAt(pod, "status", "podIPs");
  if (addresses.length === 0) return out.line(0, "IPs:", "<none>");
  out.line(0, "IPs:");
  for (const one of addresses) out.line(1, "IP:", orNone(textAt(one, "ip")));
}

function tolerations(pod: JsonObject): readonly string[] {
  return listAt(pod, "spec", "tolerations")
    .toSorted((a, b) => compareText(textAt(a, "key"), textAt(b, "key")))
    .map((one) => {
      const [key, value, effect] = ["key", "value", "effect"].map((field) => textAt(one, field));
      const what = `${key ?? ""}${value === "" ? "" : `=${value ?? ""}`}${effect === "" ? "" : `:${effect ?? ""}`}`;
      const isAny = textAt(one, "operator") === "Exists" && value === "";
      const exists = isAny ? `${what === "" ? "" : " "}op=Exists` : "";
      const seconds = textAt(one, "tolerationSeconds");
      return `${what}${exists}${seconds === "" ? "" : ` for ${seconds}s`}`;
    });
}
