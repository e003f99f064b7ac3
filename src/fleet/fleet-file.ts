// fleet.yaml: how to reach the broker, and which nodes and groups there are.

import { checked, fieldOf, list, listOf, map, objectType, text } from "../api/schema/codec.ts";
import { readValue, type ReadOptions } from "../api/schema/read-value.ts";
import { anything } from "../api/schema/values.ts";
import { decodeConfig, type MqttConfig } from "../config/config.ts";
import { isTopicName } from "../protocol/mqtt-topics.ts";
import { failed, ok, type Result } from "../lib/result.ts";
import type { JsonObject } from "../lib/json.ts";

const node = checked(text, (name) =>
  isTopicName(name) ? undefined : "must be the name of a node",
);

const FLEET = objectType("FleetConfiguration", {
  apiVersion: fieldOf(anything)({ about: "Version of the format." }),
  kind: fieldOf(anything)({ about: "Kind of the file." }),
  mqtt: map(anything, { about: "The broker, as in a node's configuration." }),
  nodes: list(node, { about: "Names of nodes." }),
  groups: map(listOf(node), {
    about: "Members of each group, such as kiosks: [pi-1, pi-2].",
    key: (name) => (isTopicName(name) ? undefined : "must be the name of a group"),
  }),
});

export interface FleetFile {
  /** As written, with the names of a node's configuration. */
  readonly mqtt: JsonObject;
  /** Sorted; undefined = the file names none. */
  readonly nodes: readonly string[] | undefined;
  readonly groups: Readonly<Record<string, readonly string[]>>;
}

export const NO_FLEET_FILE: FleetFile = { mqtt: {}, nodes: undefined, groups: {} };

export function readFleetFile(value: unknown, options: ReadOptions = {}): Result<FleetFile> {
  const read = readValue(FLEET, value, options);
  if (!read.ok) return failed(read.errors);
  const { mqtt, nodes, groups } = read.value;
  const all = [...nodes, ...Object.values(groups).flat()];
  return ok({ mqtt, nodes: all.length === 0 ? undefined : [...new Set(all)].toSorted(), groups });
}

/** The connection: flags override the file. Checked by the rules of a node's configuration. */
export function mqttOf(file: FleetFile, flags: JsonObject): Result<MqttConfig> {
  const mqtt = { ...file.mqtt, ...flags };
  const decoded = decodeConfig({ mqtt });
  if (!decoded.ok) return failed(decoded.errors);
  if (decoded.value.mqtt !== undefined) return ok(decoded.value.mqtt);
  const message = "which broker? name it with --url, or as mqtt.url in fleet.yaml";
  return failed([{ path: "", code: "Required", message }]);
}
