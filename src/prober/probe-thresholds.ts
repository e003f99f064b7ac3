// State of one probe of one container instance: its verdict, and whether it continues. kubelet: prober/worker

import type { Probe, ProbeKind, ProbeOutcome } from "../api/v1/probe.ts";

export type Thresholds = Pick<Probe, "successThreshold" | "failureThreshold">;

export interface ProbeState {
  readonly kind: ProbeKind;
  /** The verdict: results after the thresholds. */
  readonly outcome: ProbeOutcome;
  /** The newest result, and how often it was repeated; counted up to its threshold. */
  readonly last: "Success" | "Failure" | "None";
  readonly run: number;
  /** The probe stops: its verdict on this instance is final. */
  readonly final: boolean;
}

/** Before the first result: alive, not ready, startup unknown. */
export function initialState(kind: ProbeKind): ProbeState {
  return { kind, outcome: INITIAL[kind], last: "None", run: 0, final: false };
}

const INITIAL: Readonly<Record<ProbeKind, ProbeOutcome>> = {
  liveness: "Success",
  readiness: "Failure",
  startup: "Unknown",
};

/** The same object if the result changes nothing. A final state never changes. */
export function afterResult(
  state: ProbeState,
  result: "Success" | "Failure",
  thresholds: Thresholds,
): ProbeState {
  if (state.final) return state;
  const needed = result === "Success" ? thresholds.successThreshold : thresholds.failureThreshold;
  const before = state.last === result ? state.run : 0;
  const run = Math.min(before + 1, Math.max(needed, 1));
  const outcome = run >= needed ? result : state.outcome;
  if (state.last === result && state.run === run && state.outcome === outcome) return state;
  return { kind: state.kind, outcome, last: result, run, final: isFinal(state.kind, outcome) };
}

/**
 * For a pod that is being stopped: its containers must not be killed a second time, so liveness and startup count as
 * successful. Readiness continues, so that traffic can be redirected.
 */
export function whileTerminating(state: ProbeState): ProbeState {
  if (state.kind === "readiness" || (state.final && state.outcome === "Success")) return state;
  return { ...state, outcome: "Success", final: true };
}

/** `startup`: the verdict of the container's startup probe; undefined = it has none. */
export function isGated(state: ProbeState, startup: ProbeOutcome | undefined): boolean {
  return state.kind !== "startup" && startup !== undefined && startup !== "Success";
}

// A container that failed is about to be killed: running commands in it could disturb its termination.
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
