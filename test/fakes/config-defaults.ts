// The configuration of an empty file, for tests that change a part of it.

import { decodeConfig, type AgentConfig, type MqttConfig } from "../../src/config/config.ts";

export { METERED_DEFAULTS } from "../../src/config/mqtt-config.ts";

function decoded(document: object): AgentConfig {
  const result = decodeConfig(document);
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.value;
}

export const CONFIG_DEFAULTS: AgentConfig = decoded({});

function mqttDefaults(): Omit<MqttConfig, "url"> {
  const { mqtt } = decoded({ mqtt: { url: "mqtt://broker" } });
  if (mqtt === undefined) throw new Error("MQTT is off");
  const { url: _url, ...rest } = mqtt;
  return rest;
}

export const MQTT_DEFAULTS = mqttDefaults();
