import { describe, expect, test } from "bun:test";

import { decode, refusals, specOf, warnings, writtenPod } from "../written-pod.ts";

const LABEL_RULE =
  "must be lower-case letters, digits or '-', with a letter or digit at both ends (RFC 1123 label)";
const SUBDOMAIN_RULE =
  "must be lower-case letters, digits, '-' or '.', with a letter or digit at both ends (RFC 1123 subdomain)";
const IP_RULE = "must be an IP address";
const SEARCH_RULE = "must be a domain, such as example.com";

describe("what is written is what is kept", () => {
  test("every field of naming", () => {
    const spec = {
      hostname: "front",
      subdomain: "shop",
      setHostnameAsFQDN: true,
      hostAliases: [{ ip: "10.0.0.9", hostnames: ["db", "db.example.com"] }, { ip: "fe80::9" }],
      dnsPolicy: "None",
      dnsConfig: {
        nameservers: ["10.0.0.1", "fd00::1", "8.8.8.8"],
        searches: ["example.com", "with_underscore.example.", "."],
        options: [{ name: "ndots", value: "2" }, { name: "edns0" }],
      },
    };
    expect(specOf(writtenPod(spec))).toMatchObject({
      ...spec,
      hostAliases: [spec.hostAliases[0], { ip: "fe80::9", hostnames: [] }],
    } as never);
  });

  test("empty names are the same as not written", () => {
    const spec = specOf(writtenPod({ hostname: "", subdomain: "", dnsPolicy: "", dnsConfig: {} }));
    expect(spec.hostname).toBeUndefined();
    expect(spec.subdomain).toBeUndefined();
    expect(spec.dnsPolicy).toBe("ClusterFirst");
    expect(spec.dnsConfig).toEqual({ nameservers: [], searches: [], options: [] });
  });
});

describe("dnsPolicy without cluster DNS", () => {
  const MESSAGE =
    "spec.dnsPolicy: there is no cluster DNS on this node; the pod gets the node's resolv.conf (configure clusterDNS, or write Default)";

  test("ClusterFirstWithHostNet is a warning", () => {
    const written = writtenPod({ dnsPolicy: "ClusterFirstWithHostNet" });
    expect(warnings(written)).toEqual([MESSAGE]);
    expect(decode(written).notices[0]?.code).toBe("Ignored");
    expect(specOf(written).dnsPolicy).toBe("ClusterFirstWithHostNet");
  });

  test("there is no warning for ClusterFirst, which every dump has", () => {
    expect(warnings(writtenPod({ dnsPolicy: "ClusterFirst" }))).toEqual([]);
  });

  test("there is no warning where clusterDNS is configured", () => {
    expect(
      warnings(writtenPod({ dnsPolicy: "ClusterFirstWithHostNet" }), { clusterDNS: true }),
    ).toEqual([]);
  });

  test("there is no warning for Default, nor without a dnsPolicy", () => {
    expect(warnings(writtenPod({ dnsPolicy: "Default" }))).toEqual([]);
    expect(warnings(writtenPod())).toEqual([]);
  });
});

const labels = (count: number): string => Array.from({ length: count }, () => "a").join(".");

