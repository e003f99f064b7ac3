// Text of one manifest → its pods and local objects, with every error and notice.

import {
  mergeDecoded,
  NOTHING_DECODED,
  type DecodeContext,
  type DecodedObject,
} from "./decode-context.ts";
import { decodeObject } from "./decode-object.ts";
import { manifestRef } from "../pod/desired-pod.ts";
import { FindingsBudget } from "./field-errors.ts";
import { readDocuments, type ReadDocuments } from "../yaml/yaml-documents.ts";

type ManifestContext = Pick<DecodeContext, "source" | "ref" | "nodeName" | "sha256" | "clusterDNS">;

const NOTHING_IN_IT =
  "holds no object, only comments or blanks; pods that it declared before keep running: delete the file to stop them";

/** The documents of a manifest. A file without one is an error with the way out, as it stops none of its pods. */
export function readManifest(text: string | Uint8Array): ReadDocuments {
  const { documents, errors } = readDocuments(text);
  const worded = errors.map((error) =>
    error.code === "Empty" ? { ...error, message: NOTHING_IN_IT } : error,
  );
  return { documents, errors: worded };
}

/** Never throws. One bad document does not spoil the others; a break of YAML's syntax spoils the file. */
export function decodeManifest(text: string, context: ManifestContext): DecodedObject {
  const { source, ref } = context;
  const { documents, errors } = readManifest(text);
  const budget = new FindingsBudget();
  const decoded = documents.map(({ value, index: document, locate }) =>
    decodeObject(value, {
      ...context,
      budget,
      document,
      sourceRef: manifestRef(ref, document),
      locate,
    }),
  );
  const broken = errors.map((error) => ({ source, ref, ...error }));
  return mergeDecoded([{ ...NOTHING_DECODED, errors: broken }, ...decoded]);
}
