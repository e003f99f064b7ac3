// Forms of text: what is wrong with a text, and the same as JSON Schema, as far as it can express that. Patterns have no
// lookarounds, which not every reader of JSON Schema knows.

import type { JsonSchema } from "../schema/type.ts";
import { configKeyError, MAX_CONFIG_KEY } from "./reference-rules.ts";
import {
  CAPABILITY,
  capabilityError,
  CLIMBING_PATH,
  descendingPathError,
  DNS_LABEL,
  DNS_SUBDOMAIN,
  dnsLabelError,
  ENV_NAME,
  envNameError,
  ipError,
  labelValueError,
  MAX_NAME,
  MAX_SUBDOMAIN,
  nulError,
  pathError,
  portNameError,
  qualifiedNameError,
  searchPathError,
  subdomainNameError,
} from "./validate-names.ts";

/** As a field's options have it. */
export interface Form {
  readonly check: (text: string) => string | undefined;
  readonly schema: JsonSchema;
}

const NAME = "[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?";
const PREFIX = "[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*";
const IPV4_PART = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";

export const DNS_LABEL_FORM: Form = {
  check: dnsLabelError,
  schema: { pattern: DNS_LABEL.source, maxLength: MAX_NAME },
};

export const SUBDOMAIN_FORM: Form = {
  check: subdomainNameError,
  schema: { pattern: DNS_SUBDOMAIN.source, maxLength: MAX_SUBDOMAIN },
};

export const IP_FORM: Form = {
  check: ipError,
  schema: {
    pattern: `^(${IPV4_PART}(\\.${IPV4_PART}){3}|[0-9a-fA-F]*:[0-9a-fA-F:]*(:${IPV4_PART}(\\.${IPV4_PART}){3})?)$`,
  },
};

/** With at least one letter. */
export const PORT_NAME_FORM: Form = {
  check: portNameError,
  schema: { pattern: "^([a-z0-9]+-)*[0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$", maxLength: 15 },
};

export const ENV_NAME_FORM: Form = { check: envNameError, schema: { pattern: ENV_NAME.source } };

export const CAPABILITY_FORM: Form = {
  check: capabilityError,
  schema: { pattern: CAPABILITY.source, maxLength: MAX_NAME },
};

/** Neither "." nor "..", nor with two dots at its beginning. */
export const CONFIG_KEY_FORM: Form = {
  check: configKeyError,
  schema: { pattern: "^\\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$", maxLength: MAX_CONFIG_KEY },
};

/** For programs and variables, which end at the first NUL. */
export const WITHOUT_NUL_FORM: Form = { check: nulError, schema: { pattern: "^[^\\x00]*$" } };

export const ABSOLUTE_PATH_FORM: Form = {
  check: pathError,
  schema: { pattern: "^/[^\\x00]*$", not: { type: "string", pattern: CLIMBING_PATH } },
};

export const DESCENDING_PATH_FORM: Form = {
  check: descendingPathError,
  schema: { not: { type: "string", pattern: `^/|${CLIMBING_PATH}` } },
};

/** A search domain of a resolver. */
export const SEARCH_PATH_FORM: Form = {
  check: searchPathError,
  schema: {
    pattern: "^(\\.|[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\\.?)$",
  },
};

/** Options of a list whose items have a form; `limits`: of the list itself. */
export function itemsOf({ check, schema }: Form, limits: JsonSchema = {}) {
  return { item: check, schema: { items: { type: "string", ...schema }, ...limits } };
}

/** Options of a list of arguments, of which null is an empty one. */
export const ARGUMENTS = {
  item: nulError,
  schema: { items: { type: ["string", "null"], ...WITHOUT_NUL_FORM.schema } },
};

/** Options of a map of labels. */
export const LABELS = {
  key: qualifiedNameError,
  value: labelValueError,
  schema: {
    propertyNames: { pattern: `^(${PREFIX}/)?${NAME}$` },
    additionalProperties: { type: ["string", "null"], pattern: `^(${NAME})?$` },
  },
};

/** With line ends in between. */
export const BASE64_SCHEMA = {
  contentEncoding: "base64",
  pattern: "^[A-Za-z0-9+/\\r\\n]*(=[\\r\\n]*){0,2}$",
};

/** Prefixes of annotations may be in capital letters. */
export const ANNOTATION_NAME_SCHEMA = {
  pattern: `^(${PREFIX.replaceAll("a-z", "A-Za-z")}/)?${NAME}$`,
};
