// Text of one manifest → its pods and local objects, with every error and notice.

import type {
  DecodeContext,
  DecodedLocalObject,
  DecodedObject,
  DecodedPod,
} from "./decode-context.ts";
import { decodeObject } from "./decode-object.ts";
import type { Rejection } from "../pod/desired-pod.ts";
import { FindingsBudget } from "./field-errors.ts";
import { readDocuments } from "../yaml/yaml-documents.ts";

type ManifestContext = Pick<DecodeContext, "source" | "ref" | "nodeName" | "sha256" | "clusterDNS">;

export interface ManifestPod extends DecodedPod {
  /** Index of its document in the file. */
  readonly document: number;
}

export interface ManifestObject extends DecodedLocalObject {
  readonly document: number;
}

export interface DecodedManifest extends DecodedObject {
  readonly pods: readonly ManifestPod[];
  readonly objects: readonly ManifestObject[];
}

/** Never throws. One bad document does not spoil the others; a break of YAML's syntax spoils the file. */
export function decodeManifest(text: string, context: ManifestContext): DecodedManifest {
  const { documents, errors } = readDocuments(text);
  const budget = new FindingsBudget();
  const decoded = documents.map((document) => {
    const object = decodeObject(document.value, {
      ...context,
      budget,
      sourceRef: `${context.ref}#${document.index}`,
      locate: document.locate,
    });
    const pods = object.pods.map((pod): ManifestPod => ({ ...pod, document: document.index }));
    const objects = object.objects.map((one): ManifestObject => ({
      ...one,
      document: document.index,
    }));
    return { ...object, pods, objects };
  });
  const broken = errors.map((error): Rejection => ({
    source: context.source,
    ref: context.ref,
    ...error,
  }));
  return {
    pods: decoded.flatMap((object) => object.pods),
    objects: decoded.flatMap((object) => object.objects),
    errors: [...broken, ...decoded.flatMap((object) => object.errors)],
    refusedKinds: decoded.flatMap((object) => object.refusedKinds),
    notices: decoded.flatMap((object) => object.notices),
  };
}
