// What a request for a stream asks for: a command in a container, its main process, or ports of a pod. k8s: PodExecOptions,
// PodAttachOptions, PodPortForwardOptions

import { failed, ok, type Result } from "../../lib/result.ts";

export type StreamVerb = "exec" | "attach" | "portforward";

export interface StreamPlace {
  readonly verb: StreamVerb;
  readonly namespace: string;
  readonly pod: string;
  /** undefined = any. */
  readonly uid: string | undefined;
  /** Only the kubelet's own paths contain it. */
  readonly container: string | undefined;
}

export interface StreamRequest extends StreamPlace {
  readonly command: readonly string[];
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
  readonly ports: readonly number[];
}

const KUBE = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/(exec|attach|portforward)\/?$/;
const KUBELET = /^\/(exec|attach)\/([^/]+)\/([^/]+)(?:\/([^/]+))?\/([^/]+)\/?$/;
const KUBELET_FORWARD = /^\/portForward\/([^/]+)\/([^/]+)(?:\/([^/]+))?\/?$/;

/** undefined = the path is not one of a stream. */
export function streamPlace(path: string): StreamPlace | undefined {
  const kube = KUBE.exec(path);
  if (kube !== null) return placeOf(kube[3] ?? "", kube.slice(1, 3));
  const kubelet = KUBELET.exec(path);
  if (kubelet !== null) {
    const [, verb = "", namespace, pod, uid, container] = kubelet;
    return placeOf(verb, [namespace, pod, uid, container]);
  }
  const forward = KUBELET_FORWARD.exec(path);
  return forward === null ? undefined : placeOf("portforward", forward.slice(1));
}

function placeOf(verb: string, parts: readonly (string | undefined)[]): StreamPlace {
  const [namespace = "", pod = "", uid, container] = parts.map(decoded);
  const known = verb === "attach" || verb === "portforward" ? verb : "exec";
  return { verb: known, namespace, pod, uid, container };
}

/** What is no valid escape is no name either. */
function decoded(part: string | undefined): string | undefined {
  if (part === undefined) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    // A name that no object has.
    return "%";
  }
}

/** `isWebSocket`: then ports are of the request; else each stream names its own. */
export function streamRequest(
  place: StreamPlace,
  query: URLSearchParams,
  isWebSocket: boolean,
): Result<StreamRequest> {
  const tty = flag(query, "tty");
  const request: StreamRequest = {
    ...place,
    container: nonEmpty(place.container ?? query.get("container") ?? undefined),
    command: query.getAll("command"),
    stdin: flag(query, "stdin", "input"),
    stdout: flag(query, "stdout", "output"),
    // A terminal has one output only.
    stderr: flag(query, "stderr", "error") && !tty,
    tty,
    ports: portsOf(query),
  };
  const problem = problemOf(request, isWebSocket);
  return problem === undefined
    ? ok(request)
    : failed([{ path: "", message: problem, code: "Invalid" }]);
}

function problemOf(
  { verb, command, stdin, stdout, stderr, ports }: StreamRequest,
  isWebSocket: boolean,
): string | undefined {
  if (verb === "portforward") {
    if (ports.some((port) => !isPort(port))) return "a port must be a number from 1 to 65535";
    return isWebSocket && ports.length === 0 ? 'at least one "port" must be specified' : undefined;
  }
  if (!stdin && !stdout && !stderr) return "you must specify at least 1 of stdin, stdout, stderr";
  if (verb === "exec" && command.length === 0)
    return "you must specify at least one command for the container";
  return undefined;
}

/** k8s: Convert_Slice_string_To_bool */
function flag(query: URLSearchParams, ...names: readonly string[]): boolean {
  return names.some((name) => {
    const value = query.get(name);
    return value !== null && !["0", "false"].includes(value.toLowerCase());
  });
}

function portsOf(query: URLSearchParams): readonly number[] {
  const written = [...query.getAll("ports"), ...query.getAll("port")];
  return written
    .flatMap((one) => one.split(","))
    .map((one) => (/^\d{1,5}$/.test(one) ? Number(one) : 0));
}

function isPort(port: number): boolean {
  return port > 0 && port <= 65_535;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
