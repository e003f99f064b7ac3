// What may not leave the node in a bundle: values of Secrets, and text that looks like a credential. A word too many is
// taken rather than one too few.

import { LAST_APPLIED } from "../../api/v1/metadata.ts";
import { isJsonObject, mapValues, parseJson, type JsonObject } from "../../lib/json.ts";
import { byteLength, HIDDEN } from "../../lib/short-text.ts";
import { linesOfSecrets, redactor } from "../../node/redact.ts";

export interface BundleRedactor {
  readonly text: (text: string) => string;
  /** The JSON value without secrets, in keys and in texts. */
  readonly json: (value: unknown) => unknown;
}

/** Words at the end of a name. */
const WORD =
  "pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|authorization|cookie|api[_-]?key|private[_-]?key|access[_-]?key(?:[_-]?id)?|signing[_-]?key|encryption[_-]?key|identitytoken|registrytoken|auth";
const CREDENTIAL_NAME = new RegExp(`(?:^|[^a-z])(?:${WORD})$`, "i");
const CREDENTIAL_FLAG = new RegExp(`^--?(?:[\\w-]*[_-])?(?:${WORD})$`, "i");

interface Pattern {
  readonly matches: RegExp;
  readonly shown: string;
}

/** In the order in which they are applied. What repeats is bounded, so that no log takes time by the square of its size. */
const PATTERNS: readonly Pattern[] = [
  {
    matches: /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)/g,
    shown: HIDDEN,
  },
  // User and password of a URL.
  { matches: /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#"'<>]*@/gi, shown: `$1${HIDDEN}@` },
  // A JSON Web Token.
  { matches: /\beyJ[\w-]{5,300}\.[\w-]{5,}\.[\w-]*/g, shown: HIDDEN },
  // Tokens of well-known services, which have a form of their own.
  {
    matches:
      /\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{30,}|sk-[\w-]{20,}|dckr_pat_[\w-]{16,})/g,
    shown: HIDDEN,
  },
  { matches: /\b(Bearer|Basic)(\s+)[\w.~+/=-]{6,}/gi, shown: `$1$2${HIDDEN}` },
  // `password=…`, `"token": "…"`, `api-key: …`
  {
    matches: new RegExp(
      `((?:^|[^a-z])(?:${WORD})\\\\?["']?[ \\t]*[:=][ \\t]*)(?:\\\\?"(?:[^"\\\\\\n]|\\\\(?!"))*|'[^'\\n]*|[^\\s"',;&<}\\])]+)`,
      "gim",
    ),
    shown: `$1${HIDDEN}`,
  },
  // `--password …`
  {
    matches: new RegExp(
      `((?:^|\\s)--?(?:[\\w-]{0,40}[_-])?(?:${WORD})[ \\t]+)[^\\s"',;<-][^\\s"',;]*`,
      "gim",
    ),
    shown: `$1${HIDDEN}`,
  },
];

/** `secrets`: values that are known to be secret. */
export function bundleRedactor(secrets: ReadonlySet<string>): BundleRedactor {
  const withoutKnown = redactor(formsOf(secrets));
  const text = (given: string): string => withoutCredentials(withoutKnown(given));
  return { text, json: (value) => redacted(value, text) };
}

/** The forms in which a program may print a value. */
function formsOf(secrets: ReadonlySet<string>): ReadonlySet<string> {
  const forms = [...linesOfSecrets(secrets)].flatMap((value) => {
    const bytes = new TextEncoder().encode(value);
    const inJson = JSON.stringify(value).slice(1, -1);
    const [plain, url] = [bytes.toBase64(), bytes.toBase64({ alphabet: "base64url" })];
    const unpadded = [plain, url].map((one) => one.replace(/=+$/, ""));
    return [value, inJson, plain, url, ...unpadded, urlEncoded(value)];
  });
  return new Set(forms.filter((form) => form.length > 0));
}

function urlEncoded(value: string): string {
  // Half a pair of UTF-16 has no encoding.
  return encodeURIComponent(value.toWellFormed());
}

export function withoutCredentials(text: string): string {
  return PATTERNS.reduce((rest, { matches, shown }) => rest.replaceAll(matches, shown), text);
}

