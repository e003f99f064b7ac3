// The resources of a DesiredState document → pods and objects, or every reason why not.

import { mergeDecoded, type DecodedObject } from "../../api/decode/decode-context.ts";
import { decodeObject } from "../../api/decode/decode-object.ts";
import { isList } from "../../api/decode/manifest-kinds.ts";
import type { DesiredPod, Rejection } from "../../api/pod/desired-pod.ts";
import { FindingsBudget } from "../../api/decode/field-errors.ts";
import { runKey, type DesiredRun } from "../../api/workload/desired-job.ts";
import { portConflict } from "../../api/validation/host-ports.ts";
import { objectKey, type DesiredObject } from "../../api/v1/object/local-object.ts";
import { reservedError } from "../../api/pod/node-config-map.ts";
import type { DesiredService } from "../../api/v1/object/service.ts";
import { podName } from "../../api/v1/pod.ts";
import type { WrittenResource } from "./decode.ts";
import { type JsonObject, isJsonObject } from "../../lib/json.ts";
import { unpinnedImages } from "../policy/registries-and-digests.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";
import { type DocumentAddress, groupOf } from "../../protocol/desired-document.ts";
import { rejectionIn } from "../rejections.ts";
import { firstOfEach } from "../../lib/compare.ts";
import type { FieldError } from "../../lib/result.ts";
import { immutableErrors } from "../immutable-objects.ts";

/** Nested lists that are counted; decoding takes no more than two. */
const MAX_LISTS = 3;

interface ResourceContext {
  readonly address: DocumentAddress;
  readonly clusterDNS?: boolean;
  readonly generation: number;
  readonly sha256: Sha256;
  /** True for checkpoints: an accepted document is never judged again. */
  readonly lenient: boolean;
  /** Whether the document is signed. */
  readonly signed: boolean;
}

export interface DecodedResources {
  readonly pods: readonly DesiredPod[];
  /** The pods by `namespace/name`, as their author wrote them. */
  readonly written: ReadonlyMap<string, JsonObject>;
  /** ConfigMaps, Secrets and claims. */
  readonly objects: readonly DesiredObject[];
  /** Jobs and CronJobs. */
  readonly runs: readonly DesiredRun[];
  /** Services that are names; each is among `ignoredKinds` too. */
  readonly services: readonly DesiredService[];
  readonly errors: readonly Rejection[];
  /** Objects that are left out, as their kind means nothing on one node; reported. */
  readonly ignoredKinds: readonly Rejection[];
  /** Reported, but no reason to refuse the document. */
  readonly notices: readonly Rejection[];
}

/** Never throws. Errors of an object without a name carry its place: `resources[2].kind`. */
export function decodeResources(
  resources: readonly WrittenResource[],
  context: ResourceContext,
): DecodedResources {
  const { signed } = context;
  const within = { ...context, budget: new FindingsBudget() };
  const { pods, objects, runs, services, errors, ignoredKinds, notices } = mergeDecoded(
    resources.map((resource) => decodeResource(resource, within)),
  );
  return {
    pods: pods.map(({ desired }) => (signed ? { ...desired, signed } : desired)),
    written: new Map(pods.map(({ desired, written }) => [podName(desired.pod), written])),
    objects: objects.map(({ desired }) => desired),
    runs: runs.map(({ desired }) => (signed ? { ...desired, signed } : desired)),
    services: services.map(({ desired }) => (signed ? { ...desired, signed } : desired)),
    errors,
    ignoredKinds,
    notices,
  };
}

/** True if it holds nothing but objects of kinds that one node does not run. */
export function holdsNothing({
  pods,
  objects,
  runs,
  errors,
  ...others
}: DecodedResources): boolean {
  const { ignoredKinds, notices } = others;
  if (pods.length + objects.length + runs.length + errors.length > 0 || ignoredKinds.length === 0)
    return false;
  return notices.every(({ code }) => code === "Ignored");
}

function decodeResource(
  resource: WrittenResource,
  context: ResourceContext & { readonly budget: FindingsBudget },
): DecodedObject {
  const { address, clusterDNS = false, sha256, lenient } = context;
  const decoded = decodeObject(resource.value, {
    source: address.source,
    ref: address.ref,
    sourceRef: `generation ${context.generation}`,
    nodeName: address.node,
    clusterDNS,
    sha256,
    lenient,
    locate: resource.locate,
    budget: context.budget,
  });
  return {
    ...decoded,
    errors: decoded.errors.map((error) => placed(error, resource)),
    ignoredKinds: decoded.ignoredKinds.map((ignored) => placed(ignored, resource)),
    notices: decoded.notices.map((notice) => placed(notice, resource)),
  };
}

function placed(found: Rejection, resource: WrittenResource): Rejection {
  // A message may quote a secret value.
  const rejection = resource.list === "sealed" ? { ...found, message: NOT_SHOWN } : found;
  if (rejection.name !== undefined) return rejection;
  const separator = rejection.path === "" || rejection.path.startsWith("[") ? "" : ".";
  const { list = "resources", index } = resource;
  return { ...rejection, path: `${list}[${index}]${separator}${rejection.path}` };
}

