// Reads the report of `agent fsck --light`, and words it for an event, the log and a condition of the node.

import type { NodeCondition } from "../../api/v1/pod-status.ts";
import { isJsonObject, memberOf, parseJson } from "../../lib/json.ts";
import { shortText } from "../../lib/short-text.ts";

export interface LightFinding {
  readonly part: string;
  readonly file: string;
  readonly what: string;
  readonly outcome: string;
}

/** Type of the condition. */
export const STORAGE_DAMAGED = "StorageDamaged";
const SHOWN = 3;
const TEXT_UNITS = 200;

/** undefined = it is no report. */
export function readLightReport(text: string): readonly LightFinding[] | undefined {
  const items = memberOf(parseJson(text), "items");
  if (!Array.isArray(items)) return undefined;
  return items.filter(isJsonObject).map((item) => ({
    part: textIn(item, "part"),
    file: textIn(item, "file"),
    what: textIn(item, "what"),
    outcome: textIn(item, "outcome"),
  }));
}

function textIn(item: unknown, name: string): string {
  const value = memberOf(item, name);
  return typeof value === "string" ? value : "";
}

/** Refused manifests are no damage, and are reported as such by their source. */
export function damageIn(findings: readonly LightFinding[]): readonly LightFinding[] {
  return findings.filter(({ part, outcome }) => part !== "manifest" && outcome === "Found");
}

export function damageMessage(damage: readonly LightFinding[]): string {
  const shown = damage
    .slice(0, SHOWN)
    .map(({ part, file, what }) => shortText(`${part} ${file}: ${what}`, TEXT_UNITS));
  const more = damage.length > SHOWN ? [`${damage.length - SHOWN} more`] : [];
  return `${[...shown, ...more].join("; ")}; agent fsck shows all with what helps`;
}

export function damageCondition(damage: readonly LightFinding[]): readonly NodeCondition[] {
  if (damage.length === 0) return [];
  const message = damageMessage(damage);
  return [{ type: STORAGE_DAMAGED, status: "True", reason: "FoundByCheck", message }];
}
