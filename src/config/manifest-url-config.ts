// Configuration of manifests from an HTTP server. Names, defaults and rules are KubeletConfiguration's where it has the
// field. kubelet: SourceURL

import { required, type Node } from "../api/decode/field-reader.ts";
import { checked, fieldOf, listOf, map, type ObjectOf } from "../api/schema/codec.ts";
import type { Type } from "../api/schema/type.ts";
import { duration, exactText } from "../api/schema/values.ts";
import { path } from "./config-values.ts";

const CHECK_MS = 20_000;
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,256}$/;
/** A line break in a value would begin another header. */
const NO_HEADER_VALUE = /[^\t\x20-\x7e\x80-\u{10ffff}]/u;
/** They belong to the request itself. */
const OWN_HEADERS: readonly string[] = [
  "accept-encoding",
  "connection",
  "content-length",
  "host",
  "if-modified-since",
  "if-none-match",
  "transfer-encoding",
];

/** The same type, whose messages show of a value what `show` returns. */
function shownAs<T>(type: Type<T>, show: (value: unknown) => string): Type<T> {
  return { ...type, read: (at) => type.read({ ...at, shown: show(at.value) }) };
}

const withoutUser = (value: unknown): string => String(value).replace(/\/\/.*@/, "//…@");
const headerValue = shownAs(checked(exactText, headerValueError), () => "<hidden>");

const url = fieldOf({
  ...shownAs(checked(exactText, urlError), withoutUser),
  schema: () => ({ type: "string", pattern: "^(https?://[^@]+)?$" }),
});

export const MANIFEST_URL_FIELDS = {
  staticPodURL: url({
    about:
      'URL of manifests, https:// or http://. Default: none; "" also stops the pods of an earlier one.',
    keep: true,
  }),
  staticPodURLHeader: map(listOf(headerValue), {
    about: "Headers of the requests to staticPodURL, such as Authorization.",
    key: headerNameError,
  }),
  httpCheckFrequency: fieldOf(duration(1000, 24 * 3_600_000))({
    about: "Time between two requests to staticPodURL, 1s to 24h.",
    default: CHECK_MS,
  }),
  staticPodURLCAFile: path({
    about:
      "PEM file of the CAs that may vouch for the server of staticPodURL. Default: the system's.",
  }),
  staticPodURLCertFile: path({
    about: "PEM file of the client certificate for staticPodURL; needs staticPodURLKeyFile.",
  }),
  staticPodURLKeyFile: path({
    about: "PEM file of the client certificate's key; needs staticPodURLCertFile.",
  }),
};
type ManifestUrlFields = ObjectOf<typeof MANIFEST_URL_FIELDS>;

export function checkManifestUrl(fields: ManifestUrlFields, node: Node): void {
  const { staticPodURLCertFile: cert, staticPodURLKeyFile: key } = fields;
  if (cert !== undefined && key === undefined)
    required(node, "staticPodURLKeyFile", "the key of the certificate");
  if (key !== undefined && cert === undefined)
    required(node, "staticPodURLCertFile", "the certificate of the key");
}

function urlError(written: string): string | undefined {
  if (written === "") return undefined;
  const parsed = URL.parse(written);
  if (parsed === null || !["http:", "https:"].includes(parsed.protocol) || parsed.hostname === "")
    return "must be an address such as https://fleet.example/manifests.yaml";
  if (parsed.username === "" && parsed.password === "") return undefined;
  return "must not contain user or password; use staticPodURLHeader with Authorization";
}

function headerNameError(name: string): string | undefined {
  if (!HEADER_NAME.test(name)) return "must be the name of a header, such as Authorization";
  return OWN_HEADERS.includes(name.toLowerCase()) ? "is set by the agent itself" : undefined;
}

function headerValueError(value: string): string | undefined {
  return NO_HEADER_VALUE.test(value)
    ? "must not contain line breaks or control characters"
    : undefined;
}
