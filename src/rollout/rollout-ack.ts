// What an update's turn makes of the acknowledgement of its document: rolled back, failed, held, or not proven yet. Pure.

import type { PodStanding } from "../api/pod/rollout.ts";
import { failureWords, takenBack } from "../api/pod/update-condition.ts";
import type { Ack } from "../protocol/reported-state.ts";
import { wireText } from "../protocol/wire-text.ts";

export type RolloutSaid = Pick<Ack, "phase" | "code" | "message" | "lastGood">;

/** undefined = nothing is wrong so far. One word for all pods: the worst. */
export function rolloutSaid(standings: readonly PodStanding[]): RolloutSaid | undefined {
  const rolledBack = standings.flatMap((one) =>
    one.standing.type === "RolledBack" ? [{ ...one, standing: one.standing }] : [],
  );
  const [first] = rolledBack;
  if (first !== undefined) {
    const generations = rolledBack.flatMap(({ goodGeneration }) => goodGeneration ?? []);
    const why = takenBack(first.standing, failureWords(first.standing.why));
    const message = wireText(`pod ${first.name} was taken back: ${why}`);
    const said = { phase: "RolledBack", code: 424, message } as const;
    if (generations.length === 0) return said;
    return { ...said, lastGood: { generation: Math.min(...generations) } };
  }
  for (const { name, standing } of standings) {
    if (standing.type !== "Failed") continue;
    const message = wireText(`pod ${name}: ${failureWords(standing.why)}`);
    return { phase: "Degraded", code: 424, message };
  }
  for (const { name, standing } of standings) {
    if (standing.type !== "Held") continue;
    return { phase: "Held", code: 423, message: wireText(`pod ${name}: ${standing.why}`) };
  }
  return undefined;
}

/** Some pod has not proved itself yet. */
export function isOnTrial(standings: readonly PodStanding[]): boolean {
  return standings.some(({ standing }) => standing.type === "OnTrial");
}
