// How a document wants its changes to be carried out: `policy`.

import { invalidAt } from "../decode/field-reader.ts";
import { boolean, fieldOf, objectType, oneOf, type Decoded } from "../schema/codec.ts";
import { emptyValue } from "../schema/read-value.ts";
import { atLeast } from "../schema/values.ts";
import type { Field, Type } from "../schema/type.ts";
import { MAINTENANCE_WINDOWS } from "../window/maintenance-window.ts";

export const ON_FAILURE = ["rollback", "hold", "keep"] as const;
export const STRATEGIES = ["pull-then-replace", "stop-then-pull"] as const;

const REQUIRE_UPSTREAM: Type<"auto" | "always" | "never"> = {
  name: "BoolOrString",
  read(at) {
    if (at.value === "auto") return "auto";
    if (typeof at.value === "boolean") return at.value ? "always" : "never";
    return invalidAt(at, "must be auto, true or false");
  },
  write: (value) => (value === "auto" ? value : value === "always"),
  schema: () => ({ enum: ["auto", true, false, null] }),
};

function seconds(about: string, least: number, byDefault: number): Field<number> {
  return fieldOf(atLeast(least))({ about, default: byDefault });
}

export const UPDATE_POLICY = objectType("UpdatePolicy", {
  minReadySeconds: seconds("Seconds that a changed pod must stay ready to count as good.", 0, 10),
  progressDeadlineSeconds: seconds(
    "Seconds after which a changed pod that is not good has failed.",
    1,
    600,
  ),
  onFailure: oneOf(ON_FAILURE, {
    about:
      "What follows a failure: rollback restores the last good revision, hold keeps the failed one and stops further updates, keep only reports it.",
    default: "rollback",
  }),
  strategy: oneOf(STRATEGIES, {
    about:
      "pull-then-replace pulls new images while the old pod runs; stop-then-pull stops the old pod first, for a disk that cannot hold two images.",
    default: "pull-then-replace",
  }),
  atomic: boolean({
    about: "Whether all pods of a generation are rolled back if one of them fails.",
    default: false,
  }),
  requireUpstream: fieldOf(REQUIRE_UPSTREAM)({
    about:
      "Whether a changed pod is good only once the broker was reached again; auto: if the pod could cut the node off.",
    default: "auto",
    keep: true,
  }),
  retryFailed: boolean({
    about: "Whether a newer generation may try again what has failed before.",
    default: false,
  }),
  maxLockSeconds: seconds(
    "Longest time for which an application's lock delays an update.",
    0,
    86_400,
  ),
  maintenanceWindows: fieldOf(MAINTENANCE_WINDOWS)({
    about:
      "Windows outside of which updates wait; [] = they wait for none. Default: those of the node's configuration.",
    keep: true,
  }),
  urgent: boolean({
    about:
      "Whether this generation waits for no maintenance window of the document, the pod or the node.",
    default: false,
  }),
  staged: boolean({
    about:
      "Whether the nodes of the group wait with this generation until a Rollout releases it for them. Only in the document of a group.",
    default: false,
  }),
});

export type UpdatePolicy = Decoded<typeof UPDATE_POLICY>;
export const DEFAULT_POLICY: UpdatePolicy = emptyValue(UPDATE_POLICY);

/** What an accepted document contains beside its objects. */
export interface DocumentTerms {
  readonly generation: number;
  readonly policy: UpdatePolicy;
  /** The pods by `namespace/name`, as their author wrote them. */
  readonly written: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}
