// Types of values of the agent's own configuration. Unlike in a manifest, "" is a value, and mostly a wrong one.

import { invalidAt } from "../api/decode/field-reader.ts";
import type { Message } from "../api/decode/field-errors.ts";
import { fieldOf, listOf } from "../api/schema/codec.ts";
import { filledText } from "../api/schema/values.ts";
import { ABSOLUTE_PATH_FORM, LABELS, pathError } from "../api/validation/validate-names.ts";
import { isTopicRoot } from "../protocol/mqtt-topics.ts";
import type { Field, Type } from "../api/schema/type.ts";
import { byteLength } from "../lib/short-text.ts";

/** The longest path of a unix socket that Linux accepts, in bytes. */
const SOCKET_PATH_MAX = 107;

export const text = fieldOf(filledText());
export const path = fieldOf(filledText(ABSOLUTE_PATH_FORM.check, ABSOLUTE_PATH_FORM.schema));
export const socketPath = fieldOf(filledText(socketPathError, ABSOLUTE_PATH_FORM.schema));
/** `unix:///path`. */
export const endpoint = fieldOf(filledText(endpointError, { pattern: "^unix:///" }));
export const labelValue = fieldOf(filledText(LABELS.value, LABELS.schema.additionalProperties));
/** One or two topic levels without wildcards. */
export const topicRoot = fieldOf(
  filledText((root) =>
    isTopicRoot(root) ? undefined : "must be one or two topic levels such as agent/v1",
  ),
);
/** A name, or a template of `${hostname}`, `${serial}`, `${machineId}`, `${mac}`. */
export const nodeName = fieldOf(filledText(nodeNameError));

function socketPathError(path: string): Message | undefined {
  const bytes = byteLength(path);
  if (bytes <= SOCKET_PATH_MAX) return pathError(path);
  return `must be at most ${SOCKET_PATH_MAX} bytes long, as a unix socket's path; it has ${bytes}`;
}

function endpointError(endpoint: string): Message | undefined {
  if (!endpoint.startsWith("unix://"))
    return "must be the address of a unix socket, such as unix:///run/containerd/containerd.sock";
  return socketPathError(endpoint.slice("unix://".length));
}

const TEMPLATE_WORDS = ["hostname", "serial", "machineId", "mac"];

function nodeNameError(name: string): Message | undefined {
  const words = [...name.matchAll(/\$\{([^}]*)\}/g)].map((match) => match[1] ?? "");
  const unknown = words.find((word) => !TEMPLATE_WORDS.includes(word));
  const known = TEMPLATE_WORDS.map((word) => `\${${word}}`).join(", ");
  if (unknown !== undefined)
    return `must not contain \${${unknown}}; a template may contain ${known}`;
  const plain = name.replaceAll(/\$\{[^}]*\}/g, "");
  if (plain.includes("$")) return `must not contain a stray "$"; a template may contain ${known}`;
  if (plain.length > 63) return "must be at most 63 characters long";
  if (words.length === 0 && !/[A-Za-z0-9]/.test(plain)) return "must contain a letter or a digit";
  return undefined;
}

/** At least one text; undefined if it is not written: an empty list would allow nothing, or everything. */
export function texts(about: string): Field<readonly string[] | undefined> {
  return fieldOf(listOf(filledText()))({
    about,
    keep: true,
    check: (list) => (list.length === 0 ? "must contain at least one text" : undefined),
    schema: { minItems: 1 },
  });
}

/** A bare `off` in a file is the boolean false of YAML 1.1. */
export const podStatus: Type<"retained" | "off"> = {
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

export const protocolVersion: Type<4 | 5> = {
  name: "integer",
  read: (at) => (at.value === 4 || at.value === 5 ? at.value : invalidAt(at, "must be 4 or 5")),
  write: (value) => value,
  schema: () => ({ enum: [4, 5, null] }),
};

const URL_SCHEMES = ["mqtt:", "mqtts:", "ws:", "wss:"];

/** The address of a broker. Its user and password are refused, and never repeated in an error, which may reach a log. */
export const brokerUrl: Type<string> = {
  name: "string",
  read({ findings, path, value }) {
    const written: unknown = typeof value === "string" ? value.replace(/\/\/.*@/, "//…@") : value;
    const error = brokerUrlError(value);
    if (error === undefined && typeof value === "string") return value;
    findings.invalid(path, written, error ?? "");
    return undefined;
  },
  write: (value) => value,
  schema: () => ({ type: ["string", "null"], pattern: "^(mqtts?|wss?)://[^@]+$" }),
};

function brokerUrlError(written: unknown): string | undefined {
  const url = typeof written === "string" ? URL.parse(written) : null;
  if (url === null || url.hostname === "")
    return "must be an address such as mqtt://broker.example:1883";
  if (!URL_SCHEMES.includes(url.protocol))
    return "must begin with mqtt://, mqtts://, ws:// or wss://";
  if (url.username === "" && url.password === "") return undefined;
  return "must not contain user or password; use mqtt.username and mqtt.passwordFile";
}
