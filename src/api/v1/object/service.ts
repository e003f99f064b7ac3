// A Service, read leniently: on one node it is a name for the pods that its selector matches, as a headless one is.

import {
  dnsLabelError,
  labelValueError,
  qualifiedNameError,
} from "../../validation/validate-names.ts";
import type { SourceName } from "../../pod/labels.ts";
import { isJsonObject, memberOf, type JsonObject } from "../../../lib/json.ts";

export type Selector = Readonly<Record<string, string>>;

interface Service {
  readonly kind: "Service";
  readonly namespace: string;
  readonly name: string;
  /** Never empty. */
  readonly selector: Selector;
  /** Its pods are found before they are ready. */
  readonly publishesNotReady: boolean;
}

/** As a source asks for it. */
export interface DesiredService extends Service {
  readonly source: SourceName;
  /** `path#document` or `generation N`. */
  readonly sourceRef: string;
  /** Of a document whose signature was verified; absent = no. */
  readonly signed?: boolean;
}

export type ReadService =
  | { readonly type: "Name"; readonly service: Service }
  /** It gives no name here: of another API group, ExternalName, without a selector. */
  | { readonly type: "NoName" }
  | { readonly type: "Malformed"; readonly why: string };

/** Never throws, and looks at nothing but what makes the name. */
export function readService(value: JsonObject): ReadService {
  const { apiVersion, metadata, spec } = value;
  const isOfCore = apiVersion === "v1" || (apiVersion ?? "") === "";
  const written = memberOf(spec, "selector") ?? {};
  const hasNone = isJsonObject(written) && Object.keys(written).length === 0;
  if (!isOfCore || hasNone || memberOf(spec, "type") === "ExternalName") return { type: "NoName" };
  const name = memberOf(metadata, "name");
  const namespace = memberOf(metadata, "namespace") ?? "";
  if (!isLabel(name)) return malformed("metadata.name", "must be an RFC 1123 label");
  if (namespace !== "" && !isLabel(namespace))
    return malformed("metadata.namespace", "must be an RFC 1123 label");
  const selector = selectorOf(written);
  if (selector === undefined) return malformed("spec.selector", "must be a map of labels");
  return {
    type: "Name",
    service: {
      kind: "Service",
      namespace: namespace === "" ? "default" : namespace,
      name,
      selector,
      publishesNotReady: memberOf(spec, "publishNotReadyAddresses") === true,
    },
  };
}

function malformed(field: string, why: string): ReadService {
  return { type: "Malformed", why: `${field} ${why}` };
}

function isLabel(text: unknown): text is string {
  return typeof text === "string" && dnsLabelError(text) === undefined;
}

function selectorOf(written: unknown): Selector | undefined {
  if (!isJsonObject(written)) return undefined;
  const pairs = Object.entries(written).flatMap(([key, value]): [string, string][] =>
    typeof value === "string" && isPair(key, value) ? [[key, value]] : [],
  );
  return pairs.length === Object.keys(written).length ? Object.fromEntries(pairs) : undefined;
}

function isPair(key: string, value: string): boolean {
  return qualifiedNameError(key) === undefined && labelValueError(value) === undefined;
}

export function isSelected(labels: Selector, { selector }: Pick<Service, "selector">): boolean {
  return Object.entries(selector).every(
    ([key, value]) => Object.hasOwn(labels, key) && labels[key] === value,
  );
}
