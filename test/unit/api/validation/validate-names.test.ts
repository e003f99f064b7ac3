import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  CAPABILITY_FORM,
  descendingPathError,
  dnsLabelError,
  dnsSubdomainError,
  IP_FORM,
  labelValueError,
  qualifiedNameError,
  SEARCH_PATH_FORM,
  subdomainNameError,
} from "../../../../src/api/validation/validate-names.ts";

interface Rule {
  readonly errorOf: (text: string) => string | undefined;
  readonly good: readonly string[];
  readonly bad: readonly string[];
}

const rules: Readonly<Record<string, Rule>> = {
  "an IP address": {
    errorOf: IP_FORM.check,
    good: [
      "0.0.0.0",
      "255.255.255.255",
      "::",
      "::1",
      "1::",
      "fe80::a:B",
      "1:2:3:4:5:6:7:8",
      "1:2:3:4:5:6:7::",
      "::ffff:10.0.0.1",
      "1:2:3:4:5:6:1.2.3.4",
    ],
    bad: [
      "",
      "1",
      "1.2.3",
      "1.2.3.4.",
      ".1.2.3.4",
      "1.2.3.4.5",
      "01.2.3.4",
      "256.1.1.1",
      "1.2.3.4/8",
      ":",
      ":::",
      "1:2:3:4:5:6:7",
      "1:2:3:4:5:6:7:8:9",
      "1:2:3:4:5:6:7:8::",
      "1::2::3",
      "12345::",
      "fe80::1%eth0",
      "[::1]",
      "1.2.3.4::",
      "::1.2.3",
      "1:2:3:4:5:6:7:1.2.3.4",
      "localhost",
      " ::1",
    ],
  },
  "a DNS label": {
    errorOf: dnsLabelError,
    good: ["a", "0", "a-b", "a".repeat(63)],
    bad: ["", "-a", "a-", "A", "a.b", "a_b", "a".repeat(64), "ä", "a\n"],
  },
  "a DNS subdomain": {
    errorOf: dnsSubdomainError,
    good: ["a", "a.b", "a-b.c-d", "1.2"],
    bad: ["", ".", "a.", ".a", "a..b", "-a.b", "a.b-", "A.b", "a_b"],
  },
  "a name of at most 253": {
    errorOf: subdomainNameError,
    good: [`${"a.".repeat(126)}a`],
    bad: [`${"a.".repeat(127)}a`],
  },
  "a key of labels": {
    errorOf: qualifiedNameError,
    good: ["a", "A.b_c-1", "app.kubernetes.io/name", "1/1", `${"a".repeat(253)}/b`],
    bad: ["", "/", "a/", "/a", "a/b/c", "-a", "a-", "A.b/c", "a b", "a".repeat(64)],
  },
  "a value of labels": {
    errorOf: labelValueError,
    good: ["", "a", "A.b_c-1", "a".repeat(63)],
    bad: ["-", "a-", "_a", "a b", "a/b", "a".repeat(64)],
  },
  "a search path": {
    errorOf: SEARCH_PATH_FORM.check,
    good: [".", "a", "a.b.", "_tcp.a", "a-b"],
    bad: ["", "..", "a..b", ".a", "A", "a b", "-a"],
  },
  "a capability": {
    errorOf: CAPABILITY_FORM.check,
    good: ["ALL", "all", "NET_ADMIN", "net_admin", "CAP_SYS_PTRACE"],
    bad: ["", "NET-ADMIN", "NET ADMIN", "_X", "A".repeat(64)],
  },
  "a path that only descends": {
    errorOf: descendingPathError,
    good: ["a", "a/b.json", "..a/b..", "a//b"],
    bad: ["/a", "..", "a/..", "../a", "a/../b", "a\0"],
  },
};

describe.each(Object.entries(rules))("%s", (_, { errorOf, good, bad }) => {
  test.each([...good])("may be %p", (text) => {
    expect(errorOf(text)).toBeUndefined();
  });
  test.each([...bad])("cannot be %p", (text) => {
    expect(errorOf(text)).toMatch(/^(must|its) /);
  });
});

describe("properties", () => {
  test("every address that is made is one", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        expect(IP_FORM.check(address)).toBeUndefined();
      }),
    );
  });

  test("no rule ever throws, nor lets a line break through", () => {
    const all = Object.values(rules);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.nat(300), (text, at) => {
        const broken = `${text.slice(0, at)}\n${text.slice(at)}`;
        for (const { errorOf } of all) {
          errorOf(text);
          if (errorOf === descendingPathError) continue;
          expect(errorOf(broken)).toBeDefined();
        }
      }),
    );
  });
});
