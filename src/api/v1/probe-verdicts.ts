// What the probes of one pod say at this moment; made by prober/, read by runtime/ and status/.

export type ProbeKind = "liveness" | "readiness" | "startup";

/** `Unknown`: asked and not yet decided. kubelet: results.Result */
export type ProbeOutcome = "Success" | "Failure" | "Unknown";

/** Of one instance of a container; a kind that is absent has not been asked yet, or is not in the spec. */
export type ContainerVerdicts = Readonly<Partial<Record<ProbeKind, ProbeOutcome>>>;

/** By container id. */
export type ProbeVerdicts = Readonly<Record<string, ContainerVerdicts>>;

export const NO_VERDICTS: ProbeVerdicts = {};
