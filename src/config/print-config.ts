// The configuration in force as a file would have it: every field with its value, also where that is the default.

import type { Level } from "../api/schema/type.ts";
import { isJsonObject } from "../lib/json.ts";
import { HIDDEN } from "../lib/short-text.ts";
import { AGENT_CONFIGURATION, type AgentConfig, type ConfigFields } from "./config.ts";

/** Without what proves the node to the server of its manifests. All other secrets are in files of their own. */
export function withoutHeaderValues<Config extends Pick<ConfigFields, "staticPodURLHeader">>(
  config: Config,
): Config {
  const hidden = Object.entries(config.staticPodURLHeader ?? {}).map(
    ([name, values]) => [name, values.map(() => HIDDEN)] as const,
  );
  return { ...config, staticPodURLHeader: Object.fromEntries(hidden) };
}

/** Without fields that have no value, such as `nodeName` where the machine gives it, and without secrets. */
export function configInForce(fields: ConfigFields, config: AgentConfig): object {
  const { minAgeMs, maxPerPodContainer, maxContainers } = config.containerGC;
  const derived: Partial<ConfigFields> = {
    imageServiceEndpoint: config.imageServiceEndpoint,
    claimRoot: config.claimRoot,
    nodeStatusReportFrequency: config.nodeStatusReportFrequencyMs,
    crashLoopBackOff: { maxContainerRestartPeriod: config.maxContainerRestartPeriodMs },
    socket: config.socket,
    containerGC: { minAge: minAgeMs, maxPerPodContainer, maxContainers },
    ...pulls(fields, config),
    ...mqtt(fields, config),
  };
  const header = { apiVersion: "agent/v1", kind: "AgentConfiguration" };
  const shown = withoutHeaderValues({ ...fields, ...derived });
  return { ...header, ...written(AGENT_CONFIGURATION.level, shown) };
}

/** No maxParallelImagePulls is no limit. */
function pulls(
  { serializeImagePulls }: ConfigFields,
  { pullLimits: { parallel } }: AgentConfig,
): Partial<ConfigFields> {
  const isSerial = serializeImagePulls ?? parallel === 1;
  const limit = Number.isFinite(parallel) ? { maxParallelImagePulls: parallel } : {};
  return { serializeImagePulls: isSerial, ...limit };
}

/** What depends on the profile; without a URL nothing of MQTT is in force. */
function mqtt({ mqtt: written }: ConfigFields, { mqtt: own }: AgentConfig): Partial<ConfigFields> {
  if (written === undefined || own === undefined) return {};
  const { keepAliveSeconds, podStatus } = own;
  return { mqtt: { ...written, keepAliveSeconds, podStatus } };
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
