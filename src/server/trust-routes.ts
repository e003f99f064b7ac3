// `/trust`: whose documents run here, and `POST /trust/reset`, which forgets it.

import { messageOf } from "../lib/errors.ts";
import { json, notAllowed, text, type Answer } from "./answer.ts";

export interface RootKeyEntry {
  readonly keyid: string;
  /** Where it lies in `trustPath`; absent = only in the bundle. */
  readonly file?: string;
  /** False = the bundle names other root keys: this one signs nothing. */
  readonly inForce: boolean;
}

export interface SigningKeyEntry {
  readonly keyid: string;
  readonly roles: readonly string[];
  /** Absent = all, empty = nobody. */
  readonly nodes?: readonly string[];
  readonly groups?: readonly string[];
}

/** Plain data, as it is shown. */
export interface TrustEntry {
  readonly required: boolean;
  /** The sentence why. */
  readonly why: string;
  readonly trustPath: string;
  readonly rootKeys: readonly RootKeyEntry[];
  /** Absent = none was accepted yet: root keys sign everything. */
  readonly bundle?: {
    readonly version: number;
    /** RFC 3339. */
    readonly notBefore?: string;
    readonly keys: readonly SigningKeyEntry[];
  };
  /** Sentences with the remedy. */
  readonly problems: readonly string[];
}

export interface TrustFacts {
  trust(): TrustEntry;
  /** Throws when the disk does not take it: then signatures are required as before. */
  resetTrust(): void;
}

export const TRUST_PATHS: readonly string[] = ["/trust", "/trust/reset"];

/** undefined = the path is none of these. */
export function answerForTrust(
  method: string,
  path: string,
  facts: TrustFacts,
): Answer | undefined {
  if (path === "/trust")
    return isReading(method)
      ? shown(facts)
      : notAllowed("GET, HEAD", "/trust can only be read; POST /trust/reset forgets it");
  if (path !== "/trust/reset") return undefined;
  if (method !== "POST")
    return notAllowed(
      "POST",
      "/trust/reset forgets everything about trust: use POST if that is meant",
    );
  try {
    facts.resetTrust();
  } catch (error) {
    return text(500, `trust was not reset: ${messageOf(error)}; try again`);
  }
  return shown(facts);
}

function isReading(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function shown(facts: TrustFacts): Answer {
  return json({ apiVersion: "agent/v1", kind: "Trust", ...facts.trust() });
}
