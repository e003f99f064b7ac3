// Validates manifests without a node: each file alone, then all of them together: names, host ports, references.

import { decodeConfig } from "../../config/config.ts";
import { readManifest } from "../../api/decode/decode-manifest.ts";
import { decodeObject } from "../../api/decode/decode-object.ts";
import { type Rejection, manifestRef } from "../../api/pod/desired-pod.ts";
import { formatPath, type FieldPath } from "../../api/decode/field-path.ts";
import { FindingsBudget } from "../../api/decode/field-errors.ts";
import { portConflict } from "../../api/validation/host-ports.ts";
import { objectKey, type LocalObject } from "../../api/v1/object/local-object.ts";
import { NODE_CONFIG_MAP, reservedError } from "../../api/pod/node-config-map.ts";
import { referencesOf } from "../../api/pod/object-references.ts";
import { podName, type Pod } from "../../api/v1/pod.ts";
import type { YamlDocument } from "../../api/yaml/yaml-documents.ts";
import { imageNameError } from "../../image/image-reference.ts";
import { memberOf, withoutUndefined, type JsonObject } from "../../lib/json.ts";
import type { FieldError } from "../../lib/result.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";

interface Place {
  readonly file: string;
  /** Index of its document in the file. */
  readonly document: number;
  /** Line of its name, where known. */
  readonly line: number | undefined;
}

export interface PlacedPod extends Place {
  readonly pod: Pod;
  /** The node that it is for; "" = any. */
  readonly nodeName: string;
}

/** A ConfigMap, a Secret or a claim. */
export interface PlacedObject extends Place {
  readonly object: LocalObject;
}

export interface Judgement {
  /** The number of documents. */
  readonly documents: number;
  /** Of these, those of which a node leaves out everything, as of an Ingress. */
  readonly ignored: number;
  /** `file#document` of those a node would refuse. */
  readonly invalid: ReadonlySet<string>;
  readonly pods: readonly PlacedPod[];
  readonly objects: readonly PlacedObject[];
  readonly errors: readonly Rejection[];
  readonly warnings: readonly Rejection[];
  /** No error of the files, but worth knowing. */
  readonly notes: readonly Rejection[];
}

export const NOTHING_JUDGED: Judgement = {
  documents: 0,
  ignored: 0,
  invalid: new Set(),
  pods: [],
  objects: [],
  errors: [],
  warnings: [],
  notes: [],
};

export interface NamedText {
  /** Its path, as a person would write it. */
  readonly file: string;
  readonly text: string | Uint8Array;
}

/** Everything wrong with one file. An agent's own configuration is judged as such. Never throws. */
export function judgeText({ file, text }: NamedText, sha256: Sha256): Judgement {
  const { documents, errors } = readManifest(text);
  const whole = { file, sha256, budget: new FindingsBudget() };
  const all = documents.map((document) => judgeDocument(document, whole));
  return sum(errors.length === 0 ? all : [...all, judged(file, "broken", errors)]);
}

/** One document and what is wrong with it. */
export function judged(
  file: string,
  document: number | "broken",
  errors: readonly FieldError[],
): Judgement {
  return {
    ...NOTHING_JUDGED,
    documents: 1,
    invalid: new Set(errors.length > 0 ? [`${file}#${document}`] : []),
    errors: errors.map((error) => ({ source: "file", ref: file, ...error })),
  };
}

interface WholeFile {
  readonly file: string;
  readonly sha256: Sha256;
  readonly budget: FindingsBudget;
}

