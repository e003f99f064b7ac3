// One object of a manifest or an MQTT document → the pods and local objects it holds and everything that is to be said about it.

import { canonicalJson } from "../../lib/canonical-json.ts";
import type { DecodeContext, DecodedObject, DecodedPod } from "./decode-context.ts";
import { decodeLocalObject, isLocalKind } from "./decode-local-object.ts";
import { decodePod, type DecodedPodObject } from "./decode-pod.ts";
import type { DesiredObject, LocalObjectKind } from "../v1/object/local-object.ts";
import type { DesiredPod, Rejection } from "../pod/desired-pod.ts";
import { invalidValue, type Node, required } from "./field-reader.ts";
import { Findings, FindingsBudget } from "./field-errors.ts";
import { formatPath, type FieldPath } from "./field-path.ts";
import { LATER_KINDS, isKubernetesKind } from "./kinds.ts";
import { LIST } from "../v1/objects.ts";
import { MAX_DEPTH } from "../yaml/text-limits.ts";
import { containerHash, specHash } from "../pod/pod-identity.ts";
import { abbreviated, nearestName, meantText } from "../../lib/suggest.ts";
import type { FieldError } from "../../lib/result.ts";
import { shortText } from "../../lib/short-text.ts";
import { type JsonObject, isJsonObject } from "../../lib/json.ts";

/** Longer than any valid name or kind: what a broken object calls itself stays fit for a log line. */
const MAX_WORD = 256;
const NOTHING: DecodedObject = { pods: [], objects: [], errors: [], refusedKinds: [], notices: [] };

/** What the items of a list are that do not say it: an API server leaves it out. */
const LISTS: Readonly<Record<string, string | undefined>> = {
  List: undefined,
  PodList: "Pod",
  ConfigMapList: "ConfigMap",
  SecretList: "Secret",
  PersistentVolumeClaimList: "PersistentVolumeClaim",
};
const KINDS: readonly string[] = [
  "Pod",
  "ConfigMap",
  "Secret",
  "PersistentVolumeClaim",
  ...Object.keys(LISTS),
];

/** A Pod, a ConfigMap, a Secret, a claim, or a list of them. Never throws, whatever `value` is. */
export function decodeObject(value: unknown, context: DecodeContext): DecodedObject {
  return decodeWithin(value, { budget: new FindingsBudget(), ...context });
}

function decodeWithin(value: unknown, context: DecodeContext): DecodedObject {
  if (isTooDeep(value, MAX_DEPTH))
    return wrongWhole(context, `nested deeper than ${MAX_DEPTH} levels`);
  if (!isJsonObject(value)) return wrongWhole(context, "must be an object");
  const kind = value["kind"];
  if (kind === "Pod") return decodeOnePod(value, context);
  if (isLocalKind(kind)) return decodeOneObject(value, kind, context);
  if (isList(kind)) return decodeList(value, kind, context);
  return refuseKind(value, context);
}

function decodeOnePod(value: JsonObject, context: DecodeContext): DecodedObject {
  const result = decodePod(value, context);
  const identity = identityOf(value);
  if (result.ok) {
    const desired = desiredPod(result.value, context);
    const notices = result.warnings.map((warning) => rejection(context, identity, warning));
    const pod: DecodedPod = { desired, written: result.value.written, ...itemOf(context) };
    return { ...NOTHING, pods: [pod], notices: context.lenient === true ? [] : notices };
  }
  const elsewhere = result.errors.find((error) => error.code === "NotForThisNode");
  // A pod of another node is none of our business, whatever else is wrong with it.
  if (elsewhere !== undefined)
    return { ...NOTHING, notices: [rejection(context, identity, elsewhere)] };
  return { ...NOTHING, errors: result.errors.map((error) => rejection(context, identity, error)) };
}

function decodeOneObject(
  value: JsonObject,
  kind: LocalObjectKind,
  context: DecodeContext,
): DecodedObject {
  const { source, sourceRef } = context;
  const result = decodeLocalObject(value, kind, context);
  const identity = identityOf(value);
  if (!result.ok)
    return {
      ...NOTHING,
      errors: result.errors.map((error) => rejection(context, identity, error)),
    };
  const desired: DesiredObject = { object: result.value.object, source, sourceRef };
  const notices = result.warnings.map((warning) => rejection(context, identity, warning));
  return {
    ...NOTHING,
    objects: [{ desired, written: result.value.written, ...itemOf(context) }],
    notices: context.lenient === true ? [] : notices,
  };
}

