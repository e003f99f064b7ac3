import { describe, expect, test } from "bun:test";

import { decodeTrustBundle } from "../../../src/protocol/trust-bundle.ts";
import { HOSTILE } from "../api/hostile-values.ts";

const A = new Uint8Array(32).fill(1);
const B = new Uint8Array(32).fill(2);
const [a, b] = [A.toBase64(), B.toBase64()];

const decode = (value: unknown) =>
  decodeTrustBundle(
    new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value)),
  );
const good = { version: 3, root: [a], keys: [{ pub: b, roles: ["desired"] }] };

test("a bundle as it is written", () => {
  const keys = [
    { pub: b, roles: ["desired", "rollout", "command"], nodes: ["pi-*", "*"], groups: [] },
    { pub: a, roles: ["command"], groups: ["kiosks"] },
  ];
  const notBefore = "2026-11-21T08:00:00Z";
  expect(decode({ version: 3, notBefore, root: [a, b], keys })).toEqual({
    ok: true,
    warnings: [],
    value: {
      version: 3,
      notBefore: Date.UTC(2026, 10, 21, 8),
      root: [A, B],
      keys: [
        { pub: B, roles: ["desired", "rollout", "command"], nodes: ["pi-*", "*"], groups: [] },
        { pub: A, roles: ["command"], groups: ["kiosks"] },
      ],
    },
  });
});

test("no keys at all are a bundle too", () => {
  expect(decode({ ...good, keys: [] })).toMatchObject({ ok: true, value: { keys: [] } });
});

const wrong: Readonly<Record<string, readonly [value: unknown, ...paths: readonly string[]]>> = {
  "no object": ["[]", ""],
  "two documents": ["{}\n---\n{}\n", ""],
  "no version": [{ ...good, version: undefined }, "version"],
  "version 0": [{ ...good, version: 0 }, "version"],
  "half a version": [{ ...good, version: 1.5 }, "version"],
  "a version as text": [{ ...good, version: "3" }, "version"],
  "a day that is none": [{ ...good, notBefore: "yesterday" }, "notBefore"],
  "a misspelt restriction": [{ ...good, notbefore: "2026-11-21T08:00:00Z" }, "notbefore"],
  "no roots": [{ ...good, root: undefined }, "root"],
  "an empty list of roots": [{ ...good, root: [] }, "root"],
  "a root that is too short": [{ ...good, root: [a, a.slice(4)] }, "root[1]"],
  "a root that is nothing": [{ ...good, root: [""] }, "root[0]"],
  "a root that is no text": [{ ...good, root: [7] }, "root[0]"],
  "a PEM text": [{ ...good, root: ["-----BEGIN PUBLIC KEY-----"] }, "root[0]"],
  "no keys": [{ ...good, keys: undefined }, "keys"],
  "keys that are no list": [{ ...good, keys: {} }, "keys"],
  "a key that is no object": [{ ...good, keys: [b] }, "keys[0]"],
  "a key without pub": [{ ...good, keys: [{ roles: ["desired"] }] }, "keys[0].pub"],
  "a key that is no key": [{ ...good, keys: [{ pub: "x", roles: ["desired"] }] }, "keys[0].pub"],
  "a key without roles": [{ ...good, keys: [{ pub: b }] }, "keys[0].roles"],
  "a key with no role": [{ ...good, keys: [{ pub: b, roles: [] }] }, "keys[0].roles"],
  "a role that there is not": [
    { ...good, keys: [{ pub: b, roles: ["desired", "trust"] }] },
    "keys[0].roles[1]",
  ],
  "a misspelt scope": [
    { ...good, keys: [{ pub: b, roles: ["desired"], node: ["pi-1"] }] },
    "keys[0].node",
  ],
  "names that are none": [
    { ...good, keys: [{ pub: b, roles: ["desired"], nodes: ["Pi", "a/b"], groups: ["kiosk*"] }] },
    "keys[0].nodes[0]",
    "keys[0].nodes[1]",
    "keys[0].groups[0]",
  ],
  "a scope that is no list": [
    { ...good, keys: [{ pub: b, roles: ["desired"], nodes: "pi-1" }] },
    "keys[0].nodes",
  ],
};

describe("a bundle that is refused, with the place", () => {
  test.each(Object.entries(wrong))("%s", (_sentence, [value, ...paths]) => {
    const decoded = decode(value);
    expect(decoded.ok ? "accepted" : decoded.errors.map(({ path }) => path)).toEqual([...paths]);
  });

  test("a key that is none is not repeated: it may be private", () => {
    const decoded = decode({ ...good, root: ["-----BEGIN PRIVATE KEY-----"] });
    expect(decoded.ok ? [] : decoded.errors.map(({ message }) => message)).toEqual([
      "Invalid value: must be a public Ed25519 key: 32 bytes in base64",
    ]);
  });

  test("a misspelt field is refused with a suggestion", () => {
    const decoded = decode({ ...good, keys: [{ pub: b, roles: ["desired"], node: [] }] });
    expect(decoded.ok ? [] : decoded.errors).toMatchObject([
      { code: "UnknownField", message: "unknown field (did you mean nodes?)" },
    ]);
  });
});

test("nothing makes it throw", () => {
  for (const value of HOSTILE) {
    decode(value);
    decode({ ...good, root: value });
    decode({ ...good, keys: [{ pub: value, roles: value, nodes: value, groups: value }] });
  }
  decodeTrustBundle(new Uint8Array([0xff, 0xfe, 0]));
  decode("[".repeat(40_000));
});
