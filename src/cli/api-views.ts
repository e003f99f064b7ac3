// What the local API answers, as far as this command reads it; every other field passes through unchanged.

import type { Rejection } from "../api/pod/desired-pod.ts";
import type { NodeStatus } from "../api/v1/pod-status.ts";
import type { SummarizedPod } from "../api/pod/pod-summary.ts";
import type { RootKeyView, SigningKeyView, TrustView } from "../trust/trust-view.ts";
import { type JsonObject, isJsonObject } from "../lib/json.ts";

export interface ObjectView {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
  };
}

export interface PodView extends ObjectView {
  readonly spec: SummarizedPod["spec"] & { readonly nodeName?: string };
  readonly status: SummarizedPod["status"];
}

export interface NodeView extends ObjectView {
  readonly status: Partial<NodeStatus>;
}

export interface EventView extends ObjectView {
  readonly involvedObject: {
    readonly kind: string;
    readonly name: string;
    readonly fieldPath?: string;
  };
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly source?: { readonly component?: string; readonly host?: string };
}

/** A ConfigMap, a Secret or a claim. */
export interface LocalObjectView extends ObjectView {
  readonly data?: JsonObject;
  readonly binaryData?: JsonObject;
  readonly type?: string;
  readonly status?: {
    readonly phase?: string;
    readonly capacity?: Readonly<Record<string, string>>;
    readonly accessModes?: readonly string[];
  };
}

function isNamed(value: unknown): value is JsonObject {
  return (
    isJsonObject(value) &&
    isJsonObject(value["metadata"]) &&
    typeof value["metadata"]["name"] === "string"
  );
}

/** A v1 list of such objects. */
export function isListOf<T>(isItem: (value: unknown) => value is T) {
  return (value: unknown): value is { readonly items: readonly T[] } =>
    isJsonObject(value) && Array.isArray(value["items"]) && value["items"].every(isItem);
}

export function isPod(value: unknown): value is PodView {
  return (
    isNamed(value) &&
    isJsonObject(value["spec"]) &&
    Array.isArray(value["spec"]["containers"]) &&
    isJsonObject(value["status"])
  );
}

export function isLocalObject(value: unknown): value is LocalObjectView {
  if (!isNamed(value)) return false;
  const { data, binaryData, type, status } = value;
  const contents = [data, binaryData, status].filter((one) => one !== undefined);
  return contents.every(isJsonObject) && ["string", "undefined"].includes(typeof type);
}

export function isEvent(value: unknown): value is EventView {
  if (!isNamed(value) || !isJsonObject(value["involvedObject"])) return false;
  const { kind, name } = value["involvedObject"];
  const texts = ["type", "reason", "message", "firstTimestamp", "lastTimestamp"];
  return (
    texts.every((key) => typeof value[key] === "string") &&
    [kind, name].every((text) => typeof text === "string") &&
    typeof value["count"] === "number"
  );
}

export function isNode(value: unknown): value is NodeView {
  return isNamed(value) && isJsonObject(value["status"]);
}

export function isRejections(value: unknown): value is readonly Rejection[] {
  return (
    Array.isArray(value) &&
    value.every(
      (item) =>
        isJsonObject(item) &&
        ["source", "ref", "code", "path", "message"].every((key) => typeof item[key] === "string"),
    )
  );
}

export function isVersion(value: unknown): value is { readonly version: string } {
  return isJsonObject(value) && typeof value["version"] === "string";
}

export function isTrust(value: unknown): value is TrustView {
  if (!isJsonObject(value)) return false;
  const { required, why, trustPath, rootKeys, bundle, problems } = value;
  return (
    typeof required === "boolean" &&
    [why, trustPath].every((text) => typeof text === "string") &&
    Array.isArray(rootKeys) &&
    rootKeys.every(isRootKey) &&
    isTexts(problems) &&
    (bundle === undefined || isBundle(bundle))
  );
}

function isRootKey(value: unknown): value is RootKeyView {
  if (!isJsonObject(value)) return false;
  const { keyid, file, inForce } = value;
  return (
    typeof keyid === "string" &&
    ["string", "undefined"].includes(typeof file) &&
    typeof inForce === "boolean"
  );
}

function isBundle(value: unknown): value is NonNullable<TrustView["bundle"]> {
  if (!isJsonObject(value)) return false;
  const { version, notBefore, keys } = value;
  return (
    typeof version === "number" &&
    ["string", "undefined"].includes(typeof notBefore) &&
    Array.isArray(keys) &&
    keys.every(isSigningKey)
  );
}

function isSigningKey(value: unknown): value is SigningKeyView {
  if (!isJsonObject(value)) return false;
  const { keyid, roles, nodes, groups } = value;
  const scopes = [nodes, groups].filter((one) => one !== undefined);
  return typeof keyid === "string" && isTexts(roles) && scopes.every(isTexts);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}
