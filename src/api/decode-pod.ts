// A Pod as written → a defaulted Pod with its UID, or every error at once. Strict: nothing is ignored in silence.

import { decodeContainer } from "./decode-container.ts";
import type { JsonObject, Sha256 } from "./decode-context.ts";
import { decodeMetadata } from "./decode-metadata.ts";
import { decodeVolumes } from "./decode-volumes.ts";
import { DEFAULT_GRACE_PERIOD, DEFAULT_RESTART_POLICY, defaultSpec } from "./defaults.ts";
import {
  Findings,
  booleanField,
  checkFields,
  choiceField,
  integerField,
  invalid,
  isJsonObject,
  objectField,
  objectList,
  required,
  stringField,
  type Node,
} from "./field-reader.ts";
import type { FieldPath, Locate } from "./field-path.ts";
import { POD, SPEC } from "./pod-fields.ts";
import { podUID } from "./pod-identity.ts";
import { allContainers, type Pod, type PodSpec } from "./pod.ts";
import { dnsLabelError } from "./validate-names.ts";
import { validateSpec } from "./validate-pod.ts";
import { failed, ok, type Result } from "../lib/result.ts";

const MAX_INT32 = 2 ** 31 - 1;

export interface PodContext {
  readonly nodeName: string;
  readonly sha256: Sha256;
  /** Takes whatever can be run at all and judges nothing: for checkpoints. */
  readonly lenient?: boolean;
  readonly locate?: Locate;
}

export interface DecodedPodObject {
  readonly pod: Pod;
  /** The whole object as written. */
  readonly written: JsonObject;
  /** Its `spec` as written, before defaults. */
  readonly writtenSpec: JsonObject;
}

/** Never throws for JSON data of bounded depth. */
export function decodePod(value: JsonObject, context: PodContext): Result<DecodedPodObject> {
  const lenient = context.lenient ?? false;
  const findings = new Findings({ locate: context.locate ?? (() => undefined), lenient });
  const root: Node = { findings, path: [], value };
  checkFields(root, POD);
  if (stringField(root, "apiVersion") === undefined) required(root, "apiVersion", '"v1"');
  else if (value["apiVersion"] !== "v1") invalid(root, "apiVersion", 'must be "v1"');
  const metadata = objectField(root, "metadata");
  const spec = objectField(root, "spec");
  if (metadata === undefined) required(root, "metadata");
  if (spec === undefined) required(root, "spec");
  if (metadata === undefined || spec === undefined) return failed(findings.errors);

  const meta = decodeMetadata(metadata);
  const defaulted = defaultSpec(decodeSpec(spec, context.nodeName));
  validateSpec(defaulted, findings);
  const usable = lenient ? isRunnable(meta.name, defaulted) : findings.errors.length === 0;
  if (!usable) return failed(findings.errors);

  const written = findings.rewrites.reduce(rewrite, value);
  const writtenSpec = isJsonObject(written["spec"]) ? written["spec"] : {};
  const devices = meta.annotations["agent/devices"];
  const identity = { namespace: meta.namespace, name: meta.name, spec: writtenSpec };
  const uid = podUID(devices === undefined ? identity : { ...identity, devices }, context.sha256);
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { ...meta, uid }, spec: defaulted };
  return ok({ pod, written, writtenSpec }, findings.warnings);
}

function decodeSpec(node: Node, nodeName: string): PodSpec {
  checkFields(node, SPEC);
  judgeNodeName(node, nodeName);
  const hostname = stringField(node, "hostname");
  const hostnameError =
    hostname === undefined || hostname === "" ? undefined : dnsLabelError(hostname);
  if (hostnameError !== undefined) invalid(node, "hostname", hostnameError);
  const containers = objectList(node, "containers");
  if (containers.length === 0) required(node, "containers", "a pod needs at least one container");
  return {
    initContainers: objectList(node, "initContainers").map((container) =>
      decodeContainer(container, "initContainers"),
    ),
    containers: containers.map((container) => decodeContainer(container, "containers")),
    volumes: decodeVolumes(node),
    restartPolicy:
      choiceField(node, "restartPolicy", ["Always", "OnFailure", "Never"]) ??
      DEFAULT_RESTART_POLICY,
    terminationGracePeriodSeconds: gracePeriod(node),
    ...activeDeadline(node),
    hostNetwork: booleanField(node, "hostNetwork") ?? false,
    ...(hostname === undefined || hostname === "" ? {} : { hostname }),
  };
}

function gracePeriod(node: Node): number {
  const seconds = integerField(node, "terminationGracePeriodSeconds");
  if (seconds !== undefined && seconds < 0)
    invalid(node, "terminationGracePeriodSeconds", "must be greater than or equal to 0");
  return seconds ?? DEFAULT_GRACE_PERIOD;
}

function activeDeadline(node: Node): Pick<PodSpec, "activeDeadlineSeconds"> {
  const seconds = integerField(node, "activeDeadlineSeconds");
  if (seconds === undefined) return {};
  if (seconds >= 1 && seconds <= MAX_INT32) return { activeDeadlineSeconds: seconds };
  invalid(node, "activeDeadlineSeconds", `must be between 1 and ${MAX_INT32}, inclusive`);
  return {};
}

function judgeNodeName(node: Node, nodeName: string): void {
  const written = stringField(node, "nodeName");
  if (written === undefined || written === "" || written === nodeName) return;
  const message = `the pod is for node ${JSON.stringify(written)}; this node is ${JSON.stringify(nodeName)}`;
  node.findings.fail([...node.path, "nodeName"], "NotForThisNode", message);
}

/** What even a checkpoint must have. */
function isRunnable(name: string, spec: PodSpec): boolean {
  if (name === "" || spec.containers.length === 0) return false;
  return allContainers(spec).every((container) => container.name !== "" && container.image !== "");
}

function rewrite(
  value: JsonObject,
  change: { readonly path: FieldPath; readonly text: string },
): JsonObject {
  const changed = replaceAt(value, change.path, change.text);
  return isJsonObject(changed) ? changed : value;
}

function replaceAt(value: unknown, path: FieldPath, text: string): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return text;
  if (Array.isArray(value))
    return value.map((item: unknown, index) =>
      index === step ? replaceAt(item, rest, text) : item,
    );
  return isJsonObject(value) ? { ...value, [step]: replaceAt(value[step], rest, text) } : value;
}
