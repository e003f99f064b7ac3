// A Pod as written → a defaulted Pod with its UID, or every error at once. Strict: nothing is ignored in silence.

import { checkApiVersion } from "./api-version.ts";
import { applyRewrites } from "../yaml/apply-rewrites.ts";
import { decodeContainer } from "./container/decode-container.ts";
import { decodeNaming } from "./decode-dns.ts";
import type { Sha256 } from "./decode-context.ts";
import { decodeMetadata } from "./decode-metadata.ts";
import { decodePodResources } from "./container/decode-resources.ts";
import { decodeScheduling } from "./decode-scheduling.ts";
import { decodePodSecurity } from "./container/decode-security.ts";
import { decodeVolumes } from "./volume/decode-volumes.ts";
import { DEFAULT_GRACE_PERIOD, DEFAULT_RESTART_POLICY, defaultSpec } from "./defaults.ts";
import {
  booleanField,
  checkFields,
  choiceField,
  integerField,
  invalid,
  isEmptyList,
  isUnwritten,
  objectField,
  objectList,
  required,
  stringField,
  type Node,
} from "./field-reader.ts";
import { Findings, type FindingsBudget } from "./field-errors.ts";
import type { Locate } from "./field-path.ts";
import { POD } from "../schema/objects.ts";
import { SPEC } from "../schema/pod-spec.ts";
import { unknownFieldsOf } from "../pod/pod-annotations.ts";
import { podUID } from "../pod/pod-identity.ts";
import { allContainers, type Pod, type PodSpec } from "../v1/pod.ts";
import { judgeProfileAnnotations, withAppArmorAnnotations } from "../pod/profile-annotations.ts";
import { judgeUpdateLock } from "../pod/update-annotations.ts";
import { validateSpec } from "../validation/validate-pod.ts";
import { failed, ok, type Result } from "../../lib/result.ts";
import { shortText } from "../../lib/short-text.ts";
import { type JsonObject, isJsonObject } from "../../lib/json.ts";

const MAX_INT32 = 2 ** 31 - 1;
/** Characters of a name in a message. */
const MAX_SHOWN = 80;

export interface PodContext {
  /** undefined = every node is the right one. */
  readonly nodeName: string | undefined;
  readonly sha256: Sha256;
  /** Takes whatever can be run at all and judges nothing: for checkpoints. */
  readonly lenient?: boolean;
  readonly locate?: Locate;
  /** Whether this node has name servers for `dnsPolicy: ClusterFirst`. */
  readonly clusterDNS?: boolean;
  /** Of the file or document that it stands in. */
  readonly budget?: FindingsBudget;
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
  const findings = new Findings({
    locate: context.locate ?? (() => undefined),
    lenient,
    unknownFields: unknownFieldsOf(value),
    budget: context.budget,
  });
  const root: Node = { findings, path: [], value };
  const spec = objectField(root, "spec");
  // First of all: it goes before whatever else is wrong, and only so many errors are told.
  if (spec !== undefined) judgeNodeName(spec, context.nodeName);
  checkFields(root, POD);
  checkApiVersion(root);
  const metadata = objectField(root, "metadata");
  if (isUnwritten(root, "metadata")) required(root, "metadata");
  if (isUnwritten(root, "spec")) required(root, "spec");
  if (metadata === undefined || spec === undefined) return failed(findings.errors);

  const meta = decodeMetadata(metadata);
  const decoded = defaultSpec(decodeSpec(spec, meta.name, context));
  validateSpec(decoded, findings);
  judgeProfileAnnotations(decoded, meta.annotations, findings);
  judgeUpdateLock(decoded, meta.annotations, findings);
  const defaulted = withAppArmorAnnotations(decoded, meta.annotations);
  const usable = lenient ? isRunnable(meta.name, defaulted) : findings.errors.length === 0;
  if (!usable) return failed(findings.errors);

  const written = applyRewrites(value, findings);
  const writtenSpec = isJsonObject(written["spec"]) ? written["spec"] : {};
  const devices = meta.annotations["agent/devices"];
  const identity = { namespace: meta.namespace, name: meta.name, spec: writtenSpec };
  const uid = podUID(devices === undefined ? identity : { ...identity, devices }, context.sha256);
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { ...meta, uid }, spec: defaulted };
  return ok({ pod, written, writtenSpec }, findings.warnings);
}

function decodeSpec(node: Node, podName: string, context: PodContext): PodSpec {
  checkFields(node, SPEC);
  const clusterDNS = context.clusterDNS ?? false;
  const naming = decodeNaming(node, { podName, clusterDNS });
  const scheduling = decodeScheduling(node);
  const containers = objectList(node, "containers");
  if (isEmptyList(node, "containers"))
    required(node, "containers", "a pod needs at least one container");
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
    hostPID: booleanField(node, "hostPID") ?? false,
    hostIPC: booleanField(node, "hostIPC") ?? false,
    shareProcessNamespace: booleanField(node, "shareProcessNamespace") ?? false,
    hostUsers: booleanField(node, "hostUsers") ?? true,
    ...naming,
    ...scheduling,
    resources: decodePodResources(objectField(node, "resources")),
    securityContext: decodePodSecurity(node),
  };
}

/** What is negative counts as one second. k8s: podStrategy.CheckGracefulDelete */
function gracePeriod(node: Node): number {
  const seconds = integerField(node, "terminationGracePeriodSeconds") ?? DEFAULT_GRACE_PERIOD;
  return seconds < 0 ? 1 : seconds;
}

function activeDeadline(node: Node): Pick<PodSpec, "activeDeadlineSeconds"> {
  const seconds = integerField(node, "activeDeadlineSeconds");
  if (seconds === undefined) return {};
  if (seconds >= 1 && seconds <= MAX_INT32) return { activeDeadlineSeconds: seconds };
  invalid(node, "activeDeadlineSeconds", `must be between 1 and ${MAX_INT32}, inclusive`);
  return {};
}

function judgeNodeName(node: Node, nodeName: string | undefined): void {
  const written = stringField(node, "nodeName");
  if (nodeName === undefined || written === undefined || written === "" || written === nodeName)
    return;
  const message = `the pod is for node ${JSON.stringify(shortText(written, MAX_SHOWN))}; this node is ${JSON.stringify(nodeName)}`;
  node.findings.fail([...node.path, "nodeName"], "NotForThisNode", message);
}

/** What even a checkpoint must have. */
function isRunnable(name: string, spec: PodSpec): boolean {
  if (name === "" || spec.containers.length === 0) return false;
  return allContainers(spec).every((container) => container.name !== "" && container.image !== "");
}
