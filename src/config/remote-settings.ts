// The configuration in force: that of the device, and over it the settings of a signed document.

import { isTls } from "../protocol/broker-url.ts";
import type { RemoteSettings } from "../protocol/remote-settings.ts";
import { withoutUndefined } from "../lib/json.ts";
import { completeConfig, type AgentConfig, type ConfigFields } from "./config.ts";
import type { MqttFields } from "./mqtt-config.ts";

/** What of the settings does not fit the device: a sentence with the field; undefined = nothing. */
export function settingsError(
  { mqtt: own }: Pick<ConfigFields, "mqtt">,
  { mqtt }: RemoteSettings,
): string | undefined {
  if (own?.url === undefined) return "config: this node has no broker in its own configuration";
  const url = mqtt.url ?? own.url;
  if (isTls(own.url) && !isTls(url))
    return "config.mqtt.url: needs mqtts:// or wss://, because the address of the device has TLS";
  if (mqtt.alternateUrls?.some((other) => isTls(other) !== isTls(url)) === true)
    return "config.mqtt.alternateUrls: needs addresses with TLS if the address of the broker has it, and only then";
  if (mqtt.ca !== undefined && !isTls(url))
    return "config.mqtt.ca: needs an address with TLS, mqtts:// or wss://";
  if (own.alpn !== undefined && !url.startsWith("mqtts:"))
    return "config.mqtt.url: needs mqtts://, because mqtt.alpn is configured at the device";
  return undefined;
}

/** Each field that the settings have replaces that of the device. The settings fit (`settingsError`). */
export function configWith(fields: ConfigFields, settings: RemoteSettings): AgentConfig {
  const config = completeConfig(fieldsWith(fields, settings));
  const { ca } = settings.mqtt;
  return config.mqtt === undefined || ca === undefined
    ? config
    : { ...config, mqtt: { ...config.mqtt, ca } };
}

/** The same as a file would have it, but for `ca`. */
export function fieldsWith(fields: ConfigFields, { mqtt }: RemoteSettings): ConfigFields {
  if (fields.mqtt?.url === undefined) return fields;
  const { ca, url, ...rest } = mqtt;
  const { alternateUrls, caFile, ...own } = fields.mqtt;
  const replaced: MqttFields = {
    ...own,
    // Addresses of another broker, and CAs that are replaced.
    ...withoutUndefined({
      alternateUrls: url === undefined ? alternateUrls : undefined,
      caFile: ca === undefined ? caFile : undefined,
      url,
    }),
    ...withoutUndefined(rest),
  };
  return { ...fields, mqtt: replaced };
}
