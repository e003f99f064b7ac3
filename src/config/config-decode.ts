// Reads a configuration document: strict, every error at once with its path, defaults filled in.

import { CONFIG_DEFAULTS, METERED_DEFAULTS, MQTT_DEFAULTS } from "./config-defaults.ts";
import {
  absolutePath,
  bool,
  brokerUrl,
  duration,
  integer,
  isTls,
  labelKeyError,
  labelValue,
  labelValueOrEmpty,
  nodeNameTemplate,
  oneOf,
  podStatus,
  socketPath,
  text,
  textList,
  topicRoot,
  unixEndpoint,
  type Check,
} from "./config-fields.ts";
import type { AgentConfig, MqttConfig, PodPolicy } from "./config.ts";
import { readGroups } from "./config-groups.ts";
import { readPodSettings } from "./config-pods.ts";
import { FieldReader, type ConfigFacts, type Mapping } from "./config-reader.ts";
import { failed, ok, type Result } from "../lib/result.ts";

const WHOLE = 2 ** 31 - 1;

/** A parsed configuration file (undefined or null = an empty one) as the agent's configuration. */
export function decodeConfig(document: unknown, facts: ConfigFacts = {}): Result<AgentConfig> {
  const reader = new FieldReader(facts);
  const root = reader.mapping(document, []);
  reader.value(root, ["apiVersion"], oneOf(["agent/v1"]));
  reader.value(root, ["kind"], oneOf(["AgentConfiguration"]));
  const config = readConfig(reader, root);
  return reader.errors.length > 0 ? failed(reader.errors) : ok(config);
}

function readConfig(reader: FieldReader, root: Mapping): AgentConfig {
  const back = reader.mapping(root["crashLoopBackOff"], ["crashLoopBackOff"]);
  const defaults = CONFIG_DEFAULTS;
  const runtime =
    reader.value(root, ["containerRuntimeEndpoint"], unixEndpoint) ??
    defaults.containerRuntimeEndpoint;
  const nodeName = reader.value(root, ["nodeName"], nodeNameTemplate);
  const resolvConf = reader.value(root, ["resolvConf"], absolutePath);
  const mqtt = readMqtt(reader, root["mqtt"]);
  const read = <T>(key: string, check: Check<T>, fallback: T): T =>
    reader.value(root, [key], check) ?? fallback;
  const own = {
    staticPodPath: read("staticPodPath", absolutePath, defaults.staticPodPath),
    stateDir: read("stateDir", absolutePath, defaults.stateDir),
    podLogsDir: read("podLogsDir", absolutePath, defaults.podLogsDir),
    socket: read("socket", socketPath, defaults.socket),
    trustPath: read("trustPath", absolutePath, defaults.trustPath),
  };
  return {
    ...own,
    containerRuntimeEndpoint: runtime,
    imageServiceEndpoint: read("imageServiceEndpoint", unixEndpoint, runtime),
    ...(nodeName === undefined ? {} : { nodeName }),
    instance: read("instance", labelValue, defaults.instance),
    nodeLabels: readLabels(reader, root["nodeLabels"]),
    maxPods: read("maxPods", integer({ min: 1, max: WHOLE }), defaults.maxPods),
    cgroupDriver: read(
      "cgroupDriver",
      oneOf(["auto", "systemd", "cgroupfs"]),
      defaults.cgroupDriver,
    ),
    cgroupRoot: read("cgroupRoot", absolutePath, defaults.cgroupRoot),
    ...(resolvConf === undefined ? {} : { resolvConf }),
    maxContainerRestartPeriodMs:
      reader.value(
        back,
        ["crashLoopBackOff", "maxContainerRestartPeriod"],
        duration({ min: 1000, max: 300_000 }),
      ) ?? defaults.maxContainerRestartPeriodMs,
    nodeStatusReportFrequencyMs: read(
      "nodeStatusReportFrequency",
      duration({ min: 10_000, max: 7 * 86_400_000 }),
      (mqtt?.profile === "metered" ? METERED_DEFAULTS : defaults).nodeStatusReportFrequencyMs,
    ),
    logLevel: read("logLevel", oneOf(["debug", "info", "warn", "error"]), defaults.logLevel),
    setClock: read("setClock", bool, defaults.setClock),
    ...readPodSettings(reader, root, own),
    ...(mqtt === undefined ? {} : { mqtt }),
  };
}

