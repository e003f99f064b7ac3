// Whether a document is meant for this place, and whether it is newer than the one the node has (MQTT.md §3).

import type { AcceptedDocument } from "../api/desired-document.ts";
import type { SourceName } from "../api/desired-pod.ts";
import type { FieldError } from "../lib/result.ts";
import type { Target } from "./desired-decode.ts";

/** Where a document arrived. */
export interface DocumentAddress {
  readonly source: SourceName;
  readonly topic: string;
  /** This node's name. */
  readonly node: string;
}

const GROUP = "mqtt:group/";

/** `node`, `group/<g>`: how reports and `requires.documents` call a document source. */
export function documentName(source: SourceName): string {
  return source.startsWith("mqtt:") ? source.slice("mqtt:".length) : source;
}

/** Every way in which the target is not the topic's; an absent target is the topic's (unsigned documents only). */
export function judgeTarget(
  target: Target,
  address: DocumentAddress,
  fleet: string | undefined,
): readonly FieldError[] {
  const group = address.source.startsWith(GROUP) ? address.source.slice(GROUP.length) : undefined;
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

export interface DocumentVersion {
  readonly epoch: string;
  readonly previousEpoch?: string;
  readonly generation: number;
  readonly digest: string;
}

export type VersionVerdict =
  "Newer" | "Same" | { readonly code: 409 | 410; readonly message: string };

/** Versions count always, clocks never. Where signatures are not required any other epoch is adopted. */
export function judgeVersion(
  arrived: DocumentVersion,
  stored: AcceptedDocument | undefined,
  signaturesRequired: boolean,
): VersionVerdict {
  if (stored === undefined) return "Newer";
  if (arrived.epoch !== stored.epoch) {
    const follows = stored.epoch === "" || arrived.previousEpoch === stored.epoch;
    return follows || !signaturesRequired ? "Newer" : epochConflict(arrived, stored);
  }
  if (arrived.generation > stored.generation) return "Newer";
  const next = stored.generation + 1;
  if (arrived.generation < stored.generation)
    return {
      code: 410,
      message: `generation ${arrived.generation} is older than the accepted generation ${stored.generation}; publish it as generation ${next} or higher`,
    };
  // The same once more brings back what cannot be opened any more.
  if (arrived.digest === stored.digest) return stored.lost === undefined ? "Same" : "Newer";
  return {
    code: 409,
    message: `generation ${stored.generation} was accepted with other content (${stored.digest}); publish the change as generation ${next} or higher`,
  };
}

function epochConflict(arrived: DocumentVersion, stored: AcceptedDocument): VersionVerdict {
  const message = `EpochConflict: epoch ${quoted(arrived.epoch)} does not follow the accepted epoch ${quoted(stored.epoch)} (generation ${stored.generation}); name that one as previousEpoch, signed by a root key, or run "agent trust reset" on the node`;
  return { code: 409, message };
}

function quoted(text: string): string {
  const short = text.length <= 64 ? text : `${text.slice(0, 63)}…`;
  return JSON.stringify(short);
}
