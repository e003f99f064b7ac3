// What one object turned into: a pod with its identity, or its errors and notices with the object that has them.

import {
  NOTHING_DECODED,
  type DecodeContext,
  type DecodedItem,
  type DecodedObject,
} from "./decode-context.ts";
import { decodePod, type DecodedPodObject } from "./decode-pod.ts";
import type { DesiredPod, Rejection } from "../pod/desired-pod.ts";
import { containerHash, specHash } from "../pod/pod-identity.ts";
import { type JsonObject, memberOf, withoutUndefined } from "../../lib/json.ts";
import type { FieldError } from "../../lib/result.ts";
import { shortText } from "../../lib/short-text.ts";

/** Longer than any valid name or kind: those of a broken object remain fit for a log line. */
export const MAX_WORD = 256;

export function decodeOnePod(value: JsonObject, context: DecodeContext): DecodedObject {
  const result = decodePod(value, context);
  if (!result.ok) return rejected(value, context, result.errors);
  const pods = [podItem(result.value, context)];
  return { ...NOTHING_DECODED, pods, notices: notices(value, context, result.warnings) };
}

export function podItem(
  decoded: DecodedPodObject,
  context: DecodeContext,
): DecodedItem<DesiredPod> {
  return decodedItem(desiredPod(decoded, context), decoded.written, context);
}

export function decodedItem<D>(
  desired: D,
  written: JsonObject,
  { document = 0, item }: DecodeContext,
): DecodedItem<D> {
  return { desired, written, document, ...withoutUndefined({ item }) };
}

function desiredPod(
  { pod, writtenSpec }: DecodedPodObject,
  { source, sourceRef, sha256 }: DecodeContext,
): DesiredPod {
  const hashes = [writtenSpec["initContainers"], writtenSpec["containers"]]
    .flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []))
    .flatMap((container): [string, string][] => {
      const name = memberOf(container, "name");
      return typeof name === "string" ? [[name, containerHash(container, sha256)]] : [];
    });
  return {
    uid: pod.metadata.uid,
    pod,
    source,
    sourceRef,
    specHash: specHash(writtenSpec, sha256),
    containerHashes: Object.fromEntries(hashes),
  };
}

/** A pod of another node is only noted, whatever else is wrong with it. */
export function rejected(
  value: JsonObject,
  context: DecodeContext,
  errors: readonly FieldError[],
): DecodedObject {
  const all = rejections(value, context, errors);
  const elsewhere = all.filter(({ code }) => code === "NotForThisNode");
  return elsewhere.length > 0
    ? { ...NOTHING_DECODED, notices: elsewhere }
    : { ...NOTHING_DECODED, errors: all };
}

export function notices(
  value: JsonObject,
  context: DecodeContext,
  warnings: readonly FieldError[],
): readonly Rejection[] {
  return context.lenient === true ? [] : rejections(value, context, warnings);
}

export function rejections(
  value: JsonObject,
  { source, ref }: DecodeContext,
  errors: readonly FieldError[],
): readonly Rejection[] {
  const identity = identityOf(value);
  return errors.map((error) => ({ source, ref, ...identity, ...error }));
}

/** Kind, namespace and name of an object that may be broken, as far as they can be read. */
function identityOf(value: JsonObject): Pick<Rejection, "kind" | "namespace" | "name"> {
  const name = wordOf(memberOf(value["metadata"], "name"));
  const namespace = wordOf(memberOf(value["metadata"], "namespace")) ?? "";
  return withoutUndefined({
    kind: wordOf(value["kind"]),
    namespace: name === undefined ? undefined : namespace === "" ? "default" : namespace,
    name,
  });
}

function wordOf(written: unknown): string | undefined {
  return typeof written === "string" ? shortText(written, MAX_WORD) : undefined;
}
