// The rules for names and their like as JSON Schema, as far as it can express them. Patterns have no lookarounds, which not
// every reader of JSON Schema knows.

import { CONFIG_KEY, MAX_CONFIG_KEY } from "./reference-rules.ts";
import {
  CLIMBING_PATH,
  DNS_LABEL,
  DNS_SUBDOMAIN,
  MAX_NAME,
  MAX_SUBDOMAIN,
} from "./validate-names.ts";

const NAME = "[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?";
const PREFIX = "[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*";
const IPV4_PART = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";

export const DNS_LABEL_SCHEMA = { pattern: DNS_LABEL.source, maxLength: MAX_NAME };
export const SUBDOMAIN_SCHEMA = { pattern: DNS_SUBDOMAIN.source, maxLength: MAX_SUBDOMAIN };

export const IP_SCHEMA = {
  pattern: `^(${IPV4_PART}(\\.${IPV4_PART}){3}|[0-9a-fA-F]*:[0-9a-fA-F:]*(:${IPV4_PART}(\\.${IPV4_PART}){3})?)$`,
};

/** With at least one letter. */
export const PORT_NAME_SCHEMA = {
  pattern: "^([a-z0-9]+-)*[0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$",
  maxLength: 15,
};

/** For programs and variables, which end at the first NUL. */
export const WITHOUT_NUL_SCHEMA = { pattern: "^[^\\x00]*$" };

export const ARGUMENTS_SCHEMA = { items: { type: ["string", "null"], ...WITHOUT_NUL_SCHEMA } };

export const ABSOLUTE_PATH_SCHEMA = {
  pattern: "^/[^\\x00]*$",
  not: { type: "string", pattern: CLIMBING_PATH },
};

export const LABELS_SCHEMA = {
  propertyNames: { pattern: `^(${PREFIX}/)?${NAME}$` },
  additionalProperties: { type: ["string", "null"], pattern: `^(${NAME})?$` },
};

export const KEYS_SCHEMA = {
  propertyNames: {
    pattern: CONFIG_KEY.source,
    maxLength: MAX_CONFIG_KEY,
    not: { pattern: "^\\.(\\.|$)" },
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
