// `mqtt` of the agent's configuration: the broker, the node's place in the fleet, and what documents may ask for.

import { forbidden, required, type Node, invalidAt } from "../api/decode/field-reader.ts";
import {
  boolean,
  fieldOf,
  objectType,
  oneOf,
  type Decoded,
  type ObjectOf,
  listOf,
} from "../api/schema/codec.ts";
import { between, duration, filledText, shortList } from "../api/schema/values.ts";
import { brokerUrl, isTls, MAX_URLS } from "../protocol/broker-url.ts";
import { GROUPS } from "../protocol/groups.ts";
import { labelValue, path, text } from "./config-values.ts";
import { isTopicRoot } from "../protocol/mqtt-topics.ts";
import type { Field, Type } from "../api/schema/type.ts";

/** One or two topic levels without wildcards. */
const topicRoot = fieldOf(
  filledText((root) =>
    isTopicRoot(root) ? undefined : "must be one or two topic levels such as agent/v1",
  ),
);

/** At least one text; undefined if it is not written: an empty list would allow nothing, or everything. */
function texts(about: string): Field<readonly string[] | undefined> {
  return fieldOf(listOf(filledText()))({
    about,
    keep: true,
    check: (list) => (list.length === 0 ? "must contain at least one text" : undefined),
    schema: { minItems: 1 },
  });
}

/** A bare `off` in a file is the boolean false of YAML 1.1. */
const podStatus: Type<"retained" | "off"> = {
  name: "string",
  read(at) {
    if (at.value === "retained") return "retained";
    return at.value === "off" || at.value === false
      ? "off"
      : invalidAt(at, "must be retained or off");
  },
  write: (value) => value,
  schema: () => ({ enum: ["retained", "off", false, null] }),
};

const protocolVersion: Type<4 | 5> = {
  name: "integer",
  read: (at) => (at.value === 4 || at.value === 5 ? at.value : invalidAt(at, "must be 4 or 5")),
  write: (value) => value,
  schema: () => ({ enum: [4, 5, null] }),
};

const POD_POLICY = objectType("PodPolicy", {
  profile: oneOf(["baseline", "privileged"], {
    about:
      "baseline refuses what gives a container power over the node; privileged allows it, as manifest files do.",
    required: "baseline or privileged",
  }),
  registries: texts(
    "Prefixes of image references, complete with registry, from which images may come. Default: any.",
  ),
  hostPaths: texts(
    "Host paths, each with everything below it, that may be mounted. Default: as the profile defines.",
  ),
  devices: texts(
    "Device paths and device resources that may be used. Default: as the profile defines.",
  ),
});
export type PodPolicy = Decoded<typeof POD_POLICY>;

