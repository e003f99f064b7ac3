// A Pod as written → a defaulted Pod with its UID, or every error at once. Strict: every field is read, refused or warned of.

import { applyRewrites } from "../yaml/apply-rewrites.ts";
import type { PodContext } from "./decode-context.ts";
import type { Node } from "./field-reader.ts";
import { Findings } from "./field-errors.ts";
import { judgeAnnotations, unknownFieldsOf } from "../pod/pod-annotations.ts";
import { podUID } from "../pod/pod-identity.ts";
import type { PodSpec } from "../v1/pod-spec.ts";
import { allContainers, mapContainers, POD, type Pod } from "../v1/pod.ts";
import { DEVICES_ANNOTATION } from "../resource/devices.ts";
import { defaultPodResources } from "../validation/pod-level-resources.ts";
import type { Container } from "../v1/container.ts";
import { judgeProfileAnnotations, withAppArmorAnnotations } from "../pod/profile-annotations.ts";
import { judgeUpdateLock } from "../pod/update-annotations.ts";
import { validateSpec, judgeNames, judgeDns } from "../validation/validate-pod.ts";
import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";
import { failed, ok, type Result } from "../../lib/result.ts";
import { shortText } from "../../lib/short-text.ts";

/** Characters of a name in a message. */
const MAX_SHOWN = 80;
export interface DecodedPodObject {
  readonly pod: Pod;
  /** The whole object as written. */
  readonly written: JsonObject;
  /** Its `spec` as written, before defaults. */
  readonly writtenSpec: JsonObject;
}

/** Never throws for JSON data of bounded depth. */
export function decodePod(value: JsonObject, context: PodContext): Result<DecodedPodObject> {
  const { locate, lenient = false, budget } = context;
  const unknownFields = unknownFieldsOf(value);
  const findings = new Findings({ locate, lenient, budget, unknownFields });
  const root: Node = { findings, path: [], value };
  // First: it outranks all other errors, and only so many are reported.
  judgeNodeName(root, context.nodeName);
  const { metadata: meta, spec } = POD.read(root) ?? {};
  if (meta === undefined || spec === undefined) return failed(findings.errors);

  const decoded = defaultSpec(spec);
  judgeAnnotations(meta, findings);
  judgeNames(decoded, meta.name, findings);
  judgeDns(decoded, context.clusterDNS ?? false, root);
  validateSpec(decoded, memberOf(value["spec"], "volumes"), findings);
  judgeProfileAnnotations(decoded, meta.annotations, findings);
  judgeUpdateLock(decoded, meta.annotations, findings);
  const defaulted = withAppArmorAnnotations(decoded, meta.annotations);
  const usable = lenient ? isRunnable(meta.name, defaulted) : findings.errors.length === 0;
  if (!usable) return failed(findings.errors);

  const written = applyRewrites(value, findings);
  const writtenSpec = isJsonObject(written["spec"]) ? written["spec"] : {};
  const { namespace, name } = meta;
  const devices = meta.annotations[DEVICES_ANNOTATION] ?? "";
  const uid = podUID({ namespace, name, spec: writtenSpec, devices }, context.sha256);
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { ...meta, uid }, spec: defaulted };
  return ok({ pod, written, writtenSpec }, findings.warnings);
}

function judgeNodeName(root: Node, nodeName: string | undefined): void {
  const written = memberOf(root.value["spec"], "nodeName");
  if (nodeName === undefined || typeof written !== "string") return;
  if (written === "" || written === nodeName) return;
  const message = `the pod is for node ${JSON.stringify(shortText(written, MAX_SHOWN))}; this node is ${JSON.stringify(nodeName)}`;
  root.findings.fail(["spec", "nodeName"], "NotForThisNode", message);
}

/** Defaults that depend on other fields. k8s: SetDefaults_Pod */
function defaultSpec(spec: PodSpec): PodSpec {
  const complete = (container: Container): Container => {
    const { limits, requests } = container.resources;
    // On the host's network every port is a host port.
    const ports = spec.hostNetwork
      ? container.ports.map((port) => ({ ...port, hostPort: port.hostPort ?? port.containerPort }))
      : container.ports;
    // A limit without a request is also the request.
    return { ...container, ports, resources: { limits, requests: { ...limits, ...requests } } };
  };
  return defaultPodResources(mapContainers(spec, complete));
}

/** What even a checkpoint must have. */
function isRunnable(name: string, spec: PodSpec): boolean {
  if (name === "" || spec.containers.length === 0) return false;
  return allContainers(spec).every((container) => container.name !== "" && container.image !== "");
}
