// What the node answers to a desired document: it adopts it, changes nothing, or refuses it with a code (the codes
// stand in docs/mqtt-api.md).

import type {
  AcceptedDocument,
  DesiredDocument,
  DocumentAddress,
} from "../../protocol/desired-document.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { DesiredObject } from "../../api/v1/object/local-object.ts";
import { DOCUMENT_LIMITS } from "../../api/yaml/text-limits.ts";
import type { FieldError } from "../../lib/result.ts";
import { desiredDocument, readEnvelope, type Envelope } from "./decode.ts";
import {
  sharedSecrets,
  unpinned,
  conflictsAmong,
  countObjects,
  decodeResources,
  holdsNothing,
  isReference,
  allPods,
  refusedAmong,
  repeatedRuns,
  type DecodedResources,
} from "./resources.ts";
import { judgeSettings } from "./judge-settings.ts";
import { judgeAgentUpdate } from "./agent-update.ts";
import { rejectionIn } from "../rejections.ts";
import { forbiddenByPolicy, type PodRules } from "../policy/pod-policy.ts";
import { documentRejections, refusal, refusalFor, type DocumentRefusal } from "./refusal.ts";
import { digestOf } from "../../protocol/dsse.ts";
import {
  openDocument,
  type OpenedDocument,
  type Trusted,
} from "../../trust/authenticate-document.ts";
import { judgeVersion, type VersionVerdict } from "./epoch-and-generation.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";
import { reportedSource } from "../../protocol/wire-text.ts";
import { documentOf, judgeTarget } from "./target.ts";
import { unmetRequirements, type NodeFacts } from "./requires.ts";
import { judgeAge, expiredOnArrival } from "./issued-and-expires.ts";
import { judgeSealed, openSealed, type OpenedSecrets, type SealKeys } from "./sealed.ts";
import { waitsFor, type StagedFacts } from "./staged.ts";

/** What judging depends on, whatever the message and the moment. */
export interface JudgeRules {
  readonly facts: NodeFacts;
  /** `mqtt.fleet`; absent = any. */
  readonly fleet?: string;
  readonly podRules: PodRules;
  /** The node's own; absent = it has none, and no Secret can be sealed to it. */
  readonly keys?: SealKeys | undefined;
  readonly sha256: Sha256;
}

/** `now` is in wall-clock milliseconds and counts only with `clockTrusted`. */
export interface JudgeContext extends JudgeRules {
  readonly now: number;
  readonly clockTrusted: boolean;
  /** Generations of the node's accepted documents by name: `node`, `group/<g>`. */
  readonly accepted: Readonly<Record<string, number>>;
  readonly trust: Trusted;
  /** Of the group whose document it is; absent = it is no group's. */
  readonly staged?: StagedFacts;
}

