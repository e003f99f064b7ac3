// How far one node is with a document that was just published, and whether to wait longer.

import type { NodeReport, NodeState, ReportedAck } from "../node-report.ts";

export interface Published {
  /** `node`, `group/<g>`. */
  readonly source: string;
  readonly epoch: string;
  readonly generation: number;
  readonly digest: string;
}

export interface Step {
  /** For people: `Downloading 3/5: …`. */
  readonly line: string;
  readonly outcome: "Waiting" | "Healthy" | "Failed";
}

/** Codes after which the node continues on its own. */
const GOING_ON: readonly number[] = [202, 423];
/** Of a refusal: a Rollout has to release the document first. */
const STAGED = 423;

export function followApply(
  published: Published,
  report: NodeReport | undefined,
  state: NodeState | undefined,
): Step {
  const acks = report?.desired.filter(({ source }) => source === published.source) ?? [];
  const own = acks.find(({ digest }) => digest === published.digest);
  if (own !== undefined) return ownStep(own);
  // The superseded document is listed after the one that replaced it.
  const [ack] = acks;
  const refused = ack?.lastRejected;
  if (refused?.digest === published.digest) {
    const { code, message } = refused;
    if (code === STAGED) return { line: `Staged: ${message}`, outcome: "Waiting" };
    return failed(`Rejected ${code}: ${message}`);
  }
  if (ack !== undefined && isOvertaken(published, ack))
    return failed(`has generation ${ack.generation} from another operator (${ack.digest})`);
  return { line: waitingLine(ack, report, state), outcome: "Waiting" };
}

function isOvertaken({ epoch, generation }: Published, ack: ReportedAck): boolean {
  return ack.epoch === epoch && ack.generation >= generation;
}

function ownStep(ack: ReportedAck): Step {
  const { code, phase, progress, message, lastGood } = ack;
  const counted = progress === undefined ? "" : ` ${progress.imagesDone}/${progress.images}`;
  const pulled = progress?.bytes === undefined ? "" : ` ${percentOf(progress)} %`;
  const back =
    phase === "RolledBack" && lastGood !== undefined ? ` to generation ${lastGood.generation}` : "";
  const why = message === undefined || message === "" ? "" : `: ${message}`;
  const line = `${phase}${counted}${pulled}${back}${why}`;
  if (code === 200) return { line, outcome: "Healthy" };
  if (!GOING_ON.includes(code)) return failed(line);
  return { line, outcome: "Waiting" };
}

function percentOf({ bytes = 0, bytesDone = 0 }: NonNullable<ReportedAck["progress"]>): number {
  return bytes === 0 ? 0 : Math.floor((100 * bytesDone) / bytes);
}

function failed(line: string): Step {
  return { line, outcome: "Failed" };
}

function waitingLine(
  ack: ReportedAck | undefined,
  report: NodeReport | undefined,
  state: NodeState | undefined,
): string {
  const away =
    state === undefined || state.state === "online"
      ? ""
      : `, it is ${state.state} and takes the document when it is back`;
  if (report === undefined) return `has not reported yet${away}`;
  if (ack === undefined || ack.generation === 0) return `has not answered yet${away}`;
  return `still has generation ${ack.generation} (${ack.phase})${away}`;
}
