// What one configuration value must look like: each check takes what the file says and returns the value or a sentence.

import { parseDuration } from "../api/resource/duration.ts";
import { isTopicRoot } from "../protocol/mqtt-topics.ts";
import { canonicalQuantity } from "../api/resource/quantity.ts";
import { sysctlPatternError } from "../api/validation/sysctls.ts";
import { dnsLabelError, dnsSubdomainError, ipError } from "../api/validation/validate-names.ts";

export type Checked<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

export type Check<T> = (written: unknown) => Checked<T>;

const good = <T>(value: T): Checked<T> => ({ ok: true, value });
const bad = <T>(message: string): Checked<T> => ({ ok: false, message });

const QUALIFIED = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const LABEL_VALUE_RULE =
  "at most 63 letters, digits, '-', '_' or '.', a letter or digit at both ends";

/** The longest path of a unix socket that Linux accepts, in bytes. */
const SOCKET_PATH_MAX = 107;

export const text: Check<string> = (written) =>
  typeof written === "string" && written !== ""
    ? good(written)
    : bad(`must be a text, not ${say(written)}`);

export const absolutePath: Check<string> = (written) => {
  if (typeof written !== "string" || !written.startsWith("/"))
    return bad(`must be an absolute path, not ${say(written)}`);
  if (written.includes("\0")) return bad("must not contain a NUL character");
  if (written.split("/").includes("..")) return bad('must not contain ".."');
  return good(written);
};

export const socketPath: Check<string> = (written) => {
  const path = absolutePath(written);
  if (!path.ok) return path;
  const bytes = new TextEncoder().encode(path.value).length;
  return bytes <= SOCKET_PATH_MAX
    ? path
    : bad(`is ${bytes} bytes long; a unix socket's path may have ${SOCKET_PATH_MAX}`);
};

/** `unix:///path`. */
export const unixEndpoint: Check<string> = (written) => {
  if (typeof written !== "string" || !written.startsWith("unix://"))
    return bad(`must be like unix:///run/containerd/containerd.sock, not ${say(written)}`);
  const path = socketPath(written.slice("unix://".length));
  return path.ok ? good(written) : bad(`the path in it ${path.message}`);
};

export function integer(range: { readonly min: number; readonly max: number }): Check<number> {
  return (written) => {
    if (typeof written !== "number" || !Number.isInteger(written))
      return bad(`must be a whole number, not ${say(written)}`);
    if (written < range.min || written > range.max)
      return bad(`must be between ${range.min} and ${range.max}, not ${written}`);
    return good(written);
  };
}

export function oneOf<const T extends string | number>(values: readonly T[]): Check<T> {
  return (written) => {
    const value = values.find((candidate) => candidate === written);
    return value === undefined
      ? bad(`must be ${values.join(" or ")}, not ${say(written)}`)
      : good(value);
  };
}

/** A duration such as `1m30s`, in ms, between two bounds in ms. */
export function duration(range: { readonly min: number; readonly max: number }): Check<number> {
  return (written) => {
    const ms = typeof written === "string" ? parseDuration(written) : undefined;
    if (ms === undefined) return bad(`must be a duration like 1m30s, not ${say(written)}`);
    if (ms < range.min) return bad(`must be at least ${range.min / 1000}s, not ${say(written)}`);
    if (ms > range.max) return bad(`must be at most ${range.max / 1000}s, not ${say(written)}`);
    return good(Math.round(ms));
  };
}

export const labelValue: Check<string> = (written) =>
  typeof written === "string" && QUALIFIED.test(written)
    ? good(written)
    : bad(`must be a label value (${LABEL_VALUE_RULE}), not ${say(written)}`);

/** The sentence about a label key that is none; undefined when it is one. */
export function labelKeyError(key: string): string | undefined {
  const slash = key.indexOf("/");
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  if (prefix !== undefined && (prefix.length > 253 || !DNS_SUBDOMAIN.test(prefix)))
    return `${say(key)} is no label key: the part before "/" must be a DNS name`;
  if (!QUALIFIED.test(key.slice(slash + 1)))
    return `${say(key)} is no label key (${LABEL_VALUE_RULE})`;
  return undefined;
}

/** A label value may be empty. */
export const labelValueOrEmpty: Check<string> = (written) =>
  written === "" ? good("") : labelValue(written);

/** In YAML as Kubernetes reads it a bare `off` is the boolean false. */
export const podStatus: Check<"retained" | "off"> = (written) =>
  oneOf(["retained", "off"])(written === false ? "off" : written);

const TEMPLATE_WORDS = ["hostname", "serial", "machineId", "mac"];

/** A name, or a template of `${hostname}`, `${serial}`, `${machineId}`, `${mac}`. */
export const nodeNameTemplate: Check<string> = (written) => {
  const name = text(written);
  if (!name.ok) return name;
  const words = [...name.value.matchAll(/\$\{([^}]*)\}/g)].map((match) => match[1] ?? "");
  const unknown = words.find((word) => !TEMPLATE_WORDS.includes(word));
  const known = TEMPLATE_WORDS.map((word) => `\${${word}}`).join(", ");
  if (unknown !== undefined) return bad(`knows no \${${unknown}}; a template may use ${known}`);
  const plain = name.value.replaceAll(/\$\{[^}]*\}/g, "");
  if (plain.includes("$")) return bad(`has a stray "$"; a template may use ${known}`);
  if (plain.length > 63) return bad(`is ${plain.length} characters long; at most 63 are allowed`);
  if (words.length === 0 && !/[A-Za-z0-9]/.test(plain))
    return bad("must contain a letter or a digit");
  return name;
};

