// The acknowledgements of all sources in one report; each depends on the one before.

import type { SourceName, DesiredPod } from "../../api/pod/desired-pod.ts";
import type { Monotonic } from "../../lib/clock.ts";
import type { Ack } from "../../protocol/reported-state.ts";
import { reportedSource } from "../../protocol/wire-text.ts";
import { isShadowed } from "../../source/pod-config.ts";
import { acknowledge, acknowledgeStatic, type RunningFacts } from "./acknowledge.ts";
import type { NodeTruth } from "./node-truth.ts";

export interface SourceAcks {
  /** Superseded documents come last: the first entry of a source is the accepted document's. */
  readonly acks: readonly Ack[];
  readonly converged: readonly { readonly source: SourceName; readonly generation: number }[];
  /** When time alone may change an acknowledgement; undefined = only events can. */
  readonly reviewAt: Monotonic | undefined;
}

type Truth = Pick<NodeTruth, "pods" | "health" | "files" | "documents" | "rejected">;

export class Acknowledgements {
  #previous: ReadonlyMap<string, Ack> = new Map();

  next(truth: Truth, time: Pick<RunningFacts, "now" | "wall">): SourceAcks {
    const facts = (source: SourceName, own: readonly DesiredPod[]): RunningFacts => {
      const previous = this.#previous.get(reportedSource(source));
      return { ...time, ...podFacts(truth, source, own), previous };
    };
    const files = acknowledgeStatic(truth.files, facts("file", truth.files.pods));
    const documents = truth.documents.flatMap((state) => {
      const { source, document } = state;
      const answer = acknowledge(state, facts(source, document?.pods ?? []));
      return answer === undefined ? [] : [{ ...answer, source, document }];
    });
    const answers = [files, ...documents];
    this.#previous = new Map(answers.map(({ ack }) => [ack.source, ack]));
    const times = answers.flatMap(({ reviewAt }) => reviewAt ?? []);
    return {
      acks: [
        ...answers.map(({ ack }) => ack),
        ...documents.flatMap(({ superseded }) => superseded ?? []),
      ],
      converged: documents.flatMap(({ converged, source, document }) =>
        converged && document !== undefined ? [{ source, generation: document.generation }] : [],
      ),
      reviewAt: times.length === 0 ? undefined : Math.min(...times),
    };
  }
}

function podFacts(truth: Truth, source: SourceName, own: readonly DesiredPod[]) {
  const uids = new Set(own.map(({ uid }) => uid));
  const shadowed = own.filter((desired) => isShadowed(desired, truth.rejected));
  const leftovers = truth.pods.filter(
    ({ desired }) => desired.source === source && !uids.has(desired.uid),
  );
  return {
    health: truth.health,
    shadowed: new Set(shadowed.map(({ uid }) => uid)),
    leftovers: leftovers.length,
  };
}