const NOT_SHOWN =
  "is invalid or ignored; what it holds is not shown, as it is sealed: run agent validate on the Secret before it is sealed";

/** The number of objects; a list counts as its items, also a nested one. */
export function countObjects(resources: readonly WrittenResource[]): number {
  return resources.reduce((count, { value }) => count + objectsIn(value, MAX_LISTS), 0);
}

function objectsIn(value: unknown, levels: number): number {
  if (levels === 0 || !isJsonObject(value) || !isList(value["kind"])) return 1;
  const items = value["items"];
  if (items === null) return 0;
  if (!Array.isArray(items)) return 1;
  return (items as readonly unknown[]).reduce<number>(
    (count, item) => count + objectsIn(item, levels - 1),
    0,
  );
}

/** References to content outside the document: blobs and URLs, not built yet. */
export function isReference(resource: WrittenResource): boolean {
  return isJsonObject(resource.value) && "ref" in resource.value && !("kind" in resource.value);
}

/** Pods that cannot run beside each other: one name twice, or one host port twice. */
export function conflictsAmong(
  pods: readonly DesiredPod[],
  address: DocumentAddress,
): readonly Rejection[] {
  const { repeats } = firstOfEach(pods, ({ pod }) => podName(pod));
  const conflicts = pods.flatMap(({ pod }, index): readonly Rejection[] => {
    const conflict = portConflict(pod, pods.slice(0, index));
    if (conflict === undefined) return [];
    const { claim, owner } = conflict;
    const message = `${podName(owner.pod)} of the same document claims the same hostPort; change one of them`;
    const why = { code: "HostPortConflict", path: claim.path, message };
    return [rejectionIn(address, pod, why)];
  });
  const duplicates = repeats.map(({ item: { pod } }) =>
    rejectionIn(address, pod, duplicateError("DuplicatePod", podName(pod))),
  );
  return [...duplicates, ...conflicts];
}

/** Objects that a document may not hold: one name twice, the node's own, an immutable one with other content. */
export function refusedAmong(
  objects: readonly DesiredObject[],
  current: readonly DesiredObject[],
  address: DocumentAddress,
): readonly Rejection[] {
  const before = new Map(current.map(({ object }) => [objectKey(object), object]));
  const { firsts, repeats } = firstOfEach(objects, ({ object }) => objectKey(object));
  const refused = firsts.flatMap(({ object }) => {
    const reserved = reservedError(object);
    const earlier = before.get(objectKey(object));
    const edits = earlier === undefined ? [] : immutableErrors(earlier, object);
    const errors = reserved === undefined ? edits : [reserved];
    return errors.map((error) => rejectionIn(address, object, error));
  });
  const duplicates = repeats.map(({ item: { object } }) =>
    rejectionIn(address, object, duplicateError("DuplicateObject", objectKey(object))),
  );
  return [...duplicates, ...refused];
}

function duplicateError(code: string, what: string): FieldError {
  const message = `${what} stands twice in the document; give one of them another name`;
  return { code, path: "metadata.name", message };
}

/** Jobs of one name and kind. */
export function repeatedRuns(
  runs: readonly DesiredRun[],
  address: DocumentAddress,
): readonly Rejection[] {
  const { repeats } = firstOfEach(runs, runKey);
  return repeats.map(({ item }) => {
    const { kind, namespace, name } = item;
    const why = duplicateError("DuplicateObject", runKey(item));
    return { source: address.source, ref: address.ref, kind, namespace, name, ...why };
  });
}

/** The pods that the document asks for, now or later. */
export function allPods({ pods, runs }: DecodedResources): readonly Pick<DesiredPod, "pod">[] {
  return [...pods, ...runs.map(({ sample: pod }) => ({ pod }))];
}

/** Secrets that every member of the group, and every reader of its topic, gets; `sealed`: `namespace/name` of others. */
export function sharedSecrets(
  objects: readonly DesiredObject[],
  address: DocumentAddress,
  sealed: readonly string[],
): readonly Rejection[] {
  if (groupOf(address) === undefined) return [];
  const message =
    "the whole group can read this Secret; seal it with agent fleet apply --seal, or put it into the document of each node";
  return objects
    .filter(({ object }) => object.kind === "Secret" && !sealed.includes(podName(object)))
    .map(({ object }) =>
      rejectionIn(address, object, { code: "SecretInSharedDocument", path: "", message }),
    );
}

/** Images by tag: the signature does not cover what the tag points to later. */
export function unpinned(
  pods: readonly Pick<DesiredPod, "pod">[],
  address: DocumentAddress,
): readonly Rejection[] {
  return pods.flatMap(({ pod }) =>
    unpinnedImages(pod).map((error) => rejectionIn(address, pod, error)),
  );
}
