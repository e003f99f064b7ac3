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
    ({ source, generation, observedGeneration, code, phase }) =>
      `${source}: generation ${generation} (observed ${observedGeneration}) ${code} ${phase}`,
  );
  const lines = pods.map(
    ({ namespace, name, phase, ready }) => `${namespace}/${name} ${phase} ${ready}`,
  );
  return `\n          ${[...documents, ...lines].join("\n          ")}`;
}

/** True when the node says that it runs generation 1 of the document that was sent to it. */
export function isConverged(reported: unknown): boolean {
  if (reported === undefined) return false;
  return reportedState
    .parse(reported)
    .desired.some(
      ({ source, generation, observedGeneration, code }) =>
        source === "node" && generation === 1 && observedGeneration === 1 && code === 200,
    );
}