function desiredPod(decoded: DecodedPodObject, context: DecodeContext): DesiredPod {
  const { initContainers, containers } = {
    initContainers: decoded.writtenSpec["initContainers"],
    containers: decoded.writtenSpec["containers"],
  };
  const hashes = [initContainers, containers]
    .flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []))
    .flatMap((container): [string, string][] => {
      const name = isJsonObject(container) ? container["name"] : undefined;
      return typeof name === "string" ? [[name, containerHash(container, context.sha256)]] : [];
    });
  return {
    uid: decoded.pod.metadata.uid,
    pod: decoded.pod,
    source: context.source,
    sourceRef: context.sourceRef,
    specHash: specHash(decoded.writtenSpec, context.sha256),
    containerHashes: Object.fromEntries(hashes),
  };
}

function decodeList(value: JsonObject, kind: string, context: DecodeContext): DecodedObject {
  const { locate = () => undefined, lenient = false, budget } = context;
  const findings = new Findings({ locate, lenient, budget });
  const root: Node = { findings, path: [], value };
  const items = LIST.read(root)?.items ?? [];
  if (value["items"] === undefined) required(root, "items", "a list of objects");
  const { errors } = findings;
  if (errors.length > 0 && (!lenient || items.length === 0))
    return { ...NOTHING, errors: errors.map((error) => rejection(context, { kind }, error)) };
  const decoded = items.map((item, index) => decodeItem(item, kind, withinItem(context, index)));
  return {
    pods: decoded.flatMap((one) => one.pods),
    objects: decoded.flatMap((one) => one.objects),
    errors: fewErrors(decoded.flatMap((one) => one.errors)),
    refusedKinds: fewRefusedKinds(decoded.flatMap((one) => one.refusedKinds)),
    notices: decoded.flatMap((one) => one.notices),
  };
}

function decodeItem(item: unknown, list: string, context: DecodeContext): DecodedObject {
  if (!isJsonObject(item)) return decodeWithin(item, context);
  const implied = LISTS[list];
  const value =
    implied !== undefined && item["kind"] === undefined
      ? { apiVersion: "v1", ...item, kind: implied }
      : item;
  const kind = value["kind"];
  if (!isList(kind) || (list === "List" && kind !== "List")) return decodeWithin(value, context);
  return wrong(
    context,
    { kind },
    problem(context, { path: ["kind"], code: "Invalid", message: "a list cannot hold lists" }),
  );
}

/** Of what an object calls itself: whether it holds others. */
export function isList(kind: unknown): kind is string {
  return typeof kind === "string" && Object.hasOwn(LISTS, kind);
}

function withinItem(context: DecodeContext, index: number): DecodeContext {
  const locate = context.locate;
  const within = { ...context, item: [...(context.item ?? []), "items", index] };
  if (locate === undefined) return within;
  return { ...within, locate: (path: FieldPath) => locate(["items", index, ...path]) };
}

function itemOf({ item }: DecodeContext): Pick<DecodedPod, "item"> {
  return item === undefined ? {} : { item };
}

function refuseKind(value: JsonObject, context: DecodeContext): DecodedObject {
  const identity = identityOf(value);
  const kind = value["kind"];
  if ((kind ?? "") === "")
    return wrong(
      context,
      identity,
      problem(context, { path: ["kind"], code: "Required", message: 'Required value: "Pod"' }),
    );
  if (typeof kind !== "string") {
    const message = invalidValue(kind, "must be a string");
    return wrong(context, identity, problem(context, { path: ["kind"], code: "Invalid", message }));
  }
  const meant = misspeltKind(kind, value["apiVersion"]);
  // A misspelt Pod is a broken pod, not a kind to pass over: its last good version keeps running.
  if (meant !== undefined)
    return wrong(
      context,
      identity,
      problem(context, {
        path: ["kind"],
        code: "Invalid",
        message: `unknown kind ${JSON.stringify(kind)}${meantText(meant)}`,
      }),
    );
  const later = LATER_KINDS.has(kind);
  const what = `kind ${JSON.stringify(shortText(kind, MAX_WORD))}`;
  const message = later
    ? `${what} is not supported yet; the other documents of the file were applied`
    : `${what} is not supported on this node; the other documents of the file were applied`;
  const code = later ? "NotSupported" : "UnsupportedKind";
  return {
    ...NOTHING,
    refusedKinds: [
      rejection(context, identity, problem(context, { path: ["kind"], code, message })),
    ],
  };
}

