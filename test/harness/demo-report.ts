// One line of what a node has reported to the broker.

import { readReport, type NodeReport, type ReportedAck } from "../../src/fleet/node-report.ts";

export function describeReported(reported: unknown): string {
  if (reported === undefined) return "nothing yet";
  const { desired, pods } = reportOf(reported);
  const documents = desired.map(
    ({ source, generation, observedGeneration, code, phase, message = "", lastGood }) =>
      [
        `${source}: generation ${generation} (observed ${observedGeneration}) ${code} ${phase}`,
        ...(lastGood === undefined ? [] : [`, generation ${lastGood.generation} runs`]),
        ...(message === "" ? [] : [`: ${message}`]),
      ].join(""),
  );
  const lines = pods.map(
    ({ namespace, name, phase, ready }) => `${namespace}/${name} ${phase} ${ready}`,
  );
  return `\n          ${[...documents, ...lines].join("\n          ")}`;
}

/** True when the node says that it runs this generation of the document that was sent to it. */
export function isConverged(reported: unknown, generation: number): boolean {
  const ack = ackOf(reported);
  return (
    ack?.generation === generation && ack.observedGeneration === generation && ack.code === 200
  );
}

/** True when the node says that this generation failed, and which one it runs instead. */
export function isRolledBack(
  reported: unknown,
  { generation, lastGood }: { readonly generation: number; readonly lastGood: number },
): boolean {
  const ack = ackOf(reported);
  return (
    ack?.generation === generation &&
    ack.phase === "RolledBack" &&
    ack.lastGood?.generation === lastGood
  );
}

function ackOf(reported: unknown): ReportedAck | undefined {
  if (reported === undefined) return undefined;
  return reportOf(reported).desired.find(({ source }) => source === "node");
}

function reportOf(reported: unknown): NodeReport {
  const report = readReport(new TextEncoder().encode(JSON.stringify(reported)));
  if (report === undefined) throw new Error(`not a report: ${JSON.stringify(reported)}`);
  return report;
}
