// How a pod resolves names, and what its hosts file adds. k8s: validatePodDNSConfig, ValidateHostAliases

import { invalid, type Node } from "../decode/field-reader.ts";
import { list, objectType, string, text, type Decoded, type ObjectOf } from "../schema/codec.ts";
import {
  IP_FORM,
  itemsOf,
  SEARCH_PATH_FORM,
  SUBDOMAIN_FORM,
  type Form,
} from "../validation/validate-names.ts";

const MAX_NAMESERVERS = 3;
const MAX_SEARCH_PATHS = 32;
/** With the spaces between them. */
const MAX_SEARCH_CHARACTERS = 2048;

export const HOST_ALIAS = objectType("HostAlias", {
  ip: string({
    about: "IP address of the line in the hosts file.",
    required: true,
    ...IP_FORM,
  }),
  hostnames: list(text, { about: "Host names of the address.", ...itemsOf(SUBDOMAIN_FORM) }),
});
export type HostAlias = Decoded<typeof HOST_ALIAS>;

/** It becomes a word of resolv.conf: with a line break it would become another line. */
const WORD_FORM: Form = {
  check: (word) => (/[\s\0]/.test(word) ? "must not contain white space" : undefined),
  schema: { pattern: "^[^\\s\\x00]*$" },
};

const DNS_OPTION = objectType("PodDNSConfigOption", {
  name: string({
    about: "Name of the option, such as ndots.",
    required: "must not be empty",
    ...WORD_FORM,
  }),
  value: string({
    about: "Value of the option, if it has one.",
    keep: true,
    ...WORD_FORM,
  }),
});

const DNS_CONFIG_FIELDS = {
  nameservers: list(text, {
    about: "Name servers to add, at most three in all.",
    ...itemsOf(IP_FORM, { maxItems: MAX_NAMESERVERS }),
  }),
  searches: list(text, {
    about: "Search domains to add.",
    ...itemsOf(SEARCH_PATH_FORM, { maxItems: MAX_SEARCH_PATHS }),
  }),
  options: list(DNS_OPTION, { about: "Resolver options to add or to change." }),
};
export type PodDnsConfig = ObjectOf<typeof DNS_CONFIG_FIELDS>;
export const DNS_CONFIG = objectType("PodDNSConfig", DNS_CONFIG_FIELDS, { check: checkCounts });

function checkCounts({ nameservers, searches }: PodDnsConfig, node: Node): void {
  if (nameservers.length > MAX_NAMESERVERS)
    invalid(node, "nameservers", `must not have more than ${MAX_NAMESERVERS} nameservers`);
  if (searches.length > MAX_SEARCH_PATHS)
    invalid(node, "searches", `must not have more than ${MAX_SEARCH_PATHS} search paths`);
  if (searches.join(" ").length > MAX_SEARCH_CHARACTERS) {
    const message = `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`;
    invalid(node, "searches", message);
  }
}
