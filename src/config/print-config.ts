// The configuration in force as a file would have it: every field with its value, also where that is the default.

import type { Level } from "../api/schema/type.ts";
import { isJsonObject } from "../lib/json.ts";
import { AGENT_CONFIGURATION, type AgentConfig, type ConfigFields } from "./config.ts";

/** Without fields that have no value, such as `nodeName` where the machine gives it. Secrets are in files of their own. */
export function configInForce(fields: ConfigFields, config: AgentConfig): object {
  const derived: Partial<ConfigFields> = {
    imageServiceEndpoint: config.imageServiceEndpoint,
    claimRoot: config.claimRoot,
    nodeStatusReportFrequency: config.nodeStatusReportFrequencyMs,
    crashLoopBackOff: { maxContainerRestartPeriod: config.maxContainerRestartPeriodMs },
    socket: config.socket,
  };
  const header = { apiVersion: "agent/v1", kind: "AgentConfiguration" };
  return { ...header, ...written(AGENT_CONFIGURATION.level, { ...fields, ...derived }) };
}

/** In the order of declaration. */
function written(level: Level, values: Readonly<Record<string, unknown>>): object {
  const entries = Object.entries(level).flatMap(([key, field]) => {
    const value = values[key];
    if (value === undefined) return [];
    if (field.level !== undefined && isJsonObject(value))
      return [[key, written(field.level, value)] as const];
    // What is blank is left out of a file, and is its own text.
    return [[key, field.write(value) ?? value] as const];
  });
  return Object.fromEntries(entries);
}
