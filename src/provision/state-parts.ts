// Decides which parts of stateDir an image for many devices must not have. A name that is not here stays, and is reported.

export type PartFate = "Removed" | "Claims" | "Kept";

export interface StatePart {
  readonly name: RegExp;
  readonly fate: PartFate;
  /** For people. */
  readonly what: string;
}

/** In the order in which they go: what other devices must least have comes first. */
export const STATE_PARTS: readonly StatePart[] = [
  { name: /^secret\.key(?:\.damaged.*)?$/, fate: "Removed", what: "the key of Secrets" },
  { name: /^node\.key(?:\.previous|\.damaged.*)?$/, fate: "Removed", what: "the node's own keys" },
  { name: /^pki$/, fate: "Removed", what: "the authority and users of the API" },
  { name: /^identity\.json$/, fate: "Removed", what: "the node's name and board" },
  { name: /^agent\.db(?:[-.].*)?$/, fate: "Removed", what: "the database, with its outbox" },
  { name: /^desired$/, fate: "Removed", what: "accepted documents" },
  { name: /^trust\.json$/, fate: "Removed", what: "the trust bundle" },
  { name: /^settings\.json$/, fate: "Removed", what: "settings of documents" },
  { name: /^running$/, fate: "Removed", what: "the mark of a running agent" },
  { name: /^in-hand$/, fate: "Removed", what: "what was in hand" },
  { name: /^provisioned\.json$/, fate: "Removed", what: "the mark of the take-over" },
  { name: /^provisioning$/, fate: "Removed", what: "a take-over under way" },
  { name: /^space-reserve$/, fate: "Removed", what: "room for a full disk" },
  { name: /^pods$/, fate: "Removed", what: "directories of pods" },
  { name: /^claims$/, fate: "Claims", what: "the data of claims" },
  // Bound to the machine, but no part of who it is: the launcher and the database need them.
  { name: /^self-update$/, fate: "Kept", what: "versions of the agent" },
  { name: /^lib$/, fate: "Kept", what: "the addon of the database" },
  { name: /^seccomp$/, fate: "Kept", what: "seccomp profiles" },
  { name: /^agent\.lock$/, fate: "Kept", what: "the lock" },
  { name: /^prepared\.json$/, fate: "Kept", what: "the mark of the preparation" },
];

/** Of `stateDir/self-update`: what this machine knows of versions, not the versions themselves. */
export const TRIAL_MARKS: readonly string[] = [
  "trial",
  "starts",
  "failed",
  "failed.new",
  "incoming",
  "scratch",
];

export interface StatePlan {
  /** Names in stateDir, in their order. */
  readonly removed: readonly { readonly name: string; readonly what: string }[];
  /** Names that the agent does not know. */
  readonly unknown: readonly string[];
  readonly hasClaims: boolean;
}

export function planState(names: readonly string[], removesClaims: boolean): StatePlan {
  const fates: readonly PartFate[] = removesClaims ? ["Removed", "Claims"] : ["Removed"];
  return {
    removed: STATE_PARTS.filter(({ fate }) => fates.includes(fate)).flatMap(({ name, what }) =>
      names.filter((one) => name.test(one)).map((one) => ({ name: one, what })),
    ),
    unknown: names.filter(
      // A write that was cut off leaves its temporary file.
      (one) => !STATE_PARTS.some(({ name }) => name.test(one.replace(/^\.(.*)\.tmp$/, "$1"))),
    ),
    hasClaims: names.some((one) =>
      STATE_PARTS.some(({ name, fate }) => fate === "Claims" && name.test(one)),
    ),
  };
}
