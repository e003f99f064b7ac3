// The containers of a pod as kubectl describes them. kubectl: describeContainers

import { compareText } from "../../lib/compare.ts";
import { parseQuantity } from "../../api/resource/quantity.ts";
import type { JsonObject } from "../../lib/json.ts";
import { longTime, orNone, sortedEntries } from "./describe-common.ts";
import type { Description } from "./description.ts";
import { has, isTrueAt, listAt, objectAt, textAt, textsAt } from "./read-json.ts";

export function containerLines(out: Description, title: string, pod: JsonObject): void {
  const isInit = title === "Init Containers";
  const containers = listAt(pod, "spec", isInit ? "initContainers" : "containers");
  const statuses = listAt(pod, "status", isInit ? "initContainerStatuses" : "containerStatuses");
  if (containers.length === 0) return out.line(0, `${title}:`, "<none>");
  out.line(0, `${title}:`);
  for (const container of containers) {
    const name = textAt(container, "name");
    const status = statuses.find((one) => textAt(one, "name") === name);
    out.line(1, `${name}:`);
    imageLines(out, container, status);
    commandLines(out, "Command", textsAt(container, "command"));
    commandLines(out, "Args", textsAt(container, "args"));
    if (status !== undefined) stateLines(out, status);
    for (const [label, field] of [
      ["Limits", "limits"],
      ["Requests", "requests"],
    ] as const)
      resourceLines(out, label, objectAt(container, "resources", field));
    for (const label of ["Liveness", "Readiness", "Startup"]) {
      const field = `${label.toLowerCase()}Probe`;
      if (has(container, field)) out.line(2, `${label}:`, probeText(objectAt(container, field)));
    }
    environmentLines(out, container, pod);
    mountLines(out, container);
  }
}

function imageLines(out: Description, container: JsonObject, status: JsonObject | undefined): void {
  if (status !== undefined) out.line(2, "Container ID:", textAt(status, "containerID"));
  out.line(2, "Image:", textAt(container, "image"));
  if (status !== undefined) out.line(2, "Image ID:", textAt(status, "imageID"));
  const ports = listAt(container, "ports");
  const texts = (field: string): readonly string[] =>
    ports.map((port) => `${textAt(port, field) || "0"}/${textAt(port, "protocol") || "TCP"}`);
  const plural = ports.length > 1 ? "s" : "";
  out.line(2, `Port${plural}:`, orNone(texts("containerPort").join(", ")));
  out.line(2, `Host Port${plural}:`, orNone(texts("hostPort").join(", ")));
  const seccomp = textAt(container, "securityContext", "seccompProfile", "type");
  if (seccomp !== "") out.line(2, "SeccompProfile:", seccomp);
}

function commandLines(out: Description, title: string, words: readonly string[]): void {
  if (words.length === 0) return;
  out.line(2, `${title}:`);
  for (const line of words.flatMap((word) => word.split("\n"))) out.line(3, line);
}

function stateLines(out: Description, status: JsonObject): void {
  oneState(out, "State", objectAt(status, "state"));
  const last = objectAt(status, "lastState");
  if (has(last, "terminated")) oneState(out, "Last State", last);
  out.line(2, "Ready:", isTrueAt(status, "ready") ? "True" : "False");
  out.line(2, "Restart Count:", textAt(status, "restartCount"));
}

function oneState(out: Description, title: string, state: JsonObject): void {
  const time = (field: string): string => longTime(textAt(state, ...field.split(".")));
  if (has(state, "running")) {
    out.line(2, `${title}:`, "Running");
    return out.line(3, "Started:", time("running.startedAt"));
  }
  if (!has(state, "terminated")) {
    out.line(2, `${title}:`, "Waiting");
    const reason = textAt(state, "waiting", "reason");
    if (reason !== "") out.line(3, "Reason:", reason);
    return undefined;
  }
  const { terminated } = state;
  out.line(2, `${title}:`, "Terminated");
  for (const [label, field] of [
    ["Reason", "reason"],
    ["Message", "message"],
  ] as const) {
    const text = textAt(terminated, field);
    if (text !== "") out.line(3, `${label}:`, text);
  }
  out.line(3, "Exit Code:", textAt(terminated, "exitCode"));
  if (has(terminated, "signal")) out.line(3, "Signal:", textAt(terminated, "signal"));
  out.line(3, "Started:", time("terminated.startedAt"));
  return out.line(3, "Finished:", time("terminated.finishedAt"));
}

function resourceLines(out: Description, title: string, amounts: JsonObject): void {
  const entries = sortedEntries(amounts);
  if (entries.length === 0) return;
  out.line(2, `${title}:`);
  for (const [name, amount] of entries) out.line(3, `${name}:`, amount);
}

