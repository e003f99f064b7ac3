import { describe, expect, test } from "bun:test";

import { Findings } from "../../../src/api/decode/field-errors.ts";
import { configWith, settingsError } from "../../../src/config/remote-settings.ts";
import { decodeConfig, readConfigFields, type ConfigFields } from "../../../src/config/config.ts";
import {
  MAX_CA_BYTES,
  NO_SETTINGS,
  readKeptSettings,
  REMOTE_SETTINGS,
  settingsText,
} from "../../../src/protocol/remote-settings.ts";

const PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const TLS = "mqtts://new.example";

function errorsOf(value: unknown): readonly string[] {
  const findings = new Findings({ unknownFields: "warn" });
  REMOTE_SETTINGS.read({ findings, path: ["config"], value });
  return findings.errors.map(({ path, message }) => `${path}: ${message}`);
}

function fieldsOf(mqtt: object, more: object = {}): ConfigFields {
  const read = readConfigFields({ ...more, mqtt });
  if (!read.ok) throw new Error(JSON.stringify(read.errors));
  return read.value;
}

describe("what a document may set", () => {
  test("is the address, the CA, keep-alive, profile and groups", () => {
    const mqtt = {
      url: TLS,
      alternateUrls: ["mqtts://second.example:8884"],
      ca: `# the fleet's\n${PEM}${PEM}`,
      keepAliveSeconds: 20,
      profile: "metered",
      groups: [{ name: "kiosks", priority: 3 }],
    };
    expect(errorsOf({ mqtt })).toEqual([]);
    expect(errorsOf({})).toEqual([]);
  });

  const other = Object.keys(configFieldsOf()).filter((name) => name !== "mqtt");
  test.each(other)("is not %s", (name) => {
    expect(errorsOf({ [name]: "x" })).toEqual([
      expect.stringContaining(`config.${name}: no document sets this field`),
    ]);
  });

  const ofMqtt = ["username", "passwordFile", "caFile", "certFile", "keyFile", "alpn", "topicRoot"];
  const ofTrust = ["fleet", "requireSignature", "requireDigest", "podPolicy", "allowCommands"];
  const others = ["reconnectMax", "podStatus", "protocolVersion", "unheardOf"];
  test.each([...ofMqtt, ...ofTrust, ...others])("is not mqtt.%s", (name) => {
    expect(errorsOf({ mqtt: { [name]: "x" } })).toEqual([
      expect.stringContaining(`config.mqtt.${name}: no document sets this field`),
    ]);
  });

  test.each<[string, unknown, string]>([
    [
      "a key",
      `${PEM}-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n`,
      "never comes",
    ],
    [
      "a key of another kind",
      "-----BEGIN EC PRIVATE KEY-----\nAA\n-----END EC PRIVATE KEY-----",
      "never",
    ],
    ["no certificate", "/etc/ssl/ca.pem", "must hold certificates in PEM"],
    ["something beside", `${PEM}hello`, "must hold nothing beside"],
    ["another block", PEM.replaceAll("CERTIFICATE", "X509 CRL"), "must hold certificates only"],
    ["too much", PEM.repeat(MAX_CA_BYTES / 50), "must have at most 16384 bytes"],
  ])("is no CA with %s", (_name, ca, message) => {
    const errors = errorsOf({ mqtt: { ca } });
    expect(errors).toEqual([expect.stringContaining(message) as string]);
    expect(errors.join()).not.toContain("AAAA");
  });

  test.each<[string, object, string]>([
    ["an address with a password", { url: "mqtts://a:b@c" }, "must not contain user or password"],
    ["addresses with and without TLS", { url: TLS, alternateUrls: ["mqtt://b"] }, "alternateUrls"],
    ["a CA beside a plain address", { url: "mqtt://b", ca: PEM }, "config.mqtt.ca"],
    ["a group twice", { groups: [{ name: "a" }, { name: "a" }] }, "Duplicate"],
  ])("is no %s", (_name, mqtt, message) => {
    expect(errorsOf({ mqtt })).toEqual([expect.stringContaining(message)]);
  });
});

describe("what fits a device", () => {
  test.each<[string, object, object, string | undefined]>([
    ["another broker", { url: "mqtt://a" }, { url: "mqtt://b" }, undefined],
    ["TLS where there was none", { url: "mqtt://a" }, { url: TLS, ca: PEM }, undefined],
    ["no TLS where there was", { url: "mqtts://a" }, { url: "mqtt://b" }, "needs mqtts://"],
    ["a CA for a plain address", { url: "mqtt://a" }, { ca: PEM }, "config.mqtt.ca"],
    ["ALPN over WebSocket", { url: "mqtts://a", alpn: ["x"] }, { url: "wss://b" }, "mqtt.alpn"],
    ["plain alternates", { url: "mqtts://a" }, { alternateUrls: ["mqtt://b"] }, "alternateUrls"],
    ["no broker of its own", {}, { url: "mqtt://b" }, "no broker in its own"],
  ])("%s", (_name, own, mqtt, message) => {
    const error = settingsError(fieldsOf(own), { mqtt });
    if (message === undefined) expect(error).toBeUndefined();
    else expect(error).toContain(message);
  });
});

describe("the configuration in force", () => {
  const OWN = {
    url: "mqtts://a",
    alternateUrls: ["mqtts://a2"],
    caFile: "/etc/ca.pem",
    passwordFile: "/etc/password",
    groups: [{ name: "own" }],
  };

  test("is the device's own without settings", () => {
    const own = decodeConfig({ mqtt: OWN });
    if (!own.ok) throw new Error("invalid");
    expect(configWith(fieldsOf(OWN), NO_SETTINGS)).toEqual(own.value);
  });

  test("has what the settings say in place of the device's, and the rest from the device", () => {
    const { mqtt } = configWith(fieldsOf(OWN), { mqtt: { url: TLS, ca: PEM, groups: [] } });
    expect(mqtt).toMatchObject({ url: TLS, ca: PEM, groups: [], passwordFile: "/etc/password" });
    expect(mqtt).not.toHaveProperty("caFile");
    expect(mqtt).not.toHaveProperty("alternateUrls");
  });

  test("follows the profile in what depends on it", () => {
    const config = configWith(fieldsOf(OWN), { mqtt: { profile: "metered" } });
    expect(config.mqtt).toMatchObject({ keepAliveSeconds: 1140, podStatus: "off" });
    expect(config.nodeStatusReportFrequencyMs).toBe(86_400_000);
    const own = configWith(fieldsOf({ ...OWN, keepAliveSeconds: 7 }), {
      mqtt: { profile: "metered" },
    });
    expect(own.mqtt?.keepAliveSeconds).toBe(7);
  });
});

test("settings are stored as they are read, and what another version has written beside them is passed over", () => {
  const settings = { mqtt: { url: TLS, groups: [] } };
  expect(readKeptSettings(JSON.parse(settingsText(settings)))).toEqual(settings);
  expect(readKeptSettings({ mqtt: { url: TLS, later: 1 }, more: {} })).toEqual({
    mqtt: { url: TLS },
  });
  expect(readKeptSettings(undefined)).toEqual(NO_SETTINGS);
});

function configFieldsOf(): object {
  return fieldsOf({ url: "mqtt://a" });
}
