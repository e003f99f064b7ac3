import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { judgeSignature, rootKeysOf } from "../../../src/trust/verify-signature.ts";
import { aSigner, anEnvelope, signed } from "../../fakes/a-signer.ts";
import { sha256 } from "../api/digest.ts";
import { bytes } from "../source/desired-arrival.ts";
import { readSignedMessage } from "../../../src/protocol/dsse.ts";
import { matchesGlob } from "../../../src/trust/key-scope.ts";

describe("a glob", () => {
  test.each([
    ["pi-1", "pi-1", true],
    ["pi-1", "pi-11", false],
    ["*", "", true],
    ["*", "pi-1", true],
    ["pi-*", "pi-", true],
    ["pi-*", "pi", false],
    ["*-1", "pi-1", true],
    ["*-1", "pi-12", false],
    ["p*1", "pi-1", true],
    ["a*a", "a", false],
    ["a*a", "aa", true],
    ["*a*b*", "xxaxxbxx", true],
    ["*a*b*", "xxbxxaxx", false],
    ["pi.1", "pi-1", false],
    ["**", "x", true],
  ] as const)("%s, %s: %p", (glob, name, expected) => {
    expect(matchesGlob(glob, name)).toBe(expected);
  });

  test("means what the expression means", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", ".", "-"), maxLength: 8 });
    const glob = fc.string({ unit: fc.constantFrom("a", "b", ".", "*"), maxLength: 6 });
    fc.assert(
      fc.property(glob, text, (pattern, name) => {
        const parts = pattern.split("*").map((part) => part.replaceAll(".", String.raw`\.`));
        const expression = new RegExp(`^${parts.join(".*")}$`);
        expect(matchesGlob(pattern, name)).toBe(expression.test(name));
      }),
    );
  });

  test("of many stars costs no more than its length", () => {
    expect(matchesGlob(`${"*a".repeat(120)}*b`, "a".repeat(250))).toBe(false);
  });
});

test.each([
  [16, "Signed"],
  [17, "Broken"],
] as const)("an envelope of %d signatures is %s", (count, type) => {
  const signer = aSigner();
  const text = signed("desired", "{}", ...Array.from({ length: count }, () => signer));
  expect(readSignedMessage(bytes(text)).type).toBe(type);
});

describe("verifying", () => {
  const [root, other] = [aSigner(), aSigner()];
  const keys = { roots: rootKeysOf([root.pub], sha256) };

  test("asks only for signatures that name a known key, once each", () => {
    const asked: string[] = [];
    const envelope = anEnvelope("desired", "{}", [other, root, root]);
    const message = { envelope, role: "desired", to: { node: "pi-1" } } as const;
    judgeSignature(message, keys, (key) => {
      asked.push(key.toHex());
      return false;
    });
    expect(asked).toEqual([root.pub.toHex(), root.pub.toHex()]);
  });

  test("names what is trusted, and a node without keys", () => {
    const envelope = anEnvelope("desired", "{}", [other]);
    const message = { envelope, role: "desired", to: { node: "pi-1" } } as const;
    expect(judgeSignature(message, keys, () => true)).toEqual({
      type: "Refused",
      message: `unknown key ${other.id}; sign with one of ${root.id}, or make the node trust that key`,
    });
  });
});

describe("the outer envelope", () => {
  test.each([
    ["an envelope", signed("desired", "{}", aSigner()), "Signed"],
    ["with blanks around", `\n ${signed("desired", "{}", aSigner())}\n`, "Signed"],
    ["one that is none", '{"payload": 1, "payloadType": 2}', "Broken"],
    ["a document that has such fields", '{"kind":"x","payload":"","payloadType":""}', "Plain"],
    ["YAML", "payload: x\npayloadType: y\n", "Plain"],
    ["no object", '["payload","payloadType"]', "Plain"],
    ["too deep", `{"payload":${"[".repeat(20_000)}`, "Plain"],
    ["nothing", "", "Plain"],
  ] as const)("%s", (_sentence, text, type) => {
    expect(readSignedMessage(bytes(text)).type).toBe(type);
  });

  test("of bytes that are no text", () => {
    expect(readSignedMessage(new Uint8Array([0x7b, 0xff, 0xfe])).type).toBe("Plain");
  });
});
