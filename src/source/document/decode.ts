// Payload bytes → a DesiredState document; its resources stay as written.

import { DEFAULT_POLICY } from "../../api/pod/update-policy.ts";
import type { FieldPath, Locate } from "../../api/decode/field-path.ts";
import { Findings } from "../../api/decode/field-errors.ts";
import { withoutUndefined } from "../../lib/json.ts";
import { type YamlDocument, readMessage } from "../../api/yaml/yaml-documents.ts";
import type { FieldError } from "../../lib/result.ts";
import type { AcceptedDocument, DesiredDocument } from "../../protocol/desired-document.ts";
import {
  NOT_SUPPORTED,
  readDesiredState,
  type DesiredState,
  type DocumentOf,
} from "../../protocol/desired-state.ts";
import { isEnvelope } from "../../protocol/dsse.ts";

/** One entry of `resources`, not judged yet. */
export interface WrittenResource {
  readonly index: number;
  readonly value: unknown;
  readonly locate: Locate;
  /** Where it stands; absent = in `resources`. */
  readonly list?: "sealed";
}

export interface Envelope extends Omit<DesiredState, "resources"> {
  readonly resources: readonly WrittenResource[];
  /** What this agent cannot do yet: each is a reason for 412. */
  readonly unsupported: readonly FieldError[];
  readonly ignored: readonly FieldError[];
}

type Terms = Pick<
  DesiredState,
  "issuedAt" | "expiresAt" | "groups" | "labels" | "policy" | "agent" | "config" | "sealed"
>;
type Checkpoint = Terms & Pick<Envelope, "resources"> & { readonly errors: readonly FieldError[] };
const NOTHING = { policy: DEFAULT_POLICY, resources: [], groups: [], labels: {}, sealed: [] };

export type ReadEnvelope =
  | { readonly type: "Envelope"; readonly envelope: Envelope }
  /** A signed envelope where a document should be: nothing inside has been looked at. */
  | { readonly type: "Signed" }
  /** No document at all, only blanks or comments. */
  | { readonly type: "Empty" }
  | {
      readonly type: "Invalid";
      readonly errors: readonly FieldError[];
      /** As far as it could be read. */
      readonly generation?: number;
    };

/** Never throws, whatever the bytes are. */
export function readEnvelope(payload: Uint8Array, of: DocumentOf = "node"): ReadEnvelope {
  const { documents, errors } = readMessage(payload, "the document");
  if (errors.some(({ code }) => code !== "Empty")) return { type: "Invalid", errors };
  const [first, second] = documents;
  if (first === undefined) return { type: "Empty" };
  if (second !== undefined) {
    const message = `holds ${documents.length} documents; put all objects into the resources of one DesiredState`;
    return { type: "Invalid", errors: [{ path: "", code: "Invalid", message }] };
  }
  if (isEnvelope(first.value)) return { type: "Signed" };
  return readDocument(first, of);
}

/** The part of an accepted document that defines what runs. Whatever a newer agent would refuse is passed over;
 * `errors` = the list of resources itself cannot be read. */
export function readCheckpoint(payload: Uint8Array, of: DocumentOf): Checkpoint {
  const { documents, errors } = readMessage(payload, "the document");
  const [document] = documents;
  if (document === undefined) return { ...NOTHING, errors };
  const { state, findings } = readState(document, { of, lenient: true });
  if (state === undefined) return { ...NOTHING, errors: findings.errors };
  return {
    ...state,
    resources: resourcesOf(state, document),
    errors: findings.errors.filter(({ path }) => path === "resources"),
  };
}

type Content = Pick<
  DesiredDocument,
  "pods" | "written" | "objects" | "runs" | "services" | "opened"
>;

/** The document without its payload; empty groups and labels are absent. */
export function desiredDocument(
  {
    source,
    epoch,
    generation,
    digest,
    signed = false,
  }: Omit<AcceptedDocument, "payload" | "observedGeneration" | "acceptedAt">,
  { issuedAt, expiresAt, groups, labels, policy, agent, config }: Terms,
  { pods, written, objects, runs = [], services = [], opened = [] }: Content,
): DesiredDocument {
  return {
    source,
    epoch,
    generation,
    digest,
    ...(signed ? { signed } : {}),
    policy,
    pods,
    written,
    objects,
    ...(runs.length === 0 ? {} : { runs }),
    ...(services.length === 0 ? {} : { services }),
    ...(opened.length === 0 ? {} : { opened }),
    // Without a signature, anyone can have written the time.
    ...withoutUndefined({ issuedAt: signed ? issuedAt : undefined, expiresAt }),
    // Nor is there an update of the agent, or a setting of it.
    ...(signed ? withoutUndefined({ agent, config }) : {}),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
  };
}

function readDocument(document: YamlDocument, of: DocumentOf): ReadEnvelope {
  const { state, findings } = readState(document, { of, lenient: false });
  const { errors } = findings;
  const unsupported = errors.filter(({ code }) => code === NOT_SUPPORTED);
  if (state === undefined || unsupported.length < errors.length) {
    const generation = state?.generation ?? 0;
    return {
      type: "Invalid",
      errors: errors.filter(({ code }) => code !== NOT_SUPPORTED),
      ...(generation >= 1 ? { generation } : {}),
    };
  }
  const resources = resourcesOf(state, document);
  return {
    type: "Envelope",
    envelope: { ...state, resources, unsupported, ignored: findings.warnings },
  };
}

function readState(
  { value, locate }: YamlDocument,
  { of, lenient }: { readonly of: DocumentOf; readonly lenient: boolean },
): { readonly state: DesiredState | undefined; readonly findings: Findings } {
  const findings = new Findings({ locate, lenient, unknownFields: "warn" });
  return { state: readDesiredState({ findings, path: [], value }, of), findings };
}

function resourcesOf({ resources }: DesiredState, { locate }: YamlDocument): WrittenResource[] {
  return resources.map((value, index) => ({
    index,
    value,
    locate: (path: FieldPath) => locate(["resources", index, ...path]),
  }));
}
