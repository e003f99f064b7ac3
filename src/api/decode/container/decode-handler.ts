// The one handler of a probe or hook as written → what is asked or done. k8s: validateHandler

import { DEFAULT_GRPC_SERVICE, DEFAULT_HTTP_PATH, DEFAULT_HTTP_SCHEME } from "../defaults.ts";
import {
  checkFields,
  choiceField,
  forbidden,
  integerField,
  invalid,
  invalidValue,
  judgedList,
  objectField,
  objectList,
  required,
  stringField,
  type Node,
} from "../field-reader.ts";
import { EXEC, GRPC, HTTP_GET, HTTP_HEADER, SLEEP, TCP_SOCKET } from "../../schema/handlers.ts";
import type {
  ExecHandler,
  GrpcHandler,
  HttpGetHandler,
  LifecycleHandler,
  PortReference,
  ProbeHandler,
  SleepHandler,
  TcpSocketHandler,
} from "../../v1/pod.ts";
import { nulError, portNameError, portNumberError } from "../../validation/validate-names.ts";

const HEADER_NAME = /^[-A-Za-z0-9]+$/;

type Decoders<T> = Readonly<Record<string, (node: Node) => T>>;

const OF_PROBES: Decoders<ProbeHandler> = {
  exec: decodeExec,
  httpGet: decodeHttpGet,
  tcpSocket: decodeTcpSocket,
  grpc: decodeGrpc,
};

const OF_HOOKS: Decoders<LifecycleHandler | undefined> = {
  exec: decodeExec,
  httpGet: decodeHttpGet,
  // The table of fields has refused it.
  tcpSocket: () => undefined,
  sleep: decodeSleep,
};

/** undefined = there is none that could be used; that is noted. */
export function decodeProbeHandler(probe: Node): ProbeHandler | undefined {
  return onlyHandler(probe, OF_PROBES);
}

/** undefined = there is none that could be used; that is noted. */
export function decodeHookHandler(hook: Node): LifecycleHandler | undefined {
  return onlyHandler(hook, OF_HOOKS);
}

function onlyHandler<T>(node: Node, decoders: Decoders<T>): T | undefined {
  const written = Object.entries(decoders).filter(
    ([key]) => node.value[key] !== undefined && node.value[key] !== null,
  );
  const [first, ...others] = written;
  for (const [key] of others) forbidden(node, key, "may not specify more than 1 handler type");
  if (first === undefined) {
    node.findings.fail(node.path, "Required", "Required value: must specify a handler type");
    return undefined;
  }
  const [key, decode] = first;
  const handler = objectField(node, key);
  return handler === undefined ? undefined : decode(handler);
}

function decodeExec(node: Node): ExecHandler {
  checkFields(node, EXEC);
  const command = judgedList(node, "command", nulError);
  if (command.length === 0) required(node, "command");
  return { type: "exec", command };
}

function decodeHttpGet(node: Node): HttpGetHandler {
  checkFields(node, HTTP_GET);
  const path = stringField(node, "path") ?? "";
  return {
    type: "httpGet",
    path: path === "" ? DEFAULT_HTTP_PATH : path,
    port: portReference(node),
    ...hostField(node),
    scheme: choiceField(node, "scheme", ["HTTP", "HTTPS"]) ?? DEFAULT_HTTP_SCHEME,
    httpHeaders: objectList(node, "httpHeaders").map((header) => decodeHeader(header, node)),
  };
}

/** As in Kubernetes, a bad name is an error of the whole list. */
function decodeHeader(
  node: Node,
  handler: Node,
): { readonly name: string; readonly value: string } {
  checkFields(node, HTTP_HEADER);
  const name = stringField(node, "name") ?? "";
  if (!HEADER_NAME.test(name)) {
    const message = "a valid HTTP header must consist of alphanumeric characters or '-'";
    node.findings.fail(
      [...handler.path, "httpHeaders"],
      "Invalid",
      invalidValue(name, `${message} (e.g. "X-Header-Name")`),
    );
  }
  return { name, value: stringField(node, "value") ?? "" };
}

function decodeTcpSocket(node: Node): TcpSocketHandler {
  checkFields(node, TCP_SOCKET);
  return { type: "tcpSocket", port: portReference(node), ...hostField(node) };
}

function decodeGrpc(node: Node): GrpcHandler {
  checkFields(node, GRPC);
  const port = integerField(node, "port");
  const error = port === undefined ? undefined : portNumberError(port);
  if (node.value["port"] === undefined || node.value["port"] === null) required(node, "port");
  if (error !== undefined) invalid(node, "port", error);
  return {
    type: "grpc",
    port: port ?? 0,
    service: stringField(node, "service") ?? DEFAULT_GRPC_SERVICE,
  };
}

/** How long a sleep may take is judged against the whole pod. */
function decodeSleep(node: Node): SleepHandler {
  checkFields(node, SLEEP);
  return { type: "sleep", seconds: integerField(node, "seconds") ?? 0 };
}

function hostField(node: Node): { readonly host?: string } {
  const host = stringField(node, "host") ?? "";
  return host === "" ? {} : { host };
}

/** Whether the container has a port of this name is not asked, as in Kubernetes. k8s: ValidatePortNumOrName */
function portReference(node: Node): PortReference {
  const port = node.value["port"];
  if (port === undefined || port === null) required(node, "port");
  else if (typeof port === "number") return portNumber(node);
  else if (typeof port === "string") return portName(node, port);
  else invalid(node, "port", "must be a port number or the name of a port");
  return 0;
}

function portNumber(node: Node): number {
  const port = integerField(node, "port");
  const error = port === undefined ? undefined : portNumberError(port);
  if (error !== undefined) invalid(node, "port", error);
  return port ?? 0;
}

function portName(node: Node, name: string): string {
  const hint = /^\d+$/.test(name) ? "; write a port number without quotes" : "";
  const error = portNameError(name);
  if (error !== undefined) invalid(node, "port", `${error}${hint}`);
  return name;
}
