// How a field of the Pod API is treated, as data: each level of the API is a table of these.

import { canonicalJson } from "./canonical-json.ts";

/** What to do with a field that has this value. */
export type Verdict =
  | { readonly type: "Supported" }
  /** Harmless: it changes nothing on a node like this (POD-API §6). */
  | { readonly type: "Silent" }
  /** The pod runs without it, and that is said once (POD-API §5). */
  | { readonly type: "Ignored"; readonly message: string }
  | { readonly type: "Refused"; readonly code: string; readonly message: string };

export type FieldRule = (value: unknown) => Verdict;
export type FieldRules = Readonly<Record<string, FieldRule>>;

const SUPPORTED: Verdict = { type: "Supported" };
const SILENT: Verdict = { type: "Silent" };

/** Read by the decoder. */
export const supported: FieldRule = () => SUPPORTED;

/** Accepted, whatever it says. */
export const harmless: FieldRule = () => SILENT;

/** Not built yet; only the values that ask for nothing are accepted. */
export function later(...harmlessValues: readonly unknown[]): FieldRule {
  return accepts(harmlessValues, {
    type: "Refused",
    code: "NotSupported",
    message: "not supported yet",
  });
}

/** Runs without it and says so, but for the values that ask for nothing. */
export function ignored(message: string, ...harmlessValues: readonly unknown[]): FieldRule {
  return accepts(harmlessValues, { type: "Ignored", message });
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** Never runs here, but for the values that ask for nothing. */
export function refused(refusal: Refusal, ...harmlessValues: readonly unknown[]): FieldRule {
  return accepts(harmlessValues, { type: "Refused", ...refusal });
}

function accepts(harmlessValues: readonly unknown[], otherwise: Verdict): FieldRule {
  const silent = new Set(harmlessValues.map(canonicalJson));
  return (value) => (silent.size > 0 && silent.has(canonicalJson(value)) ? SILENT : otherwise);
}

/** A node affinity that only prefers, and every pod affinity: one node has nowhere else to put the pod. */
export const affinityRule: FieldRule = (value) => {
  const nodeAffinity = member(value, "nodeAffinity");
  const required = member(nodeAffinity, "requiredDuringSchedulingIgnoredDuringExecution");
  return required === undefined || required === null ? SILENT : later()(value);
};

export const osRule: FieldRule = (value) => {
  if (member(value, "name") === "linux") return SILENT;
  return { type: "Refused", code: "Unsupported", message: "this node runs Linux containers only" };
};

export const dnsPolicyRule: FieldRule = (value) => {
  if (value === "Default") return SILENT;
  if (value !== "ClusterFirst") return later()(value);
  return {
    type: "Ignored",
    message: "there is no cluster DNS on this node; the pod gets the node's resolv.conf",
  };
};

function member(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[key];
}
