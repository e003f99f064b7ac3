// The status codes and phases that a node publishes, one table for each kind of message. docs/reference/codes.md is
// generated from it.

/** Why a document is refused; what was accepted before stays in force. */
export const DOCUMENT_REFUSALS = {
  400: "The document cannot be read, is of another kind, or contains an invalid object.",
  401: "The signature is missing where signatures are required, or is not valid for this document.",
  403: "The document is for another node, group or fleet, or a pod exceeds the pod policy.",
  408: "The document had expired when it arrived.",
  409: "The same generation with another content, or another epoch where signatures are required.",
  410: "The generation is lower than the accepted one, or the document was issued before notBefore of the TrustBundle.",
  412: "A requirement is not met, or a field is not supported yet. Tried again when another document is accepted.",
  413: "The document is too large.",
  417: "The document is empty, or nothing in it runs on a node; if that is meant, it needs allowEmpty: true.",
  423: "The document is staged, and no Rollout has released it for this node yet. Tried again with every Rollout.",
  500: "The document could not be stored. Tried again without intervention.",
  503: "The agent has ended twice while it worked on this document. Tried again without intervention, after a pause.",
  507: "The disk is full. Tried again without intervention.",
} as const;
export type RefusalCode = keyof typeof DOCUMENT_REFUSALS;

interface PhaseRow {
  /** Empty = the code of the refusal. */
  readonly codes: readonly number[];
  readonly about: string;
}

/** How an accepted document runs. */
export const PHASES = {
  Received: { codes: [202], about: "The document is stored; nothing has been done yet." },
  Downloading: { codes: [202], about: "Images are missing; pulling is retried with back-off." },
  Applying: { codes: [202], about: "Pods are being replaced, or wait for it." },
  Progressing: { codes: [202], about: "All pods run; a changed pod is still on trial." },
  Healthy: {
    codes: [200],
    about: "Every pod has been ready for policy.minReadySeconds, or has succeeded.",
  },
  Degraded: {
    codes: [424],
    about: "A pod fails, and there is no good revision to return to or its policy forbids it.",
  },
  RolledBack: {
    codes: [424],
    about: "A changed pod failed, and its last good revision runs: lastGood.generation.",
  },
  Held: { codes: [423], about: "A hold, a lock or a maintenance window delays the update." },
  Superseded: {
    codes: [410],
    about: "A newer document was accepted before this one had converged.",
  },
  Rejected: { codes: [], about: "No document has been accepted; the newest one was refused." },
} as const satisfies Readonly<Record<string, PhaseRow>>;
export type Phase = keyof typeof PHASES;

/** How settings of a document stand. */
export const SETTINGS_PHASES = {
  Trying: { codes: [202], about: "The new connection is tried beside the old one." },
  Proving: { codes: [202], about: "The new connection is in use, and has to prove itself." },
  InForce: { codes: [200], about: "The settings have proved themselves." },
  Undone: { codes: [424], about: "The new connection did not work; what was in force before is." },
} as const satisfies Readonly<Record<string, PhaseRow>>;
export type SettingsPhase = keyof typeof SETTINGS_PHASES;

/** How far a command is. */
export const RESPONSE_PHASES = {
  accepted: { codes: [202], about: "The command is stored and will be carried out." },
  running: { codes: [202], about: "The command is being carried out; data contains its progress." },
  done: { codes: [200], about: "The command succeeded." },
  failed: {
    codes: [400, 401, 404, 408, 409, 429, 500, 502, 503, 504],
    about: "The command failed; error contains the reason.",
  },
  denied: {
    codes: [401, 403, 429, 501],
    about: "The command is not obeyed: signature, target, rate limit, or a verb of a newer agent.",
  },
  expired: { codes: [408], about: "The command is of another session, or older than its ttl." },
  duplicate: {
    codes: [202],
    about:
      "The id was seen before: 202 while it is carried out, then the code of the first answer.",
  },
} as const satisfies Readonly<Record<string, PhaseRow>>;
export type ResponsePhase = keyof typeof RESPONSE_PHASES;