/** What of a node's own kinds was meant. Those of another API group are words of their own: PodMonitor is no Pod. */
function misspeltKind(kind: string, apiVersion: unknown): string | undefined {
  if (isKubernetesKind(kind)) return undefined;
  const version = typeof apiVersion === "string" ? apiVersion : "";
  if (!version.includes("/")) return nearestName(kind, KINDS, 1) ?? abbreviated(kind, KINDS);
  const isForeign = version.split("/", 1)[0]?.includes(".") === true;
  return isForeign ? undefined : nearestName(kind, KINDS, 1);
}

interface Identity {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** As far as a broken object says what it is. */
function identityOf(value: JsonObject): Identity {
  const metadata = isJsonObject(value["metadata"]) ? value["metadata"] : {};
  const { kind, name, namespace } = {
    kind: value["kind"],
    name: metadata["name"],
    namespace: metadata["namespace"],
  };
  const written = typeof namespace === "string" && namespace !== "" ? namespace : "default";
  return {
    ...(typeof kind === "string" ? { kind: shortText(kind, MAX_WORD) } : {}),
    ...(typeof name === "string"
      ? { namespace: shortText(written, MAX_WORD), name: shortText(name, MAX_WORD) }
      : {}),
  };
}

function problem(
  context: DecodeContext,
  found: { readonly path: FieldPath; readonly code: string; readonly message: string },
): FieldError {
  const position = context.locate?.(found.path);
  const error = { path: formatPath(found.path), code: found.code, message: found.message };
  return position === undefined
    ? error
    : { ...error, line: position.line, column: position.column };
}

function wrongWhole(context: DecodeContext, message: string): DecodedObject {
  return wrong(context, {}, problem(context, { path: [], code: "Invalid", message }));
}

function wrong(context: DecodeContext, identity: Identity, error: FieldError): DecodedObject {
  return { ...NOTHING, errors: [rejection(context, identity, error)] };
}

function rejection(context: DecodeContext, identity: Identity, error: FieldError): Rejection {
  return { source: context.source, ref: context.ref, ...identity, ...error };
}

function isTooDeep(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isTooDeep(member, levels - 1));
}

/** The object as the checkpoint keeps it. */
export function writtenText(written: JsonObject): string {
  return canonicalJson(written);
}

/** More would not be read. */
export const MAX_TOLD = 100;

/** Of a named object all is kept: whether its last good version goes on hangs on it. */
export function fewErrors(all: readonly Rejection[]): readonly Rejection[] {
  return few(all, { what: "errors", isKept: ({ name }) => name !== undefined });
}

export function fewRefusedKinds(all: readonly Rejection[]): readonly Rejection[] {
  return few(all, { what: "objects of kinds that are not supported", isKept: () => false });
}

export interface Choice {
  readonly what: string;
  readonly isKept: (rejection: Rejection) => boolean;
}

/** Only the first hundred of those that need not be kept, and how many more there were. */
export function few(all: readonly Rejection[], { what, isKept }: Choice): readonly Rejection[] {
  const others = all.filter((one) => !isKept(one));
  const untold = others[MAX_TOLD];
  if (untold === undefined) return all;
  const { kind: _kind, namespace: _namespace, name: _name, ...place } = untold;
  const told = new Set(others.slice(0, MAX_TOLD));
  const message = `and ${others.length - MAX_TOLD} more ${what}`;
  return [
    ...all.filter((one) => isKept(one) || told.has(one)),
    { ...place, code: "TooMany", path: "", message },
  ];
}