const URL_SCHEMES = ["mqtt:", "mqtts:", "ws:", "wss:"];

/** The address of a broker, without user or password. */
export const brokerUrl: Check<string> = (written) => {
  const url = typeof written === "string" ? URL.parse(written) : null;
  if (typeof written !== "string" || url === null || url.hostname === "")
    return bad(
      `must be an address like mqtt://broker.example:1883, not ${say(withoutLogin(written))}`,
    );
  if (!URL_SCHEMES.includes(url.protocol))
    return bad(`must begin with mqtt://, mqtts://, ws:// or wss://, not ${url.protocol}//`);
  if (url.username !== "" || url.password !== "")
    return bad("must not carry user or password; use mqtt.username and mqtt.passwordFile");
  return good(written);
};

/** A password must not reach a log through an error. */
function withoutLogin(written: unknown): unknown {
  return typeof written === "string" ? written.replace(/\/\/.*@/, "//…@") : written;
}

/** Whether the address asks for TLS. */
export function isTls(url: string): boolean {
  return url.startsWith("mqtts:") || url.startsWith("wss:");
}

/** One or two topic levels without wildcards. */
export const topicRoot: Check<string> = (written) =>
  typeof written === "string" && isTopicRoot(written)
    ? good(written)
    : bad(`must be one or two topic levels like agent/v1, not ${say(written)}`);

/** A list of texts, at least one. */
export const textList: Check<readonly string[]> = (written) => {
  const list: readonly unknown[] = Array.isArray(written) ? written : [];
  const texts = list.filter((entry) => typeof entry === "string" && entry !== "");
  return texts.length > 0 && texts.length === list.length
    ? good(texts.map(String))
    : bad(`must be a list of texts, not ${say(written)}`);
};

export const bool: Check<boolean> = (written) =>
  typeof written === "boolean" ? good(written) : bad(`must be true or false, not ${say(written)}`);

/** A list of IP addresses, maybe empty; each once. */
export const ipAddresses: Check<readonly string[]> = (written) =>
  listOf(written, "IP addresses", ipError);

/** Names of namespaced sysctls, or prefixes of them. */
export const sysctlPatterns: Check<readonly string[]> = (written) =>
  listOf(written, "sysctls", sysctlPatternError);

function listOf(
  written: unknown,
  what: string,
  wrongWith: (entry: string) => string | undefined,
): Checked<readonly string[]> {
  if (!Array.isArray(written)) return bad(`must be a list of ${what}, not ${say(written)}`);
  const list: string[] = [];
  for (const entry of written) {
    if (typeof entry !== "string") return bad(`must be a list of ${what}; ${say(entry)} is none`);
    const wrong = wrongWith(entry);
    if (wrong !== undefined) return bad(`${say(entry)} ${wrong}`);
    if (!list.includes(entry)) list.push(entry);
  }
  return good(list);
}

/** A DNS name, or "" for none. */
export const dnsDomain: Check<string> = (written) => {
  if (typeof written !== "string") return bad(`must be a DNS name, not ${say(written)}`);
  const name = written.replace(/\.$/, "");
  if (name === "") return good("");
  const wrong = name.length > 253 ? "is too long" : dnsSubdomainError(name);
  return wrong === undefined ? good(name) : bad(`${say(written)} ${wrong}`);
};

/** The sentence about a name of a class that is none; undefined when it is one. */
export function className(name: string): string | undefined {
  return name.length > 253 ? "is too long" : dnsSubdomainError(name);
}

/** Likewise; what begins with `system-` belongs to Kubernetes. */
export function priorityClassName(name: string): string | undefined {
  if (name.startsWith("system-")) return 'must not begin with "system-": those names are taken';
  return className(name);
}

/** A handler as the runtime's configuration names it. */
export const handlerName: Check<string> = (written) => {
  if (typeof written !== "string") return bad(`must be a name, not ${say(written)}`);
  const wrong = dnsLabelError(written);
  return wrong === undefined ? good(written) : bad(`${say(written)} ${wrong}`);
};

/** An amount that is not negative, in canonical text. */
export const quantity: Check<string> = (written) => {
  const isWritten = typeof written === "string" || typeof written === "number";
  const amount = isWritten ? canonicalQuantity(String(written)) : undefined;
  if (amount === undefined) return bad(`must be a quantity like 500m or 64Mi, not ${say(written)}`);
  return amount.startsWith("-") ? bad("must be greater than or equal to 0") : good(amount);
};

/** What a person wrote, short enough for a sentence. */
export function say(written: unknown): string {
  if (Array.isArray(written)) return "a list";
  if (typeof written === "object" && written !== null) return "a mapping";
  const shown = JSON.stringify(written) ?? "nothing";
  return shown.length > 80 ? `${shown.slice(0, 77)}…` : shown;
}
