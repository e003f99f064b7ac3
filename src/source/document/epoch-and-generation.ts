// Whether a document is newer than the accepted one, by `epoch`, `previousEpoch` and `generation`, never by clocks, and
// which version it supersedes.

import type { AcceptedDocument, DocumentVersion } from "../../protocol/desired-document.ts";
import type { DesiredState } from "../../protocol/desired-state.ts";
import { withoutUndefined } from "../../lib/json.ts";
import { quoted } from "../../lib/short-text.ts";

type ArrivedVersion = Pick<DesiredState, "epoch" | "previousEpoch" | "generation"> &
  Pick<DocumentVersion, "digest">;

export type VersionVerdict =
  "Newer" | "Same" | { readonly code: 409 | 410; readonly message: string };

export interface EpochRules {
  readonly signaturesRequired: boolean;
  /** A root key has signed: where signatures are required, only then may a document start a new epoch. */
  readonly byRoot: boolean;
}

/** Only versions count, never clocks. Where signatures are not required, any other epoch is adopted. */
export function judgeVersion(
  arrived: ArrivedVersion,
  stored: AcceptedDocument | undefined,
  { signaturesRequired, byRoot }: EpochRules,
): VersionVerdict {
  if (stored === undefined) return "Newer";
  const isSame =
    arrived.epoch === stored.epoch &&
    arrived.generation === stored.generation &&
    arrived.digest === stored.digest;
  // The same document again replaces one that cannot be opened any more.
  if (isSame && stored.lost !== undefined) return "Newer";
  // Also the same document: accepted again, it sets the version anew, and nothing older follows it.
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

function epochConflict(arrived: ArrivedVersion, stored: AcceptedDocument): VersionVerdict {
  const message = `EpochConflict: epoch ${quoted(arrived.epoch)} does not follow the accepted epoch ${quoted(stored.epoch)} (generation ${stored.generation}); name that one as previousEpoch, signed by a root key, or run "agent trust reset" on the node`;
  return { code: 409, message };
}

/** The version that `next` supersedes. `hasFailed`: `before` was judged and has failed. undefined = `before` had come to an
 * end, or there was none. */
export function supersededBy(
  next: AcceptedDocument,
  before: AcceptedDocument | undefined,
  hasFailed: boolean,
): DocumentVersion | undefined {
  // The same document, now signed or accepted after a reset, supersedes nothing.
  if (before?.digest === next.digest) return before.superseded;
  if (before === undefined || hasFailed || before.lost !== undefined) return undefined;
  const { epoch, generation, digest, signed, observedGeneration } = before;
  if (observedGeneration === generation) return undefined;
  return { epoch, generation, digest, observedGeneration, ...withoutUndefined({ signed }) };
}
