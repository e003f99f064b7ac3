// Probes of a container: what is asked, and when. k8s: validateProbe, validateHandler

import type { Message } from "../decode/field-errors.ts";
import { invalid, invalidAt, type Node } from "../decode/field-reader.ts";
import {
  checked,
  converted,
  fieldOf,
  integer,
  list,
  number,
  numberField,
  objectType,
  oneOf,
  string,
  text,
  type Decoded,
  type ObjectOf,
} from "../schema/codec.ts";
import { exactlyOne, tagged, untagged, type Tagged } from "../schema/union.ts";
import { ARGUMENTS, PORT_NAME_FORM } from "../validation/validate-names.ts";
import { PORT_NUMBER } from "./container-ports.ts";
import type { Field, Type } from "../schema/type.ts";
import { MAX_INT32 } from "../schema/values.ts";
import { type PortReference } from "./container-ports.ts";

const HEADER_NAME = /^[-A-Za-z0-9]+$/;

const PORT_REFERENCE: Type<PortReference> = {
  name: "IntOrString",
  read(at) {
    if (typeof at.value === "number") return PORT_NUMBER.read(at);
    if (typeof at.value !== "string")
      return invalidAt(at, "must be a port number or the name of a port");
    const error = PORT_NAME_FORM.check(at.value);
    const hint = /^\d+$/.test(at.value) ? "; write a port number without quotes" : "";
    if (error !== undefined) invalidAt(at, `${error}${hint}`);
    return at.value;
  },
  write: (value) => value,
  schema: () => ({
    ...PORT_NUMBER.schema(),
    ...PORT_NAME_FORM.schema,
    type: ["integer", "string"],
  }),
};

const portReference = fieldOf(PORT_REFERENCE, 0);
const port = portReference({
  about: "Port number 1 to 65535, or the name of a port of the container.",
  required: true,
});
const host = string({ about: "Host to connect to. Default: the pod's address." });

const HTTP_HEADER = objectType("HTTPHeader", {
  name: string({
    about: "Name of the header; a name may occur twice.",
    default: "",
    marked: true,
    schema: { pattern: HEADER_NAME.source },
  }),
  value: string({ about: "Value of the header.", default: "", marked: true, keep: true }),
});

const EXEC = objectType("ExecAction", {
  command: list(text, {
    about:
      "Program and arguments, run inside the container without a shell. Exit code 0 is success.",
    required: true,
    ...ARGUMENTS,
    schema: { ...ARGUMENTS.schema, minItems: 1 },
  }),
});

export const HTTP_GET = objectType(
  "HTTPGetAction",
  {
    path: string({ about: "Path of the request.", default: "/" }),
    port,
    host,
    scheme: oneOf(["HTTP", "HTTPS"], {
      about: "HTTP or HTTPS. The certificate is not verified.",
      default: "HTTP",
    }),
    httpHeaders: list(HTTP_HEADER, { about: "Headers to send beside the usual ones." }),
  },
  { check: checkHeaders },
);

/** As in Kubernetes, an invalid name is an error of the whole list. */
function checkHeaders(
  { httpHeaders }: { readonly httpHeaders: readonly Decoded<typeof HTTP_HEADER>[] },
  { findings, path }: Node,
): void {
  const rule = "a valid HTTP header must consist of alphanumeric characters or '-'";
  for (const { name } of httpHeaders)
    if (!HEADER_NAME.test(name))
      findings.invalid([...path, "httpHeaders"], name, `${rule} (e.g. "X-Header-Name")`);
}

const TCP_SOCKET = objectType("TCPSocketAction", { port, host });

const GRPC = objectType("GRPCAction", {
  port: numberField(PORT_NUMBER)({
    about: "Port number 1 to 65535 of a gRPC health service.",
    required: true,
  }),
  service: string({
    about: "Service to ask about. Default: the server as a whole.",
    default: "",
    keep: true,
  }),
});

export const EXEC_HANDLER = fieldOf(EXEC)({ about: "Runs a command inside the container." });

