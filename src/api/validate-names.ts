// Kubernetes' rules for names, labels and their like: each answers with what is wrong, or undefined.

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const QUALIFIED_NAME = /^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$/;
const PORT_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const ENV_NAME = /^[\x20-\x3C\x3E-\x7E]+$/;
const IPV4 = /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.|$)){4}$/;
const IPV6 = /^[0-9a-fA-F:]*:[0-9a-fA-F:.]*$/;
const MAX_NAME = 63;

/** RFC 1123 label: namespaces, container, volume and host names. */
export function dnsLabelError(text: string): string | undefined {
  if (text.length > MAX_NAME) return `must be no more than ${MAX_NAME} characters`;
  if (DNS_LABEL.test(text)) return undefined;
  return "must be lower-case letters, digits or '-', with a letter or digit at both ends (RFC 1123 label)";
}

/** RFC 1123 subdomain: pod names. The length is judged apart. */
export function dnsSubdomainError(text: string): string | undefined {
  if (DNS_SUBDOMAIN.test(text)) return undefined;
  return "must be lower-case letters, digits, '-' or '.', with a letter or digit at both ends (RFC 1123 subdomain)";
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
  return IPV4.test(text) || IPV6.test(text) ? undefined : "must be an IP address";
}

/** An absolute path that cannot climb out of where it points. */
export function pathError(path: string): string | undefined {
  if (!path.startsWith("/")) return "must be an absolute path";
  if (path.split("/").includes("..")) return 'must not contain ".."';
  return path.includes("\0") ? "must not contain a NUL character" : undefined;
}
