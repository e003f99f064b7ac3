// When a document was issued and when it is over (MQTT.md §2). Pure.

import type { Node } from "../../api/decode/field-reader.ts";
import { optional } from "../../api/decode/optional-field.ts";
import { timeField } from "../../api/validation/time-field.ts";

/** Wall ms. */
export interface DocumentTimes {
  readonly issuedAt?: number;
  readonly expiresAt?: number;
}

export function readTimes(node: Node): DocumentTimes {
  return {
    ...optional("issuedAt", timeField(node, "issuedAt")),
    ...optional("expiresAt", timeField(node, "expiresAt")),
  };
}

/** When it was issued counts only if somebody vouches for that. */
export function timesOf({ issuedAt, expiresAt }: DocumentTimes, signed: boolean): DocumentTimes {
  return {
    ...optional("issuedAt", signed ? issuedAt : undefined),
    ...optional("expiresAt", expiresAt),
  };
}