/** Every field is checked, but without `url` there is no MQTT. */
function readMqtt(reader: FieldReader, written: unknown): MqttConfig | undefined {
  const mqtt = reader.mapping(written, ["mqtt"]);
  const read = <T>(key: string, check: Check<T>): T | undefined =>
    reader.value(mqtt, ["mqtt", key], check);
  const url = read("url", brokerUrl);
  const optional = {
    username: read("username", text),
    passwordFile: read("passwordFile", absolutePath),
    caFile: read("caFile", absolutePath),
    certFile: read("certFile", absolutePath),
    keyFile: read("keyFile", absolutePath),
    alpn: read("alpn", textList),
    fleet: read("fleet", labelValue),
  };
  const profile = read("profile", oneOf(["normal", "metered"])) ?? MQTT_DEFAULTS.profile;
  const defaults = { ...MQTT_DEFAULTS, ...(profile === "metered" ? METERED_DEFAULTS : {}) };
  const podPolicy = readPodPolicy(reader, mqtt["podPolicy"]);
  const groups = readGroups(reader, mqtt["groups"]);
  const rest = {
    profile,
    requireSignature: read("requireSignature", bool) ?? defaults.requireSignature,
    requireDigest: read("requireDigest", bool) ?? defaults.requireDigest,
    ...(podPolicy === undefined ? {} : { podPolicy }),
    ...(groups === undefined ? {} : { groups }),
    topicRoot: read("topicRoot", topicRoot) ?? MQTT_DEFAULTS.topicRoot,
    keepAliveSeconds:
      read("keepAliveSeconds", integer({ min: 1, max: 65_535 })) ?? defaults.keepAliveSeconds,
    reconnectMaxMs:
      read("reconnectMax", duration({ min: 1000, max: 86_400_000 })) ??
      MQTT_DEFAULTS.reconnectMaxMs,
    podStatus: read("podStatus", podStatus) ?? defaults.podStatus,
    protocolVersion: read("protocolVersion", oneOf([4, 5])) ?? MQTT_DEFAULTS.protocolVersion,
  };
  if (url === undefined) return undefined;
  checkTls(reader, url, optional);
  return { url, ...withoutUndefined(optional), ...rest };
}

function readPodPolicy(reader: FieldReader, written: unknown): PodPolicy | undefined {
  if (written === undefined || written === null) return undefined;
  const keys = ["mqtt", "podPolicy"];
  const policy = reader.mapping(written, keys);
  const read = <T>(key: string, check: Check<T>): T | undefined =>
    reader.value(policy, [...keys, key], check);
  const profile = read("profile", oneOf(["baseline", "privileged"]));
  if (profile === undefined && policy["profile"] === undefined)
    reader.refuse([...keys, "profile"], "Required", "must be baseline or privileged");
  const lists = {
    registries: read("registries", textList),
    hostPaths: read("hostPaths", textList),
    devices: read("devices", textList),
  };
  return { profile: profile ?? "baseline", ...withoutUndefined(lists) };
}

/** TLS settings beside a plain address would be ignored in silence, half a client certificate as well. */
function checkTls(
  reader: FieldReader,
  url: string,
  given: Readonly<Record<"caFile" | "certFile" | "keyFile" | "alpn", unknown>>,
): void {
  for (const key of ["caFile", "certFile", "keyFile", "alpn"] as const) {
    if (given[key] === undefined || isTls(url)) continue;
    reader.refuse(["mqtt", key], "Invalid", "needs an address with TLS (mqtts:// or wss://)");
  }
  if (given.alpn !== undefined && url.startsWith("wss:"))
    reader.refuse(["mqtt", "alpn"], "Invalid", "needs mqtts://; a WebSocket speaks http/1.1");
  if (given.certFile !== undefined && given.keyFile === undefined)
    reader.refuse(["mqtt", "keyFile"], "Required", "is needed beside mqtt.certFile");
  if (given.keyFile !== undefined && given.certFile === undefined)
    reader.refuse(["mqtt", "certFile"], "Required", "is needed beside mqtt.keyFile");
}

function readLabels(reader: FieldReader, written: unknown): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  for (const [key, value] of Object.entries(reader.freeMapping(written, ["nodeLabels"]))) {
    const wrong = labelKeyError(key);
    if (wrong !== undefined) reader.refuse(["nodeLabels", key], "Invalid", wrong);
    const checked = labelValueOrEmpty(value);
    if (checked.ok) labels[key] = checked.value;
    else reader.refuse(["nodeLabels", key], "Invalid", checked.message);
  }
  return labels;
}

type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(fields: T): Present<T> {
  const present: Present<T> = {};
  return Object.assign(
    present,
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
  );
}
