// Kubernetes' rules for names, labels and their like: each answers with what is wrong, or undefined. A form has the same as
// JSON Schema too, as far as it can express that; patterns have no lookarounds, which not every reader of JSON Schema knows.

import type { JsonSchema } from "../schema/type.ts";

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
/** At most 63 characters. */
const NAME = "[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?";
const PREFIX = DNS_SUBDOMAIN.source.slice(1, -1);
const QUALIFIED_NAME = new RegExp(`^${NAME}$`);
/** With at least one letter. */
const PORT_NAME = /^([a-z0-9]+-)*[0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const MAX_PORT_NAME = 15;
const ENV_NAME = /^[\x20-\x3C\x3E-\x7E]+$/;
const IPV4_PART = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const IPV4_FORM = `${IPV4_PART}(\\.${IPV4_PART}){3}`;
const IPV4 = new RegExp(`^${IPV4_FORM}$`);
const IPV6_PART = /^[0-9a-fA-F]{1,4}$/;
const SEARCH_PATH =
  /^(\.|[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?)$/;
const CAPABILITY = /^[A-Za-z][A-Za-z0-9_]*$/;
/** Paths that climb, as a pattern: JSON Schema's readers have no lookaheads in common. */
export const CLIMBING_PATH = "(^|/)\\.\\.(/|$)";
export const MAX_NAME = 63;
export const MAX_SUBDOMAIN = 253;
const MAX_MATCHED = 4096;

/** As a field's options have it. */
export interface Form {
  readonly check: (text: string) => string | undefined;
  readonly schema: JsonSchema;
}

/** RFC 1123 label: namespaces, container, volume and host names. */
export function dnsLabelError(text: string): string | undefined {
  if (text.length > MAX_NAME) return `must be no more than ${MAX_NAME} characters`;
  if (DNS_LABEL.test(text)) return undefined;
  return "must be lower-case letters, digits or '-', with a letter or digit at both ends (RFC 1123 label)";
}

export const DNS_LABEL_FORM: Form = {
  check: dnsLabelError,
  schema: { pattern: DNS_LABEL.source, maxLength: MAX_NAME },
};

/** RFC 1123 subdomain: pod names. The length is judged apart, and no pattern is asked of what is far beyond it. */
export function dnsSubdomainError(text: string): string | undefined {
  if (text.length < MAX_MATCHED && DNS_SUBDOMAIN.test(text)) return undefined;
  return "must be lower-case letters, digits, '-' or '.', with a letter or digit at both ends (RFC 1123 subdomain)";
}

/** The same with the length that Kubernetes allows: names of classes and Secrets, host names. */
export function subdomainNameError(text: string): string | undefined {
  if (text.length > MAX_SUBDOMAIN) return `must be no more than ${MAX_SUBDOMAIN} characters`;
  return dnsSubdomainError(text);
}

export const SUBDOMAIN_FORM: Form = {
  check: subdomainNameError,
  schema: { pattern: DNS_SUBDOMAIN.source, maxLength: MAX_SUBDOMAIN },
};

export function isTooLong(name: string): boolean {
  return name.length > MAX_NAME;
}

/** Keys of labels and annotations: `name` or `prefix.example/name`. */
export function qualifiedNameError(key: string): string | undefined {
  const parts = key.split("/");
  const name = parts.at(-1) ?? "";
  const prefix = parts.length === 2 ? parts[0] : undefined;
  if (parts.length > 2) return "must have at most one '/'";
  if (prefix !== undefined && (prefix.length > 253 || !DNS_SUBDOMAIN.test(prefix)))
    return "its prefix must be a DNS subdomain";
  if (QUALIFIED_NAME.test(name)) return undefined;
  return "its name must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
}

export function labelValueError(value: string): string | undefined {
  if (value === "" || QUALIFIED_NAME.test(value)) return undefined;
  return "must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
}

/** Options of a map of labels. */
export const LABELS = {
  key: qualifiedNameError,
  value: labelValueError,
  schema: {
    propertyNames: { pattern: `^(${PREFIX}/)?${NAME}$` },
    additionalProperties: { type: ["string", "null"], pattern: `^(${NAME})?$` },
  },
};

/** Prefixes of annotations may be in capital letters. */
export const ANNOTATION_NAME_SCHEMA = {
  pattern: `^(${PREFIX.replaceAll("a-z", "A-Za-z")}/)?${NAME}$`,
};

export const PORT_NAME_FORM: Form = {
  check: (name) =>
    name.length <= MAX_PORT_NAME && PORT_NAME.test(name)
      ? undefined
      : "must be at most 15 lower-case letters, digits or single '-', with at least one letter",
  schema: { pattern: PORT_NAME.source, maxLength: MAX_PORT_NAME },
};

export const ENV_NAME_FORM: Form = {
  check: (name) => (ENV_NAME.test(name) ? undefined : "must be printable ASCII without '='"),
  schema: { pattern: ENV_NAME.source },
};

export const IP_FORM: Form = {
  check: (text) => (IPV4.test(text) || isIPv6(text) ? undefined : "must be an IP address"),
  schema: { pattern: `^(${IPV4_FORM}|[0-9a-fA-F]*:[0-9a-fA-F:]*(:${IPV4_FORM})?)$` },
};

function isIPv6(text: string): boolean {
  // The longest, with an IPv4 tail.
  if (text.length > 45 || !text.includes(":")) return false;
  const halves = text.split("::");
  const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1)?.at(-1) ?? "";
  const tail = last.includes(".") && IPV4.test(last);
  const flat = groups.flat();
  const plain = tail ? flat.slice(0, -1) : flat;
  const count = plain.length + (tail ? 2 : 0);
  if (!plain.every((part) => IPV6_PART.test(part))) return false;
  return halves.length === 1 ? count === 8 : halves.length === 2 && count < 8;
}

/** One entry of a resolver's search list: a domain, perhaps with `_` and a last dot; "." is the root. */
export const SEARCH_PATH_FORM: Form = {
  check(text) {
    const length = text.endsWith(".") ? text.length - 1 : text.length;
    if (length > MAX_SUBDOMAIN) return `must be no more than ${MAX_SUBDOMAIN} characters`;
    return SEARCH_PATH.test(text) ? undefined : "must be a domain, such as example.com";
  },
  schema: { pattern: SEARCH_PATH.source },
};

/** `NET_ADMIN`, `CAP_NET_ADMIN` or `ALL`, in capital or small letters. */
export const CAPABILITY_FORM: Form = {
  check: (name) =>
    name.length <= MAX_NAME && CAPABILITY.test(name)
      ? undefined
      : "must be the name of a capability, such as NET_ADMIN, or ALL",
  schema: { pattern: CAPABILITY.source, maxLength: MAX_NAME },
};

/** For what the kernel is given as text, which ends at the first NUL. */
function nulError(text: string): string | undefined {
  return text.includes("\0") ? "must not contain a NUL character" : undefined;
}

/** For programs and variables, which end at the first NUL. */
export const WITHOUT_NUL_FORM: Form = { check: nulError, schema: { pattern: "^[^\\x00]*$" } };

/** Options of a list of arguments, of which null is an empty one. */
export const ARGUMENTS = {
  item: nulError,
  schema: { items: { type: ["string", "null"], ...WITHOUT_NUL_FORM.schema } },
};

/** A relative path that stays below where it starts. k8s: validateLocalDescendingPath */
export function descendingPathError(path: string): string | undefined {
  if (path.startsWith("/")) return "must be a relative path";
  if (path.split("/").includes("..")) return "must not contain '..'";
  return nulError(path);
}

export const DESCENDING_PATH_FORM: Form = {
  check: descendingPathError,
  schema: { not: { type: "string", pattern: `^/|${CLIMBING_PATH}` } },
};

/** An absolute path that cannot climb out of where it points. */
export function pathError(path: string): string | undefined {
  if (!path.startsWith("/")) return "must be an absolute path";
  if (path.split("/").includes("..")) return 'must not contain ".."';
  return nulError(path);
}

export const ABSOLUTE_PATH_FORM: Form = {
  check: pathError,
  schema: { pattern: "^/[^\\x00]*$", not: { type: "string", pattern: CLIMBING_PATH } },
};

/** Options of a list whose items have a form; `limits`: of the list itself. */
export function itemsOf({ check, schema }: Form, limits: JsonSchema = {}) {
  return { item: check, schema: { items: { type: "string", ...schema }, ...limits } };
}

/** With line ends in between. */
export const BASE64_SCHEMA = {
  contentEncoding: "base64",
  pattern: "^[A-Za-z0-9+/\\r\\n]*(=[\\r\\n]*){0,2}$",
};
