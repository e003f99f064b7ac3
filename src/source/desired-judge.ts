// What the node answers to a desired document: adopt it, nothing, or a refusal with its code (the table of MQTT.md §3).

import type { Sha256 } from "../api/decode-context.ts";
import type { AcceptedDocument, DesiredDocument } from "../api/desired-document.ts";
import type { Rejection } from "../api/desired-pod.ts";
import type { DesiredObject } from "../api/local-object.ts";
import type { FieldError } from "../lib/result.ts";
import { readEnvelope, type Envelope } from "./desired-decode.ts";
import { forbiddenByBaseline } from "./desired-policy.ts";
import { documentRejections, refusal, refusalFor, type Refusal } from "./desired-refusal.ts";
import { unmetRequirements, type NodeFacts } from "./desired-requires.ts";
import {
  conflictsAmong,
  countObjects,
  decodeResources,
  isReference,
  refusedAmong,
  type DecodedResources,
} from "./desired-resources.ts";
import {
  documentName,
  judgeTarget,
  judgeVersion,
  type DocumentAddress,
} from "./desired-version.ts";

/** Most bytes of a document: what the strictest broker retains. */
export const MAX_DOCUMENT_BYTES = 48 * 1024;

/** What judging needs to know of the node; `now` is wall ms and counts only if it is trusted. */
export interface JudgeContext {
  readonly facts: NodeFacts;
  /** `mqtt.fleet`; absent = any. */
  readonly fleet?: string;
  readonly now: number;
  readonly clockTrusted: boolean;
  /** Generations of the node's accepted documents by name: `node`, `group/<g>`. */
  readonly accepted: Readonly<Record<string, number>>;
  readonly sha256: Sha256;
}

export interface Arrival {
  readonly address: DocumentAddress;
  readonly payload: Uint8Array;
  readonly stored: AcceptedDocument | undefined;
  /** What the stored document declares: what is immutable of it stays so. */
  readonly current: readonly DesiredObject[];
  readonly context: JudgeContext;
}

export type Verdict =
  | {
      readonly type: "Accepted";
      readonly document: DesiredDocument;
      /** To be checkpointed before anything acts on the document. */
      readonly accepted: AcceptedDocument;
      /** `Ignored` fields and the like. */
      readonly notices: readonly Rejection[];
    }
  | { readonly type: "Unchanged" }
  | (Refusal & {
      readonly type: "Refused";
      readonly digest: string;
      /** The refused document's, as far as it could be read. */
      readonly generation?: number;
    });

/** No key can be configured yet, so no node requires signatures. */
const SIGNATURES_REQUIRED = false;

const EMPTY_PAYLOAD = refusal(
  417,
  "an empty payload deletes nothing; to remove everything publish a document with resources: [] and allowEmpty: true",
);

/** Pure: a refusal changes nothing, and nothing here writes. Never throws, whatever the payload is. */
export function judgeDocument(arrival: Arrival): Verdict {
  const { payload, address, context } = arrival;
  const digest = digestOf(payload, context.sha256);
  const refuse = (why: Refusal, generation?: number): Verdict => ({
    type: "Refused",
    ...why,
    digest,
    ...(generation === undefined ? {} : { generation }),
  });
  if (payload.length > MAX_DOCUMENT_BYTES) {
    const message = `the document has ${payload.length} bytes, at most ${MAX_DOCUMENT_BYTES} are accepted; make it smaller`;
    return refuse(refusal(413, message));
  }
  if (payload.length === 0) return refuse(EMPTY_PAYLOAD);
  const read = readEnvelope(payload);
  switch (read.type) {
    case "Signed":
      return refuse(
        refusal(401, "signed documents are not supported yet; publish the plain document"),
      );
    case "Empty":
      return refuse(EMPTY_PAYLOAD);
    case "Invalid":
      return refuse(refusalOf(400, read.errors, address), read.generation);
    case "Envelope":
      return judgeEnvelope(arrival, read.envelope, { digest, refuse });
  }
}

function judgeEnvelope(
  arrival: Arrival,
  envelope: Envelope,
  answer: {
    readonly digest: string;
    readonly refuse: (why: Refusal, generation: number) => Verdict;
  },
): Verdict {
  const { address, stored, context } = arrival;
  const { generation } = envelope;
  const { digest, refuse } = answer;
  const elsewhere = judgeTarget(envelope.target, address, context.fleet);
  if (elsewhere.length > 0) return refuse(refusalOf(403, elsewhere, address), generation);
  const version = judgeVersion({ ...envelope, digest }, stored, SIGNATURES_REQUIRED);
  if (version === "Same") return { type: "Unchanged" };
  if (version !== "Newer") return refuse(refusal(version.code, version.message), generation);
  const unmet = judgeDemands(envelope, arrival);
  if (unmet !== undefined) return refuse(unmet, generation);
  const resources = decodeResources(envelope.resources, {
    source: address.source,
    ref: address.topic,
    nodeName: address.node,
    clusterDNS: context.facts.clusterDNS ?? false,
    generation,
    sha256: context.sha256,
    lenient: false,
  });
  const wrong = judgeResources(resources, arrival);
  if (wrong !== undefined) return refuse(wrong, generation);
  return accept(arrival, { envelope, resources, digest });
}