/** kubectl: DescribeProbe */
function probeText(probe: JsonObject): string {
  const count = (field: string, normal: number): string => textAt(probe, field) || String(normal);
  const times = `delay=${count("initialDelaySeconds", 0)}s timeout=${count("timeoutSeconds", 1)}s period=${count("periodSeconds", 10)}s`;
  const limits = `#success=${count("successThreshold", 1)} #failure=${count("failureThreshold", 3)}`;
  const attributes = `${times} ${limits}`;
  if (has(probe, "exec"))
    return `exec [${textsAt(probe, "exec", "command").join(" ")}] ${attributes}`;
  if (has(probe, "httpGet")) {
    const [host, port, path] = ["host", "port", "path"].map((one) => textAt(probe, "httpGet", one));
    const scheme = (textAt(probe, "httpGet", "scheme") || "HTTP").toLowerCase();
    const place = path?.startsWith("/") === true ? path : `/${path ?? ""}`;
    return `http-get ${scheme}://${host ?? ""}:${port ?? ""}${place} ${attributes}`;
  }
  if (has(probe, "tcpSocket"))
    return `tcp-socket ${textAt(probe, "tcpSocket", "host")}:${textAt(probe, "tcpSocket", "port")} ${attributes}`;
  if (has(probe, "grpc"))
    return `grpc <pod>:${textAt(probe, "grpc", "port")} ${textAt(probe, "grpc", "service")} ${attributes}`;
  return `unknown ${attributes}`;
}

function environmentLines(out: Description, container: JsonObject, pod: JsonObject): void {
  const from = listAt(container, "envFrom");
  if (from.length > 0) out.line(2, "Environment Variables from:");
  for (const one of from) {
    const [field, kind] = has(one, "configMapRef")
      ? (["configMapRef", "ConfigMap"] as const)
      : (["secretRef", "Secret"] as const);
    const prefix = textAt(one, "prefix");
    const what = prefix === "" ? kind : `${kind} with prefix '${prefix}'`;
    const optional = `Optional: ${isTrueAt(one, field, "optional")}`;
    out.line(3, textAt(one, field, "name"), what, optional);
  }
  const variables = listAt(container, "env");
  if (variables.length === 0) return out.line(2, "Environment:", "<none>");
  out.line(2, "Environment:");
  for (const variable of variables) variableLines(out, variable, { container, pod });
}

interface Owner {
  readonly container: JsonObject;
  readonly pod: JsonObject;
}

function variableLines(out: Description, variable: JsonObject, { container, pod }: Owner): void {
  const name = `${textAt(variable, "name")}:`;
  const source = objectAt(variable, "valueFrom");
  const [field = ""] = Object.keys(source);
  const of = objectAt(source, field);
  const optional = `Optional: ${isTrueAt(of, "optional")}`;
  switch (field) {
    case "fieldRef": {
      const version = textAt(of, "apiVersion") || "v1";
      const path = textAt(of, "fieldPath");
      return out.line(3, name, `${fieldValue(pod, path)} (${version}:${path})`);
    }
    case "resourceFieldRef":
      return out.line(3, name, `${resourceValue(of, container, pod)} (${textAt(of, "resource")})`);
    case "secretKeyRef":
      return out.line(
        3,
        name,
        `<set to the key '${textAt(of, "key")}' in secret '${textAt(of, "name")}'>`,
        optional,
      );
    case "configMapKeyRef":
      return out.line(
        3,
        name,
        `<set to the key '${textAt(of, "key")}' of config map '${textAt(of, "name")}'>`,
        optional,
      );
  }
  const [first = "", ...more] = textAt(variable, "value").split("\n");
  out.line(3, name, first);
  for (const line of more) out.line(3, "", line);
  return undefined;
}

/** Of names only, as kubectl. */
function fieldValue(pod: JsonObject, path: string): string {
  return /^metadata\.(?:name|namespace|uid)$/.test(path) ? textAt(pod, ...path.split(".")) : "";
}

/** In units of the divisor, rounded up. k8s: ExtractContainerResourceValue */
function resourceValue(of: JsonObject, container: JsonObject, pod: JsonObject): string {
  const named = textAt(of, "containerName");
  const owner =
    named === ""
      ? container
      : (listAt(pod, "spec", "containers").find((one) => textAt(one, "name") === named) ?? {});
  const amount =
    parseQuantity(textAt(owner, "resources", ...textAt(of, "resource").split("."))) ?? 0n;
  const written = parseQuantity(textAt(of, "divisor")) ?? 0n;
  const divisor = written > 0n ? written : 1000n;
  return String((amount + divisor - 1n) / divisor);
}

function mountLines(out: Description, container: JsonObject): void {
  const mounts = listAt(container, "volumeMounts");
  if (mounts.length === 0) return out.line(2, "Mounts:", "<none>");
  out.line(2, "Mounts:");
  const sorted = mounts.toSorted((a, b) =>
    compareText(textAt(a, "mountPath"), textAt(b, "mountPath")),
  );
  for (const mount of sorted) {
    const path = textAt(mount, "subPath");
    const flags = [
      isTrueAt(mount, "readOnly") ? "ro" : "rw",
      ...(path === "" ? [] : [`path=${JSON.stringify(path)}`]),
    ];
    const place = `${textAt(mount, "mountPath")} from ${textAt(mount, "name")}`;
    out.line(3, `${place} (${flags.join(",")})`);
  }
  return undefined;
}