function judgeDocument(document: YamlDocument, { file, sha256, budget }: WholeFile): Judgement {
  if (memberOf(document.value, "kind") === "AgentConfiguration") {
    const decoded = decodeConfig(document.value, { locate: document.locate });
    return judged(file, document.index, decoded.ok ? [] : decoded.errors);
  }
  const object = decodeObject(document.value, {
    source: "file",
    ref: file,
    sourceRef: manifestRef(file, document.index),
    // Offline every node is the right one.
    nodeName: undefined,
    sha256,
    budget,
    locate: document.locate,
  });
  const images = imageErrors(document);
  const errors =
    images.length === 0 ? object.errors : [...object.errors, ...images].toSorted(byLine);
  const { pods, objects, runs, services, ignoredKinds, notices } = object;
  const effective = pods.length + objects.length + runs.length + services.length;
  const isIgnored = ignoredKinds.length > 0 && effective + errors.length === 0;
  const placeOfItem = (item: FieldPath = []): Place => {
    const line = document.locate([...item, "metadata", "name"])?.line;
    return { file, document: document.index, line };
  };
  return {
    ...judged(file, document.index, errors),
    ignored: isIgnored ? 1 : 0,
    pods: pods.map(({ desired, written, item }) => ({
      ...placeOfItem(item),
      pod: desired.pod,
      nodeName: nodeOf(written),
    })),
    objects: objects.map(({ desired, item }) => ({
      ...placeOfItem(item),
      object: desired.object,
    })),
    warnings: [...ignoredKinds, ...notices].toSorted(byLine),
  };
}

/**
 * The image names that no runtime can use. A node accepts such a pod, as the kubelet does, and reports InvalidImageName; here
 * they are errors, also of a pod that is refused for something else.
 */
function imageErrors({ value, locate }: YamlDocument): readonly FieldError[] {
  return podsIn(value).flatMap(({ spec, path }) =>
    imagesOf(spec).flatMap(({ image, at }) => {
      // Empty, padded or no text: the decoder reports it.
      if (typeof image !== "string" || image === "" || image !== image.trim()) return [];
      const message = imageNameError(image);
      if (message === undefined) return [];
      const place = [...path, "spec", ...at];
      const { line, column } = locate(place) ?? {};
      const position = withoutUndefined({ line, column });
      return [{ path: formatPath(place), code: "InvalidImageName", message, ...position }];
    }),
  );
}

interface WrittenSpec {
  readonly spec: unknown;
  readonly path: FieldPath;
}

function podsIn(value: unknown, path: FieldPath = []): readonly WrittenSpec[] {
  const items = memberOf(value, "items");
  if (Array.isArray(items))
    return items.flatMap((item: unknown, index) => podsIn(item, [...path, "items", index]));
  const isPod = path.length > 0 || memberOf(value, "kind") === "Pod";
  return isPod ? [{ spec: memberOf(value, "spec"), path }] : [];
}

interface WrittenImage {
  readonly image: unknown;
  /** Below the spec. */
  readonly at: FieldPath;
}

function imagesOf(spec: unknown): readonly WrittenImage[] {
  const within = (list: string, field: readonly string[]): readonly WrittenImage[] => {
    const items = memberOf(spec, list);
    return (Array.isArray(items) ? items : []).map((item: unknown, index) => ({
      image: field.reduce(memberOf, item),
      at: [list, index, ...field],
    }));
  };
  return [
    ...within("initContainers", ["image"]),
    ...within("containers", ["image"]),
    ...within("volumes", ["image", "reference"]),
  ];
}

function byLine(a: FieldError, b: FieldError): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

function nodeOf(written: JsonObject): string {
  const node = memberOf(written["spec"], "nodeName");
  return typeof node === "string" ? node : "";
}

/** All files as if they lay in one directory: on a node each name of a kind once, each host port once. */
export function judgeTogether(alone: readonly Judgement[]): Judgement {
  const whole = sum(alone);
  const clashes = [
    ...repeated(
      "DuplicatePod",
      whole.pods.map((placed) => ({ placed, key: `pod ${podName(placed.pod)}` })),
      mayMeet,
    ),
    ...portConflicts(whole.pods),
    ...objectClashes(whole.objects),
  ];
  const spoilt = clashes.map(({ placed }) => `${placed.file}#${placed.document}`);
  const errors = [...whole.errors, ...clashes.map(clashError)];
  const notes = openReferences(whole);
  return { ...whole, errors, notes, invalid: new Set([...whole.invalid, ...spoilt]) };
}

