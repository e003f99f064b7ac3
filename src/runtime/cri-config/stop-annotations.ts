// Annotations with what stopping a container takes, for a stop without its spec. Read leniently: the runtime's database
// may have been written by another version or edited.

import { ANNOTATION } from "../../api/pod/labels.ts";
import type { ContainerRole, ObservedContainer } from "../../api/pod/observed-pod.ts";
import type { ExecHandler, HttpGetHandler, LifecycleHandler } from "../../api/v1/probe.ts";
import { isSidecar } from "../../api/v1/pod.ts";
import { isJsonObject, type JsonObject, parseJson, withoutUndefined } from "../../lib/json.ts";
import type { PodSpec } from "../../api/v1/pod-spec.ts";
import type { ContainerPort } from "../../api/v1/container-ports.ts";
import type { Container } from "../../api/v1/container.ts";

/** The container's role in its pod; undefined = not in the spec. */
export function roleInSpec(spec: PodSpec, name: string): ContainerRole | undefined {
  if (spec.containers.some((container) => container.name === name)) return { type: "App" };
  const sidecars = spec.initContainers.filter((container) => isSidecar(spec, container));
  const position = sidecars.findIndex((container) => container.name === name) + 1;
  if (position > 0) return { type: "Sidecar", position };
  return spec.initContainers.some((container) => container.name === name)
    ? { type: "Init" }
    : undefined;
}

export function stopAnnotations(spec: PodSpec, container: Container): Record<string, string> {
  const { ports, lifecycle } = container;
  const role = roleText(roleInSpec(spec, container.name));
  return {
    ...(role === undefined ? {} : { [ANNOTATION.containerRole]: role }),
    ...(ports.length === 0 ? {} : { [ANNOTATION.ports]: JSON.stringify(ports) }),
    ...(lifecycle.preStop === undefined
      ? {}
      : { [ANNOTATION.preStopHandler]: JSON.stringify(lifecycle.preStop) }),
  };
}

/** Missing or unreadable annotations are absent. Never throws. */
export function stopFactsOf(
  annotations: Readonly<Record<string, string>>,
): Pick<ObservedContainer, "role" | "preStop" | "ports"> {
  const role = readRole(annotations[ANNOTATION.containerRole]);
  const preStop = readHandler(parseJson(annotations[ANNOTATION.preStopHandler] ?? ""));
  const ports = readPorts(parseJson(annotations[ANNOTATION.ports] ?? ""));
  return withoutUndefined({ role, preStop, ports });
}

function roleText(role: ContainerRole | undefined): string | undefined {
  switch (role?.type) {
    case undefined:
    case "App":
      return undefined;
    case "Init":
      return "init";
    case "Sidecar":
      return `sidecar/${role.position}`;
  }
}

function readRole(text = ""): ContainerRole | undefined {
  if (text === "init") return { type: "Init" };
  const position = /^sidecar\/([1-9][0-9]{0,5})$/.exec(text)?.[1];
  return position === undefined ? undefined : { type: "Sidecar", position: Number(position) };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;
}

function readHandler(value: unknown): LifecycleHandler | undefined {
  if (!isJsonObject(value)) return undefined;
  switch (value["type"]) {
    case "exec":
      return readExec(value);
    case "httpGet":
      return readHttpGet(value);
    case "sleep": {
      const seconds = value["seconds"];
      const isTime = typeof seconds === "number" && Number.isSafeInteger(seconds) && seconds >= 0;
      return isTime ? { type: "sleep", seconds } : undefined;
    }
  }
  return undefined;
}

function readExec({ command }: JsonObject): ExecHandler | undefined {
  if (!Array.isArray(command) || command.length === 0 || !command.every(isText)) return undefined;
  return { type: "exec", command };
}

function readHttpGet(value: JsonObject): HttpGetHandler | undefined {
  const { path, port, host, scheme, httpHeaders } = value;
  if (!isText(path) || !(isPort(port) || isText(port))) return undefined;
  if (scheme !== "HTTP" && scheme !== "HTTPS") return undefined;
  if (!Array.isArray(httpHeaders) || !httpHeaders.every(isHeader)) return undefined;
  const headers = httpHeaders.map((header) => ({ name: header.name, value: header.value }));
  const base = { type: "httpGet", path, port, scheme, httpHeaders: headers } as const;
  if (host === undefined) return base;
  return isText(host) ? { ...base, host } : undefined;
}

function isHeader(value: unknown): value is { readonly name: string; readonly value: string } {
  return isJsonObject(value) && isText(value["name"]) && isText(value["value"]);
}

/** All or nothing: a partial list could resolve a name to another port. */
function readPorts(value: unknown): readonly ContainerPort[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const ports = value.map(readPort);
  return ports.every((port) => port !== undefined) ? ports : undefined;
}

function readPort(value: unknown): ContainerPort | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, containerPort, hostPort, hostIP, protocol } = value;
  if (!isPort(containerPort)) return undefined;
  if (protocol !== "TCP" && protocol !== "UDP" && protocol !== "SCTP") return undefined;
  return {
    containerPort,
    protocol,
    ...(isText(name) ? { name } : {}),
    ...(isPort(hostPort) ? { hostPort } : {}),
    ...(isText(hostIP) ? { hostIP } : {}),
  };
}
