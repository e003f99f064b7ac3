// Kubernetes' rules for names, labels and their like: each answers with what is wrong, or undefined.

export const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
export const DNS_SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const QUALIFIED_NAME = /^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$/;
const PORT_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
export const ENV_NAME = /^[\x20-\x3C\x3E-\x7E]+$/;
const IPV4_PART = /^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/;
const IPV6_PART = /^[0-9a-fA-F]{1,4}$/;
const SEARCH_LABEL = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/;
export const CAPABILITY = /^[A-Za-z][A-Za-z0-9_]*$/;
/** Paths that climb, as a pattern: JSON Schema's readers have no lookaheads in common. */
export const CLIMBING_PATH = "(^|/)\\.\\.(/|$)";
export const MAX_NAME = 63;
export const MAX_SUBDOMAIN = 253;
const MAX_MATCHED = 4096;

/** RFC 1123 label: namespaces, container, volume and host names. */
export function dnsLabelError(text: string): string | undefined {
  if (text.length > MAX_NAME) return `must be no more than ${MAX_NAME} characters`;
  if (DNS_LABEL.test(text)) return undefined;
  return "must be lower-case letters, digits or '-', with a letter or digit at both ends (RFC 1123 label)";
}

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
  if (name.length <= MAX_NAME && QUALIFIED_NAME.test(name)) return undefined;
  return "its name must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
}

export function labelValueError(value: string): string | undefined {
  if (value === "" || (value.length <= MAX_NAME && QUALIFIED_NAME.test(value))) return undefined;
  return "must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";
}

export function portNameError(name: string): string | undefined {
  if (name.length <= 15 && PORT_NAME.test(name) && /[a-z]/.test(name)) return undefined;
  return "must be at most 15 lower-case letters, digits or single '-', with at least one letter";
}

export function envNameError(name: string): string | undefined {
  return ENV_NAME.test(name) ? undefined : "must be printable ASCII without '='";
}

export function portNumberError(port: number): string | undefined {
  return port >= 1 && port <= 65535 ? undefined : "must be between 1 and 65535";
}

export function ipError(text: string): string | undefined {
  return isIPv4(text) || isIPv6(text) ? undefined : "must be an IP address";
}

function isIPv4(text: string): boolean {
  const parts = text.split(".", 5);
  return parts.length === 4 && parts.every((part) => IPV4_PART.test(part));
}

function isIPv6(text: string): boolean {
  // The longest, with an IPv4 tail.
  if (text.length > 45 || !text.includes(":")) return false;
  const halves = text.split("::");
  const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1)?.at(-1) ?? "";
  const tail = last.includes(".") && isIPv4(last);
  const flat = groups.flat();
  const plain = tail ? flat.slice(0, -1) : flat;
  const count = plain.length + (tail ? 2 : 0);
  if (!plain.every((part) => IPV6_PART.test(part))) return false;
  return halves.length === 1 ? count === 8 : halves.length === 2 && count < 8;
}

/** One entry of a resolver's search list: a domain, perhaps with `_` and a last dot; "." is the root. */
export function searchPathError(text: string): string | undefined {
  const domain = text.endsWith(".") ? text.slice(0, -1) : text;
  if (text === ".") return undefined;
  if (domain.length > MAX_SUBDOMAIN) return `must be no more than ${MAX_SUBDOMAIN} characters`;
  const isDomain = domain.split(".").every((label) => SEARCH_LABEL.test(label));
  return isDomain ? undefined : "must be a domain, such as example.com";
}

/** `NET_ADMIN`, `CAP_NET_ADMIN` or `ALL`, in capital or small letters. */
export function capabilityError(name: string): string | undefined {
  if (name.length <= MAX_NAME && CAPABILITY.test(name)) return undefined;
  return "must be the name of a capability, such as NET_ADMIN, or ALL";
}

/** For what the kernel is given as text, which ends at the first NUL. */
export function nulError(text: string): string | undefined {
  return text.includes("\0") ? "must not contain a NUL character" : undefined;
}

/** A relative path that stays below where it starts. k8s: validateLocalDescendingPath */
export function descendingPathError(path: string): string | undefined {
  if (path.startsWith("/")) return "must be a relative path";
  if (path.split("/").includes("..")) return "must not contain '..'";
  return nulError(path);
}

/** An absolute path that cannot climb out of where it points. */
export function pathError(path: string): string | undefined {
  if (!path.startsWith("/")) return "must be an absolute path";
  if (path.split("/").includes("..")) return 'must not contain ".."';
  return nulError(path);
}
