// Whether a document is meant for this place, and whether it is newer than the one the node has (MQTT.md §3).

import {
  type AcceptedDocument,
  type DocumentAddress,
  groupOf,
} from "../../protocol/desired-document.ts";
import type { FieldError } from "../../lib/result.ts";
import type { DocumentOf, Target } from "./decode.ts";

export interface TargetRules {
  /** `mqtt.fleet`; undefined = any. */
  readonly fleet: string | undefined;
  /** A signed document says whom it is for; an unsigned one without a target is for its topic. */
  readonly isSigned: boolean;
}

/** Every way in which the target is not the topic's. */
export function judgeTarget(
  target: Target,
  address: DocumentAddress,
  { fleet, isSigned }: TargetRules,
): readonly FieldError[] {
  const group = groupOf(address);
  const isNamed = target.node !== undefined || target.group !== undefined;
  if (isSigned && !isNamed) return [unnamed(address)];
  const wrong: FieldError[] = [];
  const miss = (key: keyof Target, message: string): void => {
    wrong.push({ path: `target.${key}`, code: "OtherTarget", message });
  };
  if (target.node !== undefined && group !== undefined)
    miss("node", `this is the topic of group ${group}; write target: {group: ${group}}`);
  else if (target.node !== undefined && target.node !== address.node)
    miss(
      "node",
      `is for ${quoted(target.node)}, this is ${address.node}; publish it to that node's topic`,
    );
  if (target.group !== undefined && target.group !== group)
    miss(
      "group",
      `is for ${quoted(target.group)}, this is ${group ?? `the topic of node ${address.node}`}; publish it to that group's topic`,
    );
  if (target.fleet !== undefined && fleet !== undefined && target.fleet !== fleet)
    miss("fleet", `is for ${quoted(target.fleet)}, this node belongs to ${quoted(fleet)}`);
  return wrong;
}

function unnamed(address: DocumentAddress): FieldError {
  const group = groupOf(address);
  const own = group === undefined ? `node: ${address.node}` : `group: ${group}`;
  const message = `a signed document must name whom it is for, so that it counts nowhere else; write target: {${own}}`;
  return { path: "target", code: "Required", message };
}

export function documentOf(address: Pick<DocumentAddress, "source">): DocumentOf {
  return groupOf(address) === undefined ? "node" : "group";
}

export interface DocumentVersion {
  readonly epoch: string;
  readonly previousEpoch?: string;
  readonly generation: number;
  readonly digest: string;
}

export type VersionVerdict =
  "Newer" | "Same" | { readonly code: 409 | 410; readonly message: string };

export interface EpochRules {
  readonly signaturesRequired: boolean;
  /** A root key has signed: where signatures are required, only then may a document name its epoch's predecessor. */
  readonly byRoot: boolean;
}

/** Versions count always, clocks never. Where signatures are not required any other epoch is adopted. */
export function judgeVersion(
  arrived: DocumentVersion,
  stored: AcceptedDocument | undefined,
  { signaturesRequired, byRoot }: EpochRules,
): VersionVerdict {
  if (stored === undefined) return "Newer";
  const isSame =
    arrived.epoch === stored.epoch &&
    arrived.generation === stored.generation &&
    arrived.digest === stored.digest;
  // The same once more brings back what cannot be opened any more.
  if (isSame && stored.lost !== undefined) return "Newer";
  // Also the same: accepted once more, it counts again, and nothing older follows it.
  if (stored.versionForgotten === true) return "Newer";
  if (isSame) return "Same";
  if (arrived.epoch !== stored.epoch) {
    const follows = stored.epoch === "" || (arrived.previousEpoch === stored.epoch && byRoot);
    return follows || !signaturesRequired ? "Newer" : epochConflict(arrived, stored);
  }
  if (arrived.generation > stored.generation) return "Newer";
  const next = stored.generation + 1;
  if (arrived.generation < stored.generation)
    return {
      code: 410,
      message: `generation ${arrived.generation} is older than the accepted generation ${stored.generation}; publish it as generation ${next} or higher`,
    };
  return {
    code: 409,
    message: `generation ${stored.generation} was accepted with other content (${stored.digest}); publish the change as generation ${next} or higher`,
  };
}

/** Documents that were signed before the day that the TrustBundle names count no more, and those without a date. */
export function judgeAge(
  issuedAt: number | undefined,
  notBefore: number | undefined,
): Extract<VersionVerdict, object> | undefined {
  if (notBefore === undefined || (issuedAt !== undefined && issuedAt >= notBefore))
    return undefined;
  const since = new Date(notBefore).toISOString();
  const what =
    issuedAt === undefined
      ? "the document has no issuedAt"
      : `the document was issued at ${new Date(issuedAt).toISOString()}`;
  const message = `${what}, and only those issued since ${since} count (notBefore of the TrustBundle); sign it again with the present time`;
  return { code: 410, message };
}

function epochConflict(arrived: DocumentVersion, stored: AcceptedDocument): VersionVerdict {
  const message = `EpochConflict: epoch ${quoted(arrived.epoch)} does not follow the accepted epoch ${quoted(stored.epoch)} (generation ${stored.generation}); name that one as previousEpoch, signed by a root key, or run "agent trust reset" on the node`;
  return { code: 409, message };
}

function quoted(text: string): string {
  const short = text.length <= 64 ? text : `${text.slice(0, 63)}…`;
  return JSON.stringify(short);
}
