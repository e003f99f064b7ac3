// A Rollout: which nodes of a group may take the staged document of one generation (docs/mqtt-api.md).

import { invalidAt } from "../api/decode/field-reader.ts";
import {
  boolean,
  fieldOf,
  listOf,
  map,
  objectType,
  oneOf,
  text,
  type Decoded,
} from "../api/schema/codec.ts";
import { readValue } from "../api/schema/read-value.ts";
import type { Type } from "../api/schema/type.ts";
import { atLeast, exactText, filledText, time } from "../api/schema/values.ts";
import { readMessage } from "../api/yaml/yaml-documents.ts";
import { failed, type Result } from "../lib/result.ts";
import type { Sha256 } from "../lib/system-sha256.ts";
import { growingNumber } from "./dsse.ts";

/** Bytes of a whole message. */
export const MAX_ROLLOUT_BYTES = 16 * 1024;
/** A node's place in a rollout is one of so many. */
const PLACES = 10_000;
const PLACES_A_PERCENT = PLACES / 100;

const PERCENT: Type<number> = {
  name: "Percent",
  read(at) {
    const { value } = at;
    if (typeof value === "number" && value >= 0 && value <= 100) return value;
    return invalidAt(at, "must be a number from 0 to 100, such as 2.5");
  },
  write: (value) => value,
  schema: () => ({ type: "number", minimum: 0, maximum: 100 }),
};

/** What an operator's program needs to go on with the rollout. Nodes do not read it. */
const PLAN = objectType("RolloutPlan", {
  steps: fieldOf(
    listOf(PERCENT),
    [],
  )({ about: "Percent of each step, rising.", required: true, keep: true }),
  bakeSeconds: fieldOf(
    atLeast(0),
    0,
  )({ about: "Seconds that a step must be good before the next one.", required: true, keep: true }),
  maxFailures: fieldOf(
    PERCENT,
    0,
  )({
    about: "Percent of the nodes that took the update, of which more must not fail.",
    required: true,
    keep: true,
  }),
  previousGeneration: fieldOf(atLeast(0))({
    about: "Generation that the group had before; its content is what undo restores.",
  }),
  operator: fieldOf(exactText)({ about: "Word that tells apart the programs that raise it." }),
  reason: fieldOf(exactText)({ about: "Why it is paused, for people." }),
});

export const ROLLOUT = objectType("Rollout", {
  apiVersion: oneOf(["agent/v1"], { about: "Version of the format.", required: "agent/v1" }),
  kind: oneOf(["Rollout"], { about: "Kind of the document.", required: "Rollout" }),
  group: fieldOf(
    exactText,
    "",
  )({ about: "Group of the document; must match the topic.", required: "the name of the group" }),
  epoch: fieldOf(exactText)({ about: "Epoch of the document that it releases.", default: "" }),
  generation: growingNumber,
  percent: fieldOf(
    PERCENT,
    0,
  )({
    about: "Share of the group that may take the document, from 0 to 100.",
    required: "a number from 0 to 100",
    keep: true,
  }),
  match: map(text, { about: "Labels that a node must have, all of them." }),
  paused: boolean({ about: "Whether no further node may take the document.", default: false }),
  salt: fieldOf(
    filledText(),
    "",
  )({
    about: "Text that decides which nodes come first; it stays the same during a rollout.",
    required: "a text that stays the same during the rollout",
  }),
  issuedAt: fieldOf(time)({ about: "Time of the signature; the newest Rollout counts." }),
  plan: fieldOf(PLAN)({ about: "How the rollout goes on. Nodes do not read it." }),
});
export type RolloutOrder = Decoded<typeof ROLLOUT>;
export type RolloutPlan = Decoded<typeof PLAN>;

/** Never throws, whatever the bytes are. */
export function decodeRollout(payload: Uint8Array): Result<RolloutOrder> {
  const { documents, errors } = readMessage(payload, "the Rollout");
  const [document, second] = documents;
  if (errors.length > 0 || document === undefined) return failed(errors);
  if (second === undefined)
    return readValue(ROLLOUT, document.value, { ...document, unknownFields: "warn" });
  return failed([{ path: "", code: "Invalid", message: "must be one Rollout" }]);
}

/** Where a node stands in the order of a rollout: the percent that must be exceeded for it to take part, 0 to 99.99. */
export function placeOf(node: string, salt: string, sha256: Sha256): number {
  const first = Number.parseInt(sha256(salt + node).slice(0, 8), 16);
  return (first % PLACES) / PLACES_A_PERCENT;
}

/** Whether the node is within the first `percent`. */
export function isWithin(place: number, percent: number): boolean {
  // Whole numbers: 0.29 × 100 is less than 29.
  return Math.round(place * PLACES_A_PERCENT) < Math.round(percent * PLACES_A_PERCENT);
}