const FIELDS = {
  url: fieldOf(brokerUrl)({
    about:
      "Address of the broker: mqtt://, mqtts://, ws:// or wss://, without user and password. Without it, the agent does not use MQTT.",
  }),
  alternateUrls: fieldOf(shortList(brokerUrl, MAX_URLS))({
    about:
      "Further addresses of the same broker, tried in turn when one cannot be reached; with TLS if url has it.",
    keep: true,
  }),
  username: text({ about: "User name at the broker." }),
  passwordFile: path({ about: "File that contains the password for the broker." }),
  caFile: path({ about: "PEM file of the CAs that are trusted. Default: the system's." }),
  certFile: path({ about: "PEM file of the client certificate; needs keyFile." }),
  keyFile: path({ about: "PEM file of the client certificate's private key; needs certFile." }),
  alpn: texts("ALPN protocol names to offer in the TLS handshake, such as x-amzn-mqtt-ca."),
  topicRoot: topicRoot({
    about: "One or two topic levels that every topic begins with.",
    default: "agent/v1",
  }),
  fleet: labelValue({ about: "Name of the fleet; documents and commands may target it." }),
  profile: oneOf(["normal", "metered"], {
    about:
      "metered saves bytes: other defaults for keepAliveSeconds, podStatus and nodeStatusReportFrequency.",
    default: "normal",
  }),
  keepAliveSeconds: fieldOf(between(1, 65_535))({
    about: "MQTT keep-alive in seconds, 1 to 65535. Default: 60, or 1140 with profile metered.",
  }),
  reconnectMax: fieldOf(duration(1000, 86_400_000))({
    about: "Longest pause between two attempts to connect, 1s to 24h.",
    default: 300_000,
  }),
  podStatus: fieldOf(podStatus)({
    about:
      "Whether the status of each pod is published to a retained topic of its own. Default: retained, or off with profile metered.",
  }),
  protocolVersion: fieldOf(protocolVersion)({
    about: "5, with fallback to 4 (MQTT 3.1.1) if the broker refuses it; or 4.",
    default: 5,
  }),
  requireSignature: boolean({
    about: "Accept signed documents and commands only, even before the first key is in trustPath.",
    default: false,
  }),
  requireDigest: boolean({
    about: "Accept documents only if they name every image by digest.",
    default: false,
  }),
  podPolicy: fieldOf(POD_POLICY)({
    about:
      "What pods of documents may ask of the node. Default: baseline, or privileged once signatures are required.",
  }),
  groups: fieldOf(GROUPS)({
    about: "Groups of the node, beside those that its document lists. Each name once.",
    keep: true,
  }),
  allowCommands: fieldOf(
    listOf(filledText((verb) => (verb === "exec" ? undefined : "must be exec"))),
  )({
    about:
      "Commands that are obeyed beside those that always are: exec lets operators open sessions with pods over the broker. Signed commands only.",
  }),
};
export type MqttFields = ObjectOf<typeof FIELDS>;
export const MQTT = objectType("MqttConfiguration", FIELDS, { check: checkTls });

/** What `profile: metered` changes where nothing else is written. */
export const METERED_DEFAULTS = {
  keepAliveSeconds: 1140,
  podStatus: "off",
  nodeStatusReportFrequencyMs: 86_400_000,
} as const;

const NORMAL_DEFAULTS = { keepAliveSeconds: 60, podStatus: "retained" } as const;

/** With the defaults that depend on other fields. */
function completeMqtt(url: string, { reconnectMax, ...fields }: MqttFields) {
  const usual = fields.profile === "metered" ? METERED_DEFAULTS : NORMAL_DEFAULTS;
  return {
    ...fields,
    url,
    reconnectMaxMs: reconnectMax,
    keepAliveSeconds: fields.keepAliveSeconds ?? usual.keepAliveSeconds,
    podStatus: fields.podStatus ?? usual.podStatus,
  };
}
/** `ca`: PEM text of the CAs that are trusted instead of those of `caFile`; only by a document. */
export type MqttConfig = ReturnType<typeof completeMqtt> & { readonly ca?: string };

/** {} = no MQTT, whatever else is written. */
export function mqttField(fields: MqttFields | undefined): { readonly mqtt?: MqttConfig } {
  if (fields?.url === undefined) return {};
  return { mqtt: completeMqtt(fields.url, fields) };
}

/** TLS settings beside a plain address would have no effect, and half a client certificate neither. */
function checkTls({ url, alternateUrls, alpn, certFile, keyFile, caFile }: MqttFields, node: Node) {
  if (url === undefined) return;
  if (alternateUrls?.some((other) => isTls(other) !== isTls(url)) === true)
    forbidden(node, "alternateUrls", "needs addresses with TLS if url has it, and only then");
  for (const [key, value] of Object.entries({ caFile, certFile, keyFile, alpn }))
    if (value !== undefined && !isTls(url))
      forbidden(node, key, "needs an address with TLS: mqtts:// or wss://");
  if (alpn !== undefined && url.startsWith("wss:"))
    forbidden(node, "alpn", "needs mqtts://; a WebSocket always negotiates http/1.1");
  if (certFile !== undefined && keyFile === undefined)
    required(node, "keyFile", "the key of mqtt.certFile");
  if (keyFile !== undefined && certFile === undefined)
    required(node, "certFile", "the certificate of mqtt.keyFile");
}
