// Settings of the agent itself that a signed document may set: `config`. Every other field is refused by its name: what
// proves the node to others, and what a document may ask for, is decided at the device.

import { type Place } from "../api/decode/field-reader.ts";
import { fieldOf, judged, objectType, oneOf, text, type Decoded } from "../api/schema/codec.ts";
import { readLeniently } from "../api/schema/read-value.ts";
import type { Type } from "../api/schema/type.ts";
import { between, shortList } from "../api/schema/values.ts";
import { canonicalJson, isJsonObject } from "../lib/json.ts";
import { brokerUrl, isTls, MAX_URLS } from "./broker-url.ts";
import { GROUPS } from "./groups.ts";

/** Several CAs, also while one replaces another. */
export const MAX_CA_BYTES = 16 * 1024;
const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g;

/** Certificates in PEM and nothing else. Whether each can be read is judged by the node. */
const certificates = judged(text, (pem, { findings, path }) => {
  const error = certificatesError(pem);
  // The text is not repeated: a key in it must not reach a log.
  if (error !== undefined) findings.invalid(path, "…", error);
});

function certificatesError(pem: string): string | undefined {
  if (pem.length > MAX_CA_BYTES) return `must have at most ${MAX_CA_BYTES} bytes`;
  if (/PRIVATE KEY/.test(pem))
    return "must hold certificates only; a key never comes by a document, put it on the device";
  const blocks = [...pem.matchAll(BLOCK)];
  if (blocks.length === 0) return "must hold certificates in PEM";
  if (blocks.some(([, kind]) => kind !== "CERTIFICATE")) return "must hold certificates only";
  const rest = pem.replaceAll(BLOCK, "").replaceAll(/^#.*$/gm, "").trim();
  return rest === "" ? undefined : "must hold nothing beside certificates in PEM";
}

const ONLY_AT_DEVICE =
  "no document sets this field: write it into the configuration at the device, or leave it out";

/** An object of which a document may set no other field. */
function closed<T>(type: Type<T> & { readonly level: object }): Type<T> {
  const known = new Set(Object.keys(type.level));
  return {
    ...type,
    read(at) {
      refuseOthers(at, known);
      return type.read(at);
    },
    schema: () => type.schema("refuse"),
  };
}

function refuseOthers({ findings, path, value }: Place, known: ReadonlySet<string>): void {
  if (!isJsonObject(value)) return;
  for (const key of Object.keys(value))
    if (!known.has(key)) findings.fail([...path, key], "Forbidden", ONLY_AT_DEVICE);
}

const MQTT_SETTINGS = objectType(
  "RemoteMqttSettings",
  {
    url: fieldOf(brokerUrl)({
      about: "Address of the broker, without user and password. Default: that of the device.",
    }),
    alternateUrls: fieldOf(shortList(brokerUrl, MAX_URLS))({
      about:
        "Further addresses of the same broker, tried in turn when one cannot be reached. Default: those of the device, or none beside a url.",
      keep: true,
    }),
    ca: fieldOf(certificates)({
      about:
        "Certificates of the CAs that are trusted instead of those of the device, PEM. Default: those of the device.",
    }),
    keepAliveSeconds: fieldOf(between(1, 65_535))({
      about: "MQTT keep-alive in seconds. Default: that of the device.",
    }),
    profile: oneOf(["normal", "metered"], {
      about: "metered saves bytes. Default: that of the device.",
    }),
    groups: fieldOf(GROUPS)({
      about:
        "Groups of the node, instead of those of its configuration and beside those that its document lists.",
      keep: true,
    }),
  },
  {
    check({ url, alternateUrls = [], ca }, { findings, path }) {
      if (url !== undefined && alternateUrls.some((other) => isTls(other) !== isTls(url)))
        findings.fail(
          [...path, "alternateUrls"],
          "Forbidden",
          "needs addresses with TLS if url has it, and only then",
        );
      if (ca !== undefined && url !== undefined && !isTls(url))
        findings.fail(
          [...path, "ca"],
          "Forbidden",
          "needs an address with TLS: mqtts:// or wss://",
        );
    },
  },
);

export const REMOTE_SETTINGS = closed(
  objectType("RemoteSettings", {
    mqtt: fieldOf(closed(MQTT_SETTINGS))({ about: "Connection to the broker.", default: {} }),
  }),
);
export type RemoteSettings = Decoded<typeof REMOTE_SETTINGS>;

/** The settings of the device alone. */
export const NO_SETTINGS: RemoteSettings = { mqtt: {} };

/** The same for the same content, however it is written. */
export function settingsText(settings: RemoteSettings): string {
  return canonicalJson(REMOTE_SETTINGS.write(settings));
}

/** As stored before: what another version of the agent has written beside it is passed over. */
export function readKeptSettings(written: unknown): RemoteSettings {
  return readLeniently(REMOTE_SETTINGS, written ?? {}) ?? NO_SETTINGS;
}