const cases: Readonly<Record<string, readonly [spec: object, ...errors: string[]]>> = {
  "a host name with a dot": [
    { hostname: "a.b" },
    `spec.hostname: Invalid value: "a.b": ${LABEL_RULE}`,
  ],
  "a host name that is too long": [
    { hostname: "a".repeat(64) },
    `spec.hostname: Invalid value: "${"a".repeat(64)}": must be no more than 63 characters`,
  ],
  "a subdomain in capitals": [
    { subdomain: "Shop" },
    `spec.subdomain: Invalid value: "Shop": ${LABEL_RULE}`,
  ],
  "a full name that the kernel does not take": [
    { hostname: "a".repeat(40), subdomain: "b".repeat(30), setHostnameAsFQDN: true },
    `spec.setHostnameAsFQDN: Invalid value: true: the host name ${"a".repeat(40)}.${"b".repeat(30)} has 71 characters; at most 64 are possible`,
  ],
  "a policy that does not exist": [
    { dnsPolicy: "default" },
    'spec.dnsPolicy: Unsupported value: "default": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
  ],
  "None without a configuration": [
    { dnsPolicy: "None" },
    "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
  ],
  "None without a name server": [
    { dnsPolicy: "None", dnsConfig: { searches: ["example.com"] } },
    "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None",
  ],
  "four name servers": [
    { dnsConfig: { nameservers: ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"] } },
    'spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]: must not have more than 3 nameservers',
  ],
  "a name server by name": [
    { dnsConfig: { nameservers: ["1.1.1.1", "dns.example"] } },
    `spec.dnsConfig.nameservers[1]: Invalid value: "dns.example": ${IP_RULE}`,
  ],
  "a search path that is no domain": [
    { dnsConfig: { searches: ["ok.example", "not ok", "a..b", ""] } },
    `spec.dnsConfig.searches[1]: Invalid value: "not ok": ${SEARCH_RULE}`,
    `spec.dnsConfig.searches[2]: Invalid value: "a..b": ${SEARCH_RULE}`,
    `spec.dnsConfig.searches[3]: Invalid value: "": ${SEARCH_RULE}`,
  ],
  "a search path longer than a domain": [
    { dnsConfig: { searches: [labels(128)] } },
    `spec.dnsConfig.searches[0]: Invalid value: "${labels(128).slice(0, 78)}…: must be no more than 253 characters`,
  ],
  "33 search paths": [
    { dnsConfig: { searches: Array.from({ length: 33 }, () => "a") } },
    `spec.dnsConfig.searches: Invalid value: [${'"a",'.repeat(19)}"a…: must not have more than 32 search paths`,
  ],
  "search paths that are too long together": [
    { dnsConfig: { searches: Array.from({ length: 9 }, () => labels(120)) } },
    `spec.dnsConfig.searches: Invalid value: ["${labels(120).slice(0, 77)}…: must not have more than 2048 characters (including spaces) in the search list`,
  ],
  "an option without a name": [
    { dnsConfig: { options: [{ value: "2" }] } },
    "spec.dnsConfig.options[0].name: Required value: must not be empty",
  ],
  "an option that would become another line": [
    { dnsConfig: { options: [{ name: "ndots", value: "2\nnameserver 6.6.6.6" }] } },
    'spec.dnsConfig.options[0].value: Invalid value: "2\\nnameserver 6.6.6.6": must not contain white space',
  ],
  "a host alias without an address": [
    { hostAliases: [{ hostnames: ["a"] }] },
    "spec.hostAliases[0].ip: Required value",
  ],
  "a host alias whose address is none": [
    { hostAliases: [{ ip: "10.0.0.256", hostnames: ["a"] }] },
    `spec.hostAliases[0].ip: Invalid value: "10.0.0.256": ${IP_RULE}`,
  ],
  "a host alias whose names are none": [
    { hostAliases: [{ ip: "::1", hostnames: ["ok", "Not_ok", "a b"] }] },
    `spec.hostAliases[0].hostnames[1]: Invalid value: "Not_ok": ${SUBDOMAIN_RULE}`,
    `spec.hostAliases[0].hostnames[2]: Invalid value: "a b": ${SUBDOMAIN_RULE}`,
  ],
  "misspelt fields": [
    { dnsConfig: { nameserver: [] }, hostAliases: [{ ip: "::1", hostname: "a" }] },
    "spec.hostAliases[0].hostname: unknown field (did you mean hostnames?)",
    "spec.dnsConfig.nameserver: unknown field (did you mean nameservers?)",
  ],
};

test.each(Object.entries(cases))("refused: %s", (_, [spec, ...errors]) => {
  expect(refusals(writtenPod(spec))).toEqual(errors);
});

test("a full name of 64 characters is the longest", () => {
  const spec = { hostname: "a".repeat(33), subdomain: "b".repeat(30), setHostnameAsFQDN: true };
  expect(specOf(writtenPod(spec)).setHostnameAsFQDN).toBe(true);
});
