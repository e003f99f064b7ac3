// What one probe thinks of one instance of a container, and whether it asks on. kubelet: prober/worker

import type { Probe } from "../api/v1/probe.ts";
import type { ProbeKind, ProbeOutcome } from "../api/v1/probe-verdicts.ts";

export type Thresholds = Pick<Probe, "successThreshold" | "failureThreshold">;

export interface ProbeState {
  readonly kind: ProbeKind;
  /** The verdict: what the thresholds made of the answers. */
  readonly outcome: ProbeOutcome;
  /** The newest answer, and how often it came in a row; counted no further than its threshold. */
  readonly last: "Success" | "Failure" | "None";
  readonly run: number;
  /** Asks no more: its word about this instance is final. */
  readonly final: boolean;
}

/** Before the first answer: alive, not ready, not known to have started. */
export function initialState(kind: ProbeKind): ProbeState {
  return { kind, outcome: INITIAL[kind], last: "None", run: 0, final: false };
}

const INITIAL: Readonly<Record<ProbeKind, ProbeOutcome>> = {
  liveness: "Success",
  readiness: "Failure",
  startup: "Unknown",
};

/** The same object as long as an answer changes nothing. A final state stays as it is. */
export function afterAnswer(
  state: ProbeState,
  answer: "Success" | "Failure",
  thresholds: Thresholds,
): ProbeState {
  if (state.final) return state;
  const needed = answer === "Success" ? thresholds.successThreshold : thresholds.failureThreshold;
  const before = state.last === answer ? state.run : 0;
  const run = Math.min(before + 1, Math.max(needed, 1));
  const outcome = run >= needed ? answer : state.outcome;
  if (state.last === answer && state.run === run && state.outcome === outcome) return state;
  return { kind: state.kind, outcome, last: answer, run, final: isFinal(state.kind, outcome) };
}

/**
 * Of a pod that is being stopped: nothing may kill its containers a second time, so liveness and startup
 * are content. Readiness goes on, so that traffic can be led away.
 */
export function whileTerminating(state: ProbeState): ProbeState {
  if (state.kind === "readiness" || (state.final && state.outcome === "Success")) return state;
  return { ...state, outcome: "Success", final: true };
}

/** `startup`: the verdict of the container's startup probe; undefined = it has none. */
export function isGated(state: ProbeState, startup: ProbeOutcome | undefined): boolean {
  return state.kind !== "startup" && startup !== undefined && startup !== "Success";
}

// A container that failed is about to be killed: commands in it now could disturb its end.
function isFinal(kind: ProbeKind, outcome: ProbeOutcome): boolean {
  switch (kind) {
    case "liveness":
      return outcome === "Failure";
    case "readiness":
      return false;
    case "startup":
      return outcome !== "Unknown";
  }
}