const PROBE_HANDLERS = {
  exec: EXEC_HANDLER,
  httpGet: fieldOf(HTTP_GET)({ about: "Sends an HTTP request; status 200 to 399 is success." }),
  tcpSocket: fieldOf(TCP_SOCKET)({ about: "Opens a TCP connection and closes it at once." }),
  grpc: fieldOf(GRPC)({ about: "Asks a gRPC health service; SERVING is success." }),
};
export type ProbeHandler = Tagged<ObjectOf<typeof PROBE_HANDLERS>>;
export type ExecHandler = Extract<ProbeHandler, { type: "exec" }>;
export type HttpGetHandler = Extract<ProbeHandler, { type: "httpGet" }>;
export type TcpSocketHandler = Extract<ProbeHandler, { type: "tcpSocket" }>;
/** Seconds or a count: 0 and less stand for the default. k8s: SetDefaults_Probe */
function count(about: string, byDefault: number, maximum = MAX_INT32): Field<number> {
  const type = converted(checked(number, countError), {
    to: (value) => (value > 0 ? value : byDefault),
    from: (value: number) => (value === 0 ? undefined : value),
  });
  return fieldOf(type)({ about, default: byDefault, schema: { minimum: 0, maximum } });
}

function countError(value: number): Message | undefined {
  if (value < 0) return "must be greater than or equal to 0";
  return value > MAX_INT32 ? `must be less than or equal to ${MAX_INT32}` : undefined;
}

const TIMINGS = {
  initialDelaySeconds: count("Seconds from the container's start to the first probe.", 0),
  periodSeconds: count("Seconds between two probes.", 10),
  timeoutSeconds: count("Seconds after which a probe without an answer has failed.", 1),
  failureThreshold: count("Consecutive failures that count as failure.", 3),
};

function probeFields(kind: ProbeKind) {
  return {
    ...TIMINGS,
    successThreshold: count(
      "Consecutive successes after a failure that count as success; must be 1 for liveness and startup.",
      1,
      kind === "readiness" ? MAX_INT32 : 1,
    ),
    terminationGracePeriodSeconds: integer({
      about: "Grace period, in seconds, of a stop that this probe causes. Default: the pod's.",
      check: (seconds) => graceError(kind, seconds),
      schema: kind === "readiness" ? { type: "null" } : { minimum: 1 },
    }),
  };
}

/** A failed readiness probe stops nothing, so it has no grace period. */
function graceError(kind: ProbeKind, seconds: number): Message | undefined {
  if (seconds <= 0) return "must be greater than 0";
  return kind === "readiness" ? "must not be set for readinessProbes" : undefined;
}

export type Probe = ObjectOf<ReturnType<typeof probeFields>> & { readonly handler: ProbeHandler };

/** The probe of one kind; unusable without a handler. */
export function probeType(kind: ProbeKind): Type<Probe> {
  const fields = objectType(
    "Probe",
    { ...PROBE_HANDLERS, ...probeFields(kind) },
    {
      union: Object.keys(PROBE_HANDLERS),
      check(probe, node) {
        exactlyOne(node, Object.keys(PROBE_HANDLERS), "handler type");
        // The first success of each of them decides.
        if (kind !== "readiness" && probe.successThreshold !== 1)
          invalid(node, "successThreshold", "must be 1");
      },
    },
  );
  return converted(fields, {
    to({ exec, httpGet, tcpSocket, grpc, ...timings }) {
      const handler = tagged({ exec, httpGet, tcpSocket, grpc });
      return handler === undefined ? undefined : { handler, ...timings };
    },
    from: ({ handler, ...timings }: Probe) => ({
      ...untagged<ObjectOf<typeof PROBE_HANDLERS>>(handler),
      ...timings,
    }),
  });
}

// Kubernetes wants spec.os.name written beside it, as signals differ between systems; here all are Linux.
export type ProbeKind = "liveness" | "readiness" | "startup";

/** `Unknown`: asked and not yet decided. kubelet: results.Result */
export type ProbeOutcome = "Success" | "Failure" | "Unknown";

/** Of one instance of a container; a kind that is absent has not been asked yet, or is not in the spec. */
export type ContainerVerdicts = Readonly<Partial<Record<ProbeKind, ProbeOutcome>>>;

/** By container id. */
export type ProbeVerdicts = Readonly<Record<string, ContainerVerdicts>>;

export const NO_VERDICTS: ProbeVerdicts = {};
