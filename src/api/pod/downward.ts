// The values behind fieldRef and resourceFieldRef. kubelet: fieldpath, ExtractContainerResourceValue

import { findContainer, type Pod } from "../v1/pod.ts";
import { amountIn } from "../resource/pod-requests-limits.ts";
import { parseQuantity, wholeUnits } from "../resource/quantity.ts";
import {
  PLAIN_POD_FIELDS,
  splitSubscript,
  type PlainField,
  type ResourceFieldRef,
} from "../v1/key-and-field-refs.ts";
import { compareText } from "../../lib/compare.ts";

/** What only the node knows. */
export interface DownwardFacts {
  readonly nodeName: string;
  /** The first is `status.podIP`; of a pod on the host's network: the host's. */
  readonly podIPs: readonly string[];
  readonly hostIPs: readonly string[];
}

/** What a container without a limit may take. */
export interface NodeAllocatable {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly ephemeralStorageBytes?: number;
}

/** "" for what is not there, as the kubelet has it; undefined for a path that no pod has. */
export function podField(pod: Pod, fieldPath: string, facts: DownwardFacts): string | undefined {
  const { labels, annotations } = pod.metadata;
  const subscripted = splitSubscript(fieldPath);
  if (subscripted?.path === "metadata.labels") return valueAt(labels, subscripted.key);
  if (subscripted?.path === "metadata.annotations") return valueAt(annotations, subscripted.key);
  const field = PLAIN_POD_FIELDS.find((known) => known === fieldPath);
  return field === undefined ? undefined : plainField(pod, field, facts);
}

/** A label may be named `constructor`. */
function valueAt(map: Readonly<Record<string, string>>, key: string): string {
  return Object.hasOwn(map, key) ? (map[key] ?? "") : "";
}

function plainField({ metadata, spec }: Pod, field: PlainField, facts: DownwardFacts): string {
  switch (field) {
    case "metadata.name":
      return metadata.name;
    case "metadata.namespace":
      return metadata.namespace;
    case "metadata.uid":
      return metadata.uid;
    case "metadata.labels":
      return formatMap(metadata.labels);
    case "metadata.annotations":
      return formatMap(metadata.annotations);
    case "spec.nodeName":
      return facts.nodeName;
    case "spec.serviceAccountName":
      return spec.serviceAccountName ?? "default";
    case "status.hostIP":
      return facts.hostIPs[0] ?? "";
    case "status.hostIPs":
      return facts.hostIPs.join(",");
    case "status.podIP":
      return facts.podIPs[0] ?? "";
    case "status.podIPs":
      return facts.podIPs.join(",");
  }
}

interface ContainerOnNode {
  /** The container that asks, for a reference that names none. */
  readonly container: string;
  readonly node: NodeAllocatable;
}

/** A whole number of divisors, rounded up; undefined if the pod has no such container or resource. */
export function containerResource(
  pod: Pod,
  ref: ResourceFieldRef,
  { container: asking, node }: ContainerOnNode,
): string | undefined {
  const name = ref.containerName ?? asking;
  const container = findContainer(pod.spec, name);
  const [, kind, resource = ""] = /^(limits|requests)\.(.+)$/.exec(ref.resource) ?? [];
  if (container === undefined || (kind !== "limits" && kind !== "requests")) return undefined;
  const written = amountIn(container.resources[kind], resource);
  const milli = kind === "limits" && written === 0n ? mostOf(pod, resource, node) : written;
  const divisor = parseQuantity(ref.divisor ?? "") ?? 0n;
  const one = divisor > 0n ? divisor : 1000n;
  // cpu alone counts in thousandths.
  if (resource === "cpu") return String(divideUp(milli, one));
  return String(divideUp(wholeUnits(milli), wholeUnits(one)));
}

/** What a container without a limit may take: the whole pod's limit, else the node's. */
function mostOf(pod: Pod, resource: string, node: NodeAllocatable): bigint {
  const ofPod = resource === "cpu" || resource === "memory" ? pod.spec.resources.limits : {};
  const limit = amountIn(ofPod, resource);
  return limit === 0n ? allocatable(resource, node) : limit;
}

/** Thousandths; huge pages are never more than was asked for. kubelet: MergeContainerResourceLimits */
function allocatable(resource: string, node: NodeAllocatable): bigint {
  if (resource === "cpu") return BigInt(Math.trunc(node.cpuMillis));
  if (resource === "memory") return BigInt(Math.trunc(node.memoryBytes)) * 1000n;
  if (resource !== "ephemeral-storage") return 0n;
  return BigInt(Math.trunc(node.ephemeralStorageBytes ?? 0)) * 1000n;
}

function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}

/** One `key="value"` a line, sorted by key. k8s: fieldpath.FormatMap */
function formatMap(map: Readonly<Record<string, string>>): string {
  const lines = Object.keys(map)
    .toSorted(compareText)
    .map((key) => `${key}=${goQuote(map[key] ?? "")}`);
  return lines.join("\n");
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** Text as Go's %q writes it: programs that read these files expect nothing else. */
function goQuote(text: string): string {
  return `"${Array.from(text, goEscape).join("")}"`;
}

function goEscape(character: string): string {
  const known = ESCAPES[character];
  if (known !== undefined) return known;
  if (PRINTABLE.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  // Half a surrogate pair is no character: UTF-8 has only the replacement for it, which is printable.
  if (code >= 0xd800 && code <= 0xdfff) return "\uFFFD";
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
