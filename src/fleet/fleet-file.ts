// fleet.yaml: how to reach the broker, and which nodes and groups there are.

import { decodeConfig, type MqttConfig } from "../config/config.ts";
import { isTopicName } from "../protocol/mqtt-topics.ts";
import { failed, ok, type FieldError, type Result } from "../lib/result.ts";
import { type JsonObject, isJsonObject } from "../lib/json.ts";

export interface FleetFile {
  /** As written, the same names as in a node's configuration. */
  readonly mqtt: JsonObject;
  /** Sorted; undefined = the file names none. */
  readonly nodes: readonly string[] | undefined;
  readonly groups: Readonly<Record<string, readonly string[]>>;
}

export const NO_FLEET_FILE: FleetFile = { mqtt: {}, nodes: undefined, groups: {} };

const KNOWN = ["apiVersion", "kind", "mqtt", "nodes", "groups"];

export function readFleetFile(value: unknown): Result<FleetFile> {
  if (!isJsonObject(value)) return failed([wrong("", "must hold mqtt, nodes and groups")]);
  const { mqtt, nodes, groups } = value as { readonly [key: string]: unknown };
  const errors = Object.keys(value)
    .filter((key) => !KNOWN.includes(key))
    .map((key) => wrong(key, `unknown field; there are ${KNOWN.join(", ")}`));
  if (mqtt !== undefined && !isJsonObject(mqtt)) errors.push(wrong("mqtt", "must be an object"));
  const listed = nodes === undefined ? undefined : names(nodes, "nodes", errors);
  const members = readGroups(groups, errors);
  if (errors.length > 0) return failed(errors);
  const all = [...(listed ?? []), ...Object.values(members).flat()];
  return ok({
    mqtt: isJsonObject(mqtt) ? mqtt : {},
    nodes: all.length === 0 ? undefined : [...new Set(all)].toSorted(),
    groups: members,
  });
}

function readGroups(
  written: unknown,
  errors: FieldError[],
): Readonly<Record<string, readonly string[]>> {
  if (written === undefined) return {};
  if (!isJsonObject(written)) {
    errors.push(wrong("groups", "must be an object such as kiosks: [pi-1, pi-2]"));
    return {};
  }
  const entries = Object.entries(written).map(([group, list]) => {
    if (!isTopicName(group)) errors.push(wrong(`groups.${group}`, "is no name of a group"));
    return [group, names(list, `groups.${group}`, errors)] as const;
  });
  return Object.fromEntries(entries);
}

function names(written: unknown, path: string, errors: FieldError[]): readonly string[] {
  const list: readonly unknown[] = Array.isArray(written) ? written : [undefined];
  const good = list.filter((name) => typeof name === "string" && isTopicName(name));
  if (good.length !== list.length) errors.push(wrong(path, "must be a list of names of nodes"));
  return good.map(String);
}

/** The connection: flags override the file. Checked by the rules of a node's configuration. */
export function mqttOf(file: FleetFile, flags: JsonObject): Result<MqttConfig> {
  const mqtt = { ...file.mqtt, ...flags };
  const decoded = decodeConfig({ mqtt });
  if (!decoded.ok) return failed(decoded.errors);
  if (decoded.value.mqtt !== undefined) return ok(decoded.value.mqtt);
  const message = "which broker? name it with --url, or as mqtt.url in fleet.yaml";
  return failed([wrong("", message)]);
}

function wrong(path: string, message: string): FieldError {
  return { path, code: "Invalid", message };
}