export interface Arrival {
  readonly address: DocumentAddress;
  /** The message as received: a document, or a signed envelope around one. */
  readonly payload: Uint8Array;
  readonly stored: AcceptedDocument | undefined;
  /** Objects of the stored document: the immutable ones must not change. */
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
  | (DocumentRefusal & {
      readonly type: "Refused";
      readonly digest: string;
      /** The refused document's, as far as it could be read. */
      readonly generation?: number;
    });

const EMPTY_PAYLOAD = refusal(
  417,
  "an empty payload deletes nothing; to remove everything publish a document with resources: [] and allowEmpty: true",
);

type Refuse = (why: DocumentRefusal, generation?: number) => Verdict;

/** A refusal changes nothing. Never throws, whatever the payload is. */
export function judgeDocument(arrival: Arrival): Verdict {
  const { payload: message, address, stored, context } = arrival;
  const { sha256, trust } = context;
  if (message.length > DOCUMENT_LIMITS.bytes) {
    const text = `the document has ${message.length} bytes, at most ${DOCUMENT_LIMITS.bytes} are accepted; make it smaller`;
    return refusing(digestOf(message, sha256))(refusal(413, text));
  }
  if (message.length === 0) return refusing(digestOf(message, sha256))(EMPTY_PAYLOAD);
  const opening = openDocument({ message, address, stored, sha256 }, trust);
  switch (opening.type) {
    case "Unchanged":
      return opening;
    case "Unauthorized":
      return refusing(opening.digest)(refusal(401, opening.message));
    case "Opened":
      return judgeOpened(arrival, opening);
  }
}

function judgeOpened(arrival: Arrival, opened: OpenedDocument): Verdict {
  const refuse = refusing(opened.digest);
  const read = readEnvelope(opened.payload, documentOf(arrival.address));
  switch (read.type) {
    case "Signed":
      return refuse(opened.signature === undefined ? ENVELOPE_NOT_JSON : ENVELOPE_INSIDE);
    case "Empty":
      return refuse(EMPTY_PAYLOAD);
    case "Invalid":
      return refuse(refusalOf(400, read.errors, arrival.address), read.generation);
    case "Envelope":
      return judgeEnvelope(arrival, read.envelope, { ...opened, refuse });
  }
}

function refusing(digest: string): Refuse {
  return (why, generation) => ({
    type: "Refused",
    ...why,
    digest,
    ...(generation === undefined ? {} : { generation }),
  });
}

const ENVELOPE_NOT_JSON = refusal(401, "write the signed envelope as one JSON object");
const ENVELOPE_INSIDE = refusal(400, "holds a signed envelope; sign the document itself");

function judgeEnvelope(
  arrival: Arrival,
  envelope: Envelope,
  opened: OpenedDocument & { readonly refuse: Refuse },
): Verdict {
  const { address, context } = arrival;
  const { generation } = envelope;
  const { refuse, signature } = opened;
  const isSigned = signature !== undefined;
  const elsewhere = judgeTarget(envelope.target, address, { fleet: context.fleet, isSigned });
  if (elsewhere.length > 0) return refuse(refusalOf(403, elsewhere, address), generation);
  const version = versionVerdict(arrival, envelope, opened);
  if (version === "Same") return { type: "Unchanged" };
  if (version !== "Newer") return refuse(refusal(version.code, version.message), generation);
  const unmet =
    judgeAgentUpdate(envelope, context.facts, isSigned) ??
    judgeSettings(envelope, context.facts, isSigned) ??
    judgeDemands(envelope, arrival);
  if (unmet !== undefined) return refuse(unmet, generation);
  const { keys } = context;
  const sealed = openSealed(envelope.sealed, address, isSigned ? keys : undefined);
  const isShut = judgeSealed(envelope.sealed, sealed, { isSigned, hasKeys: keys !== undefined });
  if (isShut !== undefined) return refuse(isShut, generation);
  const resources = decodeResources([...envelope.resources, ...sealed.secrets], {
    address,
    clusterDNS: context.facts.clusterDNS ?? false,
    generation,
    sha256: context.sha256,
    lenient: false,
    signed: isSigned,
  });
  const wrong = judgeLeft(envelope, resources) ?? judgeResources(resources, arrival);
  if (wrong !== undefined) return refuse(wrong, generation);
  const waits = judgeStaged(envelope, arrival);
  if (waits !== undefined) return refuse(waits, generation);
  return accept(arrival, { envelope, resources, sealed, opened });
}

function versionVerdict(
  { stored, context }: Arrival,
  envelope: Envelope,
  { digest, signature }: OpenedDocument,
): VersionVerdict {
  const { required, notBefore } = context.trust.keyring;
  const version = judgeVersion({ ...envelope, digest }, stored, {
    signaturesRequired: required,
    byRoot: signature?.byRoot ?? false,
  });
  if (signature === undefined) return version;
  // A document that was accepted unsigned counts as signed from here on.
  const isUpgrade = version === "Same" && stored?.signed !== true;
  if (version !== "Newer" && !isUpgrade) return version;
  return judgeAge(envelope.issuedAt, notBefore) ?? "Newer";
}

/** Expiry 408, requirements 412, emptiness 417. */
function judgeDemands(
  envelope: Envelope,
  { address, context }: Arrival,
): DocumentRefusal | undefined {
  const { expiresAt, generation } = envelope;
  const expired = expiredOnArrival(expiresAt, context.clockTrusted ? context.now : undefined);
  if (expired !== undefined) return refusal(408, expired);
  const accepted = { ...context.accepted, [reportedSource(address.source)]: generation };
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
  const objects = countObjects(envelope.resources) + envelope.sealed.length;
  if (objects > 0 || envelope.allowEmpty) return undefined;
  const message =
    "resources is empty, which would remove everything; write allowEmpty: true if that is meant";
  return refusal(417, message);
}

/** Emptiness 417, once more: nothing is left of the resources. */
function judgeLeft(
  { allowEmpty }: Envelope,
  resources: DecodedResources,
): DocumentRefusal | undefined {
  if (allowEmpty || !holdsNothing(resources)) return undefined;
  const rejections = resources.ignoredKinds;
  const { message } = refusalFor(417, rejections);
  const text = `nothing in resources runs on a node, which would remove everything; write allowEmpty: true if that is meant: ${message}`;
  return { code: 417, message: text, rejections };
}

/** Invalid resources 400, pod policy 403. */
function judgeResources(
  resources: DecodedResources,
  { address, current, context }: Arrival,
): DocumentRefusal | undefined {
  const invalid = [
    ...resources.errors,
    ...conflictsAmong(resources.pods, address),
    ...refusedAmong(resources.objects, current, address),
    ...repeatedRuns(resources.runs, address),
  ];
  if (invalid.length > 0) return refusalFor(400, invalid);
  const { required } = context.trust.keyring;
  const forbidden = allPods(resources).flatMap(({ pod }) =>
    forbiddenByPolicy(pod, context.podRules, required).map((error) =>
      rejectionIn(address, pod, error),
    ),
  );
  return forbidden.length > 0 ? refusalFor(403, forbidden) : undefined;
}

/** A node that has nothing of the group takes the newest: it may be new, or rebuilt. */
function judgeStaged(
  envelope: Envelope,
  { stored, context: { staged } }: Arrival,
): DocumentRefusal | undefined {
  if (!envelope.policy.staged) return undefined;
  if (staged === undefined) return STAGED_NODE;
  if (stored === undefined || stored.lost !== undefined) return undefined;
  const why = waitsFor(envelope, staged);
  return why === undefined ? undefined : refusal(423, why);
}

const STAGED_NODE = refusal(
  412,
  "policy.staged is for the document of a group, this is a node's own; leave it out",
);

function accept(
  { address, stored, context }: Arrival,
  judged: {
    readonly envelope: Envelope;
    readonly resources: DecodedResources;
    readonly sealed: OpenedSecrets;
    readonly opened: OpenedDocument;
  },
): Verdict {
  const { envelope, resources, sealed, opened } = judged;
  const { payload, digest, signature } = opened;
  const { epoch, generation } = envelope;
  // Generations of another epoch, or after a reset, are not comparable.
  const isComparable = stored?.epoch === epoch && stored.generation <= generation;
  const observedGeneration = isComparable ? stored.observedGeneration : 0;
  const signed = signature === undefined ? {} : { signed: true };
  const version = { source: address.source, epoch, generation, digest, ...signed };
  const { objects, ignoredKinds, notices } = resources;
  const holdsSecrets = objects.some(({ object }) => object.kind === "Secret");
  return {
    type: "Accepted",
    document: desiredDocument(version, envelope, { ...resources, opened: sealed.names }),
    accepted: {
      ...version,
      payload,
      ...(holdsSecrets ? { holdsSecrets } : {}),
      observedGeneration,
      acceptedAt: context.now,
    },
    notices: [
      ...documentRejections(envelope.ignored, address),
      ...ignoredKinds,
      ...notices,
      ...sharedSecrets(objects, address, sealed.names),
      ...(signature === undefined ? [] : unpinned(allPods(resources), address)),
    ],
  };
}

function refusalOf(
  code: DocumentRefusal["code"],
  errors: readonly FieldError[],
  address: DocumentAddress,
): DocumentRefusal {
  return refusalFor(code, documentRejections(errors, address));
}
