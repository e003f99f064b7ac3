// How a container is asked whether it is well, and what is done at its start and before its end.

import { refused } from "../decode/field-rules.ts";
import { field, type Level } from "./field.ts";

export const EXEC: Level = {
  command: field(
    "[]string",
    "Program and arguments, run inside the container without a shell. Exit code 0 is success.",
  ),
};

export const HTTP_HEADER: Level = {
  name: field("string", "Name of the header; two of one name are both sent.", { required: true }),
  value: field("string", "Value of the header.", { required: true }),
};

export const HTTP_GET: Level = {
  path: field("string", "Path of the request; / if it is not written."),
  port: field("IntOrString", "Port number 1 to 65535, or the name of a port of the container.", {
    required: true,
  }),
  host: field("string", "Host to connect to; the pod's address if it is not written."),
  scheme: field("string", "HTTP (the default) or HTTPS, whose certificate is not checked."),
  httpHeaders: field("[]HTTPHeader", "Headers to send beside the usual ones.", {
    level: HTTP_HEADER,
  }),
};

export const TCP_SOCKET: Level = {
  port: field("IntOrString", "Port number 1 to 65535, or the name of a port of the container.", {
    required: true,
  }),
  host: field("string", "Host to connect to; the pod's address if it is not written."),
};

export const GRPC: Level = {
  port: field("integer", "Port number 1 to 65535 of a gRPC health service.", { required: true }),
  service: field("string", "Service to ask about; empty = the server as a whole."),
};

export const SLEEP: Level = {
  seconds: field("integer", "How long to sleep.", { required: true }),
};

export const PROBE: Level = {
  exec: field("ExecAction", "Runs a command inside the container.", { level: EXEC }),
  httpGet: field("HTTPGetAction", "Sends an HTTP request; 200 to 399 is success.", {
    level: HTTP_GET,
  }),
  tcpSocket: field("TCPSocketAction", "Opens a TCP connection and closes it at once.", {
    level: TCP_SOCKET,
  }),
  grpc: field("GRPCAction", "Asks a gRPC health service; SERVING is success.", { level: GRPC }),
  initialDelaySeconds: field("integer", "Seconds from the container's start to the first probe."),
  periodSeconds: field("integer", "Seconds between two probes; 10 if it is not written."),
  timeoutSeconds: field("integer", "Seconds after which a probe has failed; 1 if not written."),
  successThreshold: field(
    "integer",
    "Successes in a row after a failure that count as well again; must be 1 for liveness and startup.",
  ),
  failureThreshold: field("integer", "Failures in a row that count as failed; 3 if not written."),
  terminationGracePeriodSeconds: field(
    "integer",
    "Seconds the container gets to stop when this probe ends it, instead of the pod's.",
  ),
};

export const LIFECYCLE_HANDLER: Level = {
  exec: field("ExecAction", "Runs a command inside the container.", { level: EXEC }),
  httpGet: field("HTTPGetAction", "Sends an HTTP request.", { level: HTTP_GET }),
  sleep: field("SleepAction", "Waits.", { level: SLEEP }),
  // Kubernetes takes it in and lets each hook fail at run time.
  tcpSocket: field("TCPSocketAction", "Opens a TCP connection; Kubernetes never does it either.", {
    rule: refused({
      code: "Unsupported",
      message: "TCPSocket is NOT supported as a LifecycleHandler; use exec, httpGet or sleep",
    }),
  }),
};

export const LIFECYCLE: Level = {
  postStart: field(
    "LifecycleHandler",
    "Done right after the container started; if it fails, the container is stopped.",
    { level: LIFECYCLE_HANDLER },
  ),
  preStop: field(
    "LifecycleHandler",
    "Done before the container is told to stop; its time counts against the grace period.",
    { level: LIFECYCLE_HANDLER },
  ),
  stopSignal: field(
    "string",
    "Signal that tells the container to stop, such as SIGUSR1; the image's, else SIGTERM.",
  ),
};