type Change = (text: string) => string;

function redacted(value: unknown, text: Change): unknown {
  if (typeof value === "string") return text(value);
  if (Array.isArray(value)) return words(value, text);
  if (!isJsonObject(value)) return value;
  const plain = isSecretKind(value["kind"]) && !isList(value) ? withoutSecretValues(value) : value;
  const entries = Object.entries(plain).filter(([key]) => key !== LAST_APPLIED);
  return Object.fromEntries(
    entries.map(([key, member]) => [text(key), ofMember(plain, key, text)(member)]),
  );
}

function ofMember(owner: JsonObject, key: string, text: Change): (member: unknown) => unknown {
  return (member) => {
    if (typeof member !== "string") return redacted(member, text);
    if (isHidden(member)) return member;
    if (isCredentialName(key)) return hidden(member);
    const { name } = owner;
    const isValue = key === "value" && typeof name === "string";
    if (isValue && (isCredentialName(name) || looksRandom(member))) return hidden(member);
    return text(member);
  };
}

/** The word after `--password` too. */
function words(list: readonly unknown[], text: Change): readonly unknown[] {
  return list.map((item, at) => {
    const before = list[at - 1];
    const isValue = typeof before === "string" && CREDENTIAL_FLAG.test(before);
    return isValue && typeof item === "string" ? hidden(item) : redacted(item, text);
  });
}

/** Also of a kind that is misspelt, or that is made into a Secret elsewhere. */
export function isSecretKind(kind: unknown): boolean {
  return typeof kind === "string" && /secret/i.test(kind);
}

/** Fields of a Secret that hold no value; any other one may be a misspelt `stringData`. */
const PUBLIC_FIELDS = new Set(["apiVersion", "kind", "metadata", "type", "immutable"]);

/** A SecretList has its objects in `items`. */
function isList(value: JsonObject): boolean {
  return Array.isArray(value["items"]);
}

/** What a Secret has beside its public fields. */
export function secretFields(secret: JsonObject): readonly unknown[] {
  return Object.entries(secret).flatMap(([key, value]) => (PUBLIC_FIELDS.has(key) ? [] : [value]));
}

/** Names of keys stay: they are what a supporter needs. */
function withoutSecretValues(secret: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(secret).map(([key, value]) => [
      key,
      PUBLIC_FIELDS.has(key) ? value : withoutLeaves(value),
    ]),
  );
}

function withoutLeaves(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutLeaves);
  return isJsonObject(value) ? mapValues(value, withoutLeaves) : sizeOf(value);
}

function sizeOf(value: unknown): string {
  return typeof value === "string" ? hidden(value) : HIDDEN;
}

function hidden(value: string): string {
  return value === "" || isHidden(value) ? value : `<hidden: ${byteLength(value)} bytes>`;
}

/** What the agent has hidden already. */
function isHidden(value: string): boolean {
  return /^<hidden(?:: \d+ bytes)?>$/.test(value);
}

/** `DB_PASSWORD`, `apiToken`; not `passwordFile` or `secretName`, which only name a place. */
export function isCredentialName(name: string): boolean {
  return CREDENTIAL_NAME.test(name.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2"));
}

/** A value of a variable that no person would write as a setting. */
function looksRandom(value: string): boolean {
  if (/^[0-9a-f]{32,}$/i.test(value)) return true;
  return [/^[\w+/=-]{20,}$/, /\d/, /[a-z]/, /[A-Z]/].every((form) => form.test(value));
}

/** Passwords inside a value: those of a docker configuration, for one. */
export function secretsIn(value: string): readonly string[] {
  const parsed = parseJson(value);
  return isJsonObject(parsed) ? leaves(parsed) : [];
}

function leaves(value: unknown): readonly string[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    if (typeof member !== "string") return leaves(member);
    return isCredentialName(key) ? [member, ...passwordOf(key, member)] : [];
  });
}

/** docker: `auth` is base64 of `user:password`. */
function passwordOf(key: string, value: string): readonly string[] {
  if (key !== "auth") return [];
  const plain = Buffer.from(value, "base64").toString();
  return plain.includes(":") ? [plain.slice(plain.indexOf(":") + 1)] : [];
}
