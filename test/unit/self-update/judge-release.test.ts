import { describe, expect, test } from "bun:test";

import { verifyEd25519 } from "../../../src/host/crypto/ed25519.ts";
import { judgeRelease } from "../../../src/self-update/judge-release.ts";
import { keyringOf, type Keyring } from "../../../src/trust/keyring.ts";
import { aBundle, aSigner, signed, type Signer } from "../../fakes/a-signer.ts";
import { sha256 } from "../api/digest.ts";

const ROOT = aSigner();
const RELEASER = aSigner();
const AUTHOR = aSigner();
const OTHER = aSigner();
const DIGEST = "a".repeat(64);
const RELEASE = { version: "2", platform: "linux-arm64", sha256: DIGEST, size: 7 };

function keyring(keys: readonly Signer[], bundle?: string): Keyring {
  const envelope = new TextEncoder().encode(
    bundle === undefined ? "" : signed("trust", bundle, ROOT),
  );
  return keyringOf({
    record: {
      required: keys.length > 0,
      ...(bundle === undefined ? {} : { bundle: { version: 1, envelope } }),
    },
    found: { keys: keys.map(({ pub }) => pub), problems: [] },
    trustPath: "/t",
    sha256,
  });
}

const NO_KEYS = keyring([]);
const ROOTS = keyring([ROOT]);
const BUNDLE = keyring(
  [ROOT],
  aBundle({
    root: [ROOT.text],
    keys: [
      { pub: RELEASER.text, roles: ["release"], nodes: ["pi-*"] },
      { pub: AUTHOR.text, roles: ["desired"] },
    ],
  }),
);

interface Case {
  readonly ring: Keyring;
  readonly signature?: string;
  readonly order?: { readonly sha256?: string; readonly allowUnsigned?: boolean };
  readonly node?: string;
}

function judge({ ring, signature, order = {}, node = "pi-1" }: Case) {
  const bytes = signature === undefined ? undefined : new TextEncoder().encode(signature);
  const context = { keyring: ring, verify: verifyEd25519, node, platform: "linux-arm64" } as const;
  return judgeRelease(bytes, { allowUnsigned: false, ...order }, context);
}

function release(by: Signer, changes: object = {}): string {
  return signed("release", JSON.stringify({ ...RELEASE, ...changes }), by);
}

describe("is used:", () => {
  test.each<[string, Case]>([
    ["a release that a root key has signed", { ring: ROOTS, signature: release(ROOT) }],
    ["one of a key with the role", { ring: BUNDLE, signature: release(RELEASER) }],
    [
      "one whose digest the operator names as well",
      { ring: ROOTS, signature: release(ROOT), order: { sha256: DIGEST } },
    ],
  ])("%s", (_, given) => {
    expect(judge(given)).toMatchObject({ type: "Signed", release: RELEASE });
  });

  test.each<[string, Case]>([
    ["without keys, a binary whose digest is named", { ring: NO_KEYS, order: { sha256: DIGEST } }],
    [
      "without keys, any binary if that is allowed",
      { ring: NO_KEYS, order: { allowUnsigned: true } },
    ],
  ])("%s", (_, given) => {
    expect(judge(given)).toEqual({ type: "Unsigned" });
  });
});

describe("is refused:", () => {
  test.each<[string, Case, string]>([
    ["without keys, an unsigned binary", { ring: NO_KEYS }, "--sha256"],
    ["with keys, an unsigned binary", { ring: ROOTS }, "must be signed"],
    [
      "with keys, an unsigned binary, whatever is allowed",
      { ring: ROOTS, order: { allowUnsigned: true, sha256: DIGEST } },
      "must be signed",
    ],
    ["a signature of a stranger", { ring: ROOTS, signature: release(OTHER) }, "unknown key"],
    ["one of a key without the role", { ring: BUNDLE, signature: release(AUTHOR) }, "not release"],
    [
      "one of a key that may not sign for this node",
      { ring: BUNDLE, signature: release(RELEASER), node: "gw-1" },
      "may not sign for node gw-1",
    ],
    ["one of a root key under a bundle", { ring: BUNDLE, signature: release(ROOT) }, "root key"],
    [
      "a signed document in its place",
      { ring: ROOTS, signature: signed("desired", JSON.stringify(RELEASE), ROOT) },
      "payload type",
    ],
    [
      "a binary for another platform",
      { ring: ROOTS, signature: release(ROOT, { platform: "linux-x64" }) },
      "is for linux-x64, this node is linux-arm64",
    ],
    [
      "another digest than the operator names",
      { ring: ROOTS, signature: release(ROOT), order: { sha256: "b".repeat(64) } },
      "another binary",
    ],
    ["what is no envelope", { ring: ROOTS, signature: "{}" }, "no signed envelope"],
    [
      "a release that lacks its size",
      { ring: ROOTS, signature: release(ROOT, { size: 0 }) },
      "size",
    ],
  ])("%s", (_, given, why) => {
    const verdict = judge(given);
    expect(verdict.type === "Refused" && verdict.message).toContain(why);
  });
});
