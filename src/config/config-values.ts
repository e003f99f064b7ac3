// Types of values that several fields of the configuration share: paths, sockets, label values, the template of
// nodeName. Unlike in a manifest, "" is a value, and mostly a wrong one.

import type { Message } from "../api/decode/field-errors.ts";
import { fieldOf } from "../api/schema/codec.ts";
import { filledText } from "../api/schema/values.ts";
import { ABSOLUTE_PATH_FORM, LABELS, pathError } from "../api/validation/validate-names.ts";
import { byteLength } from "../lib/short-text.ts";

/** The longest path of a unix socket that Linux accepts, in bytes. */
const SOCKET_PATH_MAX = 107;

export const text = fieldOf(filledText());
export const path = fieldOf(filledText(ABSOLUTE_PATH_FORM.check, ABSOLUTE_PATH_FORM.schema));
export const socketPath = fieldOf(filledText(socketPathError, ABSOLUTE_PATH_FORM.schema));
/** `unix:///path`. */
export const endpoint = fieldOf(filledText(endpointError, { pattern: "^unix:///" }));
export const labelValue = fieldOf(filledText(LABELS.value, LABELS.schema.additionalProperties));
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