/** Expiry 408, requirements 412, emptiness 417. */
function judgeDemands(envelope: Envelope, { address, context }: Arrival): Refusal | undefined {
  const { expiresAt, generation } = envelope;
  // A clock nobody vouches for must not keep a node from its documents.
  if (expiresAt !== undefined && context.clockTrusted && expiresAt <= context.now) {
    const at = new Date(expiresAt).toISOString();
    const message = `the document expired at ${at}; publish a new generation with a later expiresAt`;
    return refusal(408, message);
  }
  const accepted = { ...context.accepted, [documentName(address.source)]: generation };
  const references = envelope.resources.filter(isReference).map(({ index }): FieldError => ({
    path: `resources[${index}].ref`,
    code: "NotSupported",
    message: "content outside the document is not supported yet; write the object itself",
  }));
  const unmet = [
    ...unmetRequirements(envelope.requires, context.facts, accepted),
    ...envelope.unsupported,
    ...references,
  ];
  if (unmet.length > 0) return refusalOf(412, unmet, address);
  if (countObjects(envelope.resources) > 0 || envelope.allowEmpty) return undefined;
  const message =
    "resources is empty, which would remove everything; write allowEmpty: true if that is meant";
  return refusal(417, message);
}

/** Invalid resources 400, pod policy 403. */
function judgeResources(
  resources: DecodedResources,
  { address, current }: Arrival,
): Refusal | undefined {
  const at = { source: address.source, ref: address.topic };
  const invalid = [
    ...resources.errors,
    ...conflictsAmong(resources.pods, at),
    ...refusedAmong(resources.objects, current, at),
  ];
  if (invalid.length > 0) return refusalFor(400, invalid);
  const forbidden = resources.pods.flatMap(({ pod }): readonly Rejection[] => {
    const { namespace, name } = pod.metadata;
    const object = { ...at, kind: "Pod", namespace, name };
    return forbiddenByBaseline(pod).map((error) => ({ ...object, ...error }));
  });
  return forbidden.length > 0 ? refusalFor(403, forbidden) : undefined;
}

function accept(
  { address, payload, stored, context }: Arrival,
  judged: {
    readonly envelope: Envelope;
    readonly resources: DecodedResources;
    readonly digest: string;
  },
): Verdict {
  const { envelope, resources, digest } = judged;
  const { epoch, generation, policy } = envelope;
  // Generations of another epoch are not comparable: what converged there says nothing here.
  const observedGeneration =
    stored !== undefined && stored.epoch === epoch ? stored.observedGeneration : 0;
  const version = { source: address.source, epoch, generation, digest };
  const { pods, objects, notices } = resources;
  const holdsSecrets = objects.some(({ object }) => object.kind === "Secret");
  return {
    type: "Accepted",
    document: { ...version, policy, pods, objects },
    accepted: {
      ...version,
      payload,
      ...(holdsSecrets ? { holdsSecrets } : {}),
      observedGeneration,
      acceptedAt: context.now,
    },
    notices: [
      ...documentRejections(envelope.ignored, address),
      ...notices,
      ...sharedSecrets(objects, address),
    ],
  };
}

/** Every member of the group, and whoever may read its topic, has them. */
function sharedSecrets(
  objects: readonly DesiredObject[],
  { source, topic }: DocumentAddress,
): readonly Rejection[] {
  if (!source.startsWith("mqtt:group/")) return [];
  return objects.flatMap(({ object: { kind, metadata } }): readonly Rejection[] => {
    if (kind !== "Secret") return [];
    const { namespace, name } = metadata;
    const message = "the whole group can read this Secret; put it into the document of each node";
    const code = "SecretInSharedDocument";
    return [{ source, ref: topic, kind, namespace, name, code, path: "", message }];
  });
}

/** `sha256:` + the payload's sha256. */
export function digestOf(payload: Uint8Array, sha256: Sha256): string {
  return `sha256:${sha256(payload)}`;
}

function refusalOf(
  code: Refusal["code"],
  errors: readonly FieldError[],
  address: DocumentAddress,
): Refusal {
  return refusalFor(code, documentRejections(errors, address));
}
