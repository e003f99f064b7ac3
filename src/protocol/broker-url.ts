// The address of a broker, as the configuration of a node and a document write it.

import type { Type } from "../api/schema/type.ts";

/** Alternate addresses of one broker. */
export const MAX_URLS = 4;

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

export function isTls(url: string): boolean {
  return url.startsWith("mqtts:") || url.startsWith("wss:");
}