function objectClashes(objects: readonly PlacedObject[]): readonly Clash[] {
  const reserved = objects.flatMap((placed): readonly Clash[] => {
    const error = reservedError(placed.object);
    return error === undefined ? [] : [{ placed, ...error }];
  });
  const others = objects.filter(({ object }) => reservedError(object) === undefined);
  const named = others.map((placed) => ({ placed, key: objectKey(placed.object) }));
  return [...reserved, ...repeated("DuplicateObject", named)];
}

/** No error: the object may be on the node already, or come from elsewhere; until then the pod waits. */
function openReferences({ pods, objects }: Judgement): readonly Rejection[] {
  const known = new Set(objects.map(({ object }) => objectKey(object)));
  return pods.flatMap((placed) =>
    referencesOf(placed.pod).flatMap(({ kind, namespace, name, optional, path }) => {
      const key = `${kind} ${namespace}/${name}`;
      const isBuiltIn = kind === "ConfigMap" && name === NODE_CONFIG_MAP;
      if (optional || isBuiltIn || known.has(key)) return [];
      const message = `${key} is in none of these files; the pod waits until the node has it`;
      return [clashError({ placed, code: "MissingObject", path, message })];
    }),
  );
}

interface Named<P> {
  readonly placed: P;
  /** As the message has it. */
  readonly key: string;
}

/** All but the first of each key, among those that may meet. */
function repeated<P extends PlacedPod | PlacedObject>(
  code: string,
  named: readonly Named<P>[],
  meet: (one: P, other: P) => boolean = () => true,
): readonly Clash[] {
  const known = new Map<string, readonly P[]>();
  return named.flatMap(({ placed, key }): readonly Clash[] => {
    const others = known.get(key) ?? [];
    known.set(key, [...others, placed]);
    const earlier = others.find((other) => meet(placed, other));
    if (earlier === undefined) return [];
    const message = `${key} is also in ${placeOf(earlier)}, which wins`;
    return [{ placed, code, path: "metadata.name", message }];
  });
}

/** Some node may have both. */
function mayMeet(one: PlacedPod, other: PlacedPod): boolean {
  return one.nodeName === "" || other.nodeName === "" || one.nodeName === other.nodeName;
}

function portConflicts(pods: readonly PlacedPod[]): readonly Clash[] {
  return pods.flatMap((placed, index) =>
    pods.slice(0, index).flatMap((other): readonly Clash[] => {
      if (podName(other.pod) === podName(placed.pod) || !mayMeet(placed, other)) return [];
      const conflict = portConflict(placed.pod, [other]);
      if (conflict === undefined) return [];
      const { claim } = conflict;
      const port = `host port ${claim.hostPort}/${claim.protocol}`;
      const message = `${port} is also wanted by pod ${podName(other.pod)} in ${placeOf(other)}`;
      return [{ placed, code: "HostPortConflict", path: claim.path, message }];
    }),
  );
}

interface Clash extends Pick<Rejection, "code" | "path" | "message"> {
  readonly placed: PlacedPod | PlacedObject;
}

function clashError({ placed, code, path, message }: Clash): Rejection {
  const { kind, metadata } = "pod" in placed ? placed.pod : placed.object;
  const { name, namespace } = metadata;
  const { file: ref, line } = placed;
  const about = { source: "file", ref, kind, namespace, name } as const;
  return { ...about, code, path, message, ...withoutUndefined({ line }) };
}

function placeOf({ file, line }: Place): string {
  return line === undefined ? file : `${file}:${line}`;
}

function sum(judgements: readonly Judgement[]): Judgement {
  return {
    documents: judgements.reduce((total, { documents }) => total + documents, 0),
    ignored: judgements.reduce((total, { ignored }) => total + ignored, 0),
    invalid: new Set(judgements.flatMap(({ invalid }) => [...invalid])),
    pods: judgements.flatMap(({ pods }) => pods),
    objects: judgements.flatMap(({ objects }) => objects),
    errors: judgements.flatMap(({ errors }) => errors),
    warnings: judgements.flatMap(({ warnings }) => warnings),
    notes: judgements.flatMap(({ notes }) => notes),
  };
}
