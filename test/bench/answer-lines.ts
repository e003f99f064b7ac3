// How soon a document is answered, as a live subscriber of the report sees it.

import type { ReportedState } from "../../src/protocol/reported-state.ts";
import type { Collector } from "../harness/broker-client.ts";
import type { AgentSide } from "./agent-side.ts";
import { BUDGETS } from "./budgets.ts";
import type { Bench } from "./pairs.ts";
import { settled } from "./process-facts.ts";
import { ms, valueLine, type Labels, type Line } from "./report.ts";
import { spread } from "./statistics.ts";
import { NODE } from "./world.ts";

const REPORTED = `agent/v1/node/${NODE}/reported`;
const POD = "answered";
const MIN_READY_SECONDS = 1;

/** In ms, one of each for every document. */
interface Answers {
  /** From publishing to 202. */
  readonly accepted: readonly number[];
  /** From the moment at which its container had run for minReadySeconds to 200. */
  readonly converged: readonly number[];
}

/** Each document changes the pod of the one before. A start of the agent before each gives it the whole credit: this is
 * about the time that an answer takes, not about the price of many. */
export async function answerLines(
  bench: Bench,
  agent: AgentSide,
  count: number,
): Promise<readonly Line[]> {
  const reports = await bench.world.client.collect(REPORTED);
  const times: { readonly [K in keyof Answers]: number[] } = { accepted: [], converged: [] };
  for (let revision = 1; revision <= count; revision += 1) {
    await startAnew(agent, reports);
    const { accepted, converged } = await oneAnswer(bench, agent, { reports, revision });
    times.accepted.push(accepted);
    times.converged.push(converged);
  }
  const mark = bench.world.log.mark();
  await agent.publish(agent.document([]));
  await bench.world.log.lastGone(mark, 1);
  const notes = [`the agent is started before each; minReadySeconds ${MIN_READY_SECONDS}`];
  return [
    timesLine(BUDGETS.accepted, times.accepted, notes),
    timesLine(BUDGETS.converged, times.converged, [
      "from the start event of its container on, so what the agent needs to see that it is ready is part of it",
    ]),
  ];
}

/** Until it has reported, and has nothing left to do. */
async function startAnew(agent: AgentSide, reports: Collector): Promise<void> {
  const seen = reports.messages.length;
  await agent.process.restart();
  await reports.next((message) => reports.messages.indexOf(message) >= seen);
  await settled(agent.pid, { quietMs: 500 });
}

async function oneAnswer(
  { world }: Bench,
  agent: AgentSide,
  { reports, revision }: { readonly reports: Collector; readonly revision: number },
): Promise<{ readonly accepted: number; readonly converged: number }> {
  const document = agent.document([POD], {
    revision,
    policy: { minReadySeconds: MIN_READY_SECONDS },
  });
  const seen = reports.messages.length;
  const answered = async (code: number): Promise<number> => {
    await reports.next(
      (message) =>
        reports.messages.indexOf(message) >= seen &&
        codeOf(message.payload, agent.generation) === code,
    );
    return performance.now();
  };
  const mark = world.log.mark();
  const start = performance.now();
  const [acceptedAt, convergedAt, { at: runsAt }] = await Promise.all([
    answered(202),
    answered(200),
    world.log.lastStart(mark, 1),
    agent.publish(document),
  ]);
  return {
    accepted: acceptedAt - start,
    converged: convergedAt - runsAt - MIN_READY_SECONDS * 1_000,
  };
}

/** Of the acknowledgement of this generation. */
function codeOf(payload: string, generation: number): number | undefined {
  const { desired } = JSON.parse(payload) as ReportedState;
  return desired.find((ack) => ack.source === "node" && ack.generation === generation)?.code;
}

function timesLine(labels: Labels, times: readonly number[], notes: readonly string[]): Line {
  const { median, q1, q3, min, max, n } = spread(times);
  return valueLine(labels, {
    value: median,
    text: ms(median),
    spread: `${ms(q1)}–${ms(q3)} (${ms(min)}–${ms(max)})`,
    n,
    notes,
  });
}
