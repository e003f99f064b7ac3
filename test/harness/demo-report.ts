// One line of what a node has reported to the broker.

import { z } from "zod";

const reportedState = z.object({
  desired: z.array(
    z.object({
      source: z.string(),
      generation: z.number(),
      observedGeneration: z.number(),
      phase: z.string(),
      code: z.number(),
      message: z.string().optional(),
      lastGood: z.object({ generation: z.number() }).optional(),
    }),
  ),
  pods: z.array(
    z.object({
      namespace: z.string(),
      name: z.string(),
      phase: z.string(),
      ready: z.string(),
      restarts: z.number(),
    }),
  ),
});

export function describeReported(reported: unknown): string {
  if (reported === undefined) return "nothing yet";
  const { desired, pods } = reportedState.parse(reported);
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

function ackOf(reported: unknown): Ack | undefined {
  if (reported === undefined) return undefined;
  return reportedState.parse(reported).desired.find(({ source }) => source === "node");
}

type Ack = z.infer<typeof reportedState>["desired"][number];
