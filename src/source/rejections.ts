// Rejections of objects: an error with the object that has it and the place where the object is declared.

import {
  manifestPath,
  type DesiredPod,
  type Rejection,
  type SourceName,
} from "../api/pod/desired-pod.ts";
import type { DesiredObject } from "../api/v1/object/local-object.ts";
import type { FieldError } from "../lib/result.ts";
import type { DocumentAddress } from "../protocol/desired-document.ts";

type AnyObject = DesiredPod["pod"] | DesiredObject["object"];

interface Declared {
  readonly source: SourceName;
  readonly sourceRef: string;
}

export function nameOf({ kind, metadata }: AnyObject): Required<
  Pick<Rejection, "namespace" | "name">
> & {
  readonly kind: AnyObject["kind"];
} {
  return { kind, namespace: metadata.namespace, name: metadata.name };
}

/** Of an object that a source declares, by the manifest file or the generation that declares it. */
export function rejectionOf(
  { source, sourceRef }: Declared,
  object: AnyObject,
  why: FieldError,
): Rejection {
  return { source, ref: manifestPath(sourceRef), ...nameOf(object), ...why };
}

/** Of a manifest file, or of its directory, as a whole. */
export function fileRejection(path: string, why: Omit<FieldError, "path">): Rejection {
  return { source: "file", ref: path, path: "", ...why };
}

/** Of an object in a document. */
export function rejectionIn(
  { source, ref }: DocumentAddress,
  object: AnyObject,
  why: FieldError,
): Rejection {
  return { source, ref, ...nameOf(object), ...why };
}

/** `file (/etc/agent/manifests/web.yaml#0)` */
export function declaredBy({ source, sourceRef }: Declared): string {
  return `${source} (${sourceRef})`;
}
