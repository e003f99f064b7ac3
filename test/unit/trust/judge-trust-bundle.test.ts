import { describe, expect, test } from "bun:test";

import { verifyEd25519 } from "../../../src/host/crypto/ed25519.ts";
import { judgeTrustBundle, type BundleVerdict } from "../../../src/trust/judge-trust-bundle.ts";
import { keyringOf, type Keyring } from "../../../src/trust/keyring.ts";
import { aBundle, aSigner, anEnvelope, signed, type Signer } from "../../fakes/a-signer.ts";
import { sha256 } from "../api/digest.ts";
import { bytes } from "../source/desired-arrival.ts";

const [first, second, fresh, deploy, stranger] = [
  aSigner(),
  aSigner(),
  aSigner(),
  aSigner(),
  aSigner(),
];
const keys = [{ pub: deploy.text, roles: ["desired"] }];

/** Both roots lie in trust.d. */
const NO_BUNDLE = ring();
/** Version 5, with `first` as its only root. */
const FIVE = bundle({ version: 5, root: [first] }, first);
const AFTER_FIVE = ring(FIVE);

function ring(accepted?: string): Keyring {
  const kept = accepted === undefined ? {} : { bundle: { version: 5, envelope: bytes(accepted) } };
  const found = { keys: [first.pub, second.pub], problems: [] };
  const record = { required: true, ...kept };
  return keyringOf({ record, found, trustPath: "/trust.d", sha256 });
}

function bundle(
  { version = 6, root = [first], more = {} }: BundleOptions,
  ...signers: readonly Signer[]
): string {
  const written = aBundle({ version, root: root.map(({ text }) => text), keys, ...more });
  return signed("trust", written, ...signers);
}
interface BundleOptions {
  readonly version?: number;
  readonly root?: readonly Signer[];
  readonly more?: object;
}

function judge(message: string, keyring: Keyring): BundleVerdict {
  return judgeTrustBundle({ message: bytes(message), keyring, verify: verifyEd25519, sha256 });
}

const accepted: Readonly<Record<string, readonly [message: string, keyring: Keyring]>> = {
  "the first one, by a root key of trust.d": [
    bundle({ version: 1, root: [first, second] }, second),
    NO_BUNDLE,
  ],
  "the first one, that takes a root away, by one that stays": [
    bundle({ version: 1, root: [first] }, first),
    NO_BUNDLE,
  ],
  "a newer one by its root": [bundle({}, first), AFTER_FIVE],
  "a newer one with gaps in between": [bundle({ version: 77 }, first), AFTER_FIVE],
  "another root, by the old and the new one": [bundle({ root: [fresh] }, first, fresh), AFTER_FIVE],
  "one root more, by the old and the new one": [
    bundle({ root: [first, fresh] }, fresh, first),
    AFTER_FIVE,
  ],
};

const refused: Readonly<
  Record<string, readonly [message: string, keyring: Keyring, code: number, said: string]>
> = {
  "an empty payload": ["", AFTER_FIVE, 417, "an empty payload does not revoke the TrustBundle"],
  "one byte too much": ["x".repeat(48 * 1024 + 1), AFTER_FIVE, 413, "it has 49153 bytes"],
  "a plain one": [aBundle({ root: [first.text], keys }), AFTER_FIVE, 401, "it is not signed"],
  "a broken envelope": ['{"payload":1,"payloadType":2}', AFTER_FIVE, 401, "its envelope cannot"],
  "another type": [
    signed("desired", aBundle({ version: 6, root: [first.text], keys }), first),
    AFTER_FIVE,
    401,
    "the payload type is",
  ],
  "an unknown key's": [
    bundle({}, stranger),
    AFTER_FIVE,
    401,
    "it is not signed by a root key in force",
  ],
  "a signing key's": [
    bundle({}, deploy),
    AFTER_FIVE,
    401,
    "it is not signed by a root key in force",
  ],
  "by a root of trust.d that the bundle has left out": [
    bundle({ root: [second] }, second),
    AFTER_FIVE,
    401,
    `it is not signed by a root key in force (${first.id})`,
  ],
  "an older version": [bundle({ version: 4 }, first), AFTER_FIVE, 410, "its version 4 is older"],
  "its own version with other content": [
    bundle({ version: 5, more: { notBefore: "2026-11-21T08:00:00Z" } }, first),
    AFTER_FIVE,
    409,
    "version 5 was accepted with other content",
  ],
  "another root without that one's signature": [
    bundle({ root: [fresh] }, first),
    AFTER_FIVE,
    401,
    `it changes the root keys and none of the new ones has signed it; add a signature of ${fresh.id}`,
  ],
  "one root more without that one's signature": [
    bundle({ root: [first, fresh] }, first),
    AFTER_FIVE,
    401,
    "it changes the root keys",
  ],
  "one root less, only by the one that goes": [
    bundle({ version: 1, root: [first] }, second),
    NO_BUNDLE,
    401,
    "it changes the root keys",
  ],
  "rubbish, well signed": [signed("trust", "{", first), AFTER_FIVE, 400, ""],
  "a bundle without roots": [bundle({ root: [] }, first), AFTER_FIVE, 400, "root: "],
  "anything where there is no root key": [
    bundle({}, first),
    keyringOf({
      record: { required: true },
      found: { keys: [], problems: [] },
      trustPath: "/trust.d",
      sha256,
    }),
    401,
    "NoTrustedKey: no signature can be verified: there is no usable root key in /trust.d",
  ],
  "a newer one where the accepted one cannot be read": [
    bundle({ version: 9 }, first),
    ring("{}"),
    401,
    "NoTrustedKey: no signature can be verified: the accepted TrustBundle of version 5 cannot be read",
  ],
};

describe("a TrustBundle", () => {
  test.each(Object.entries(accepted))("is accepted: %s", (_sentence, [message, keyring]) => {
    expect(judge(message, keyring)).toMatchObject({ type: "Accepted" });
  });

  test.each(Object.entries(refused))(
    "is refused: %s",
    (_sentence, [message, keyring, code, said]) => {
      const verdict = judge(message, keyring);
      expect(verdict).toMatchObject({ type: "Refused", code });
      if (verdict.type === "Refused") expect(verdict.message).toStartWith(said);
    },
  );

  test("that is the accepted one changes nothing, whatever its signer", () => {
    expect(judge(FIVE, AFTER_FIVE)).toEqual({ type: "Unchanged" });
    expect(judge(bundle({ version: 5, root: [first] }, stranger), AFTER_FIVE)).toEqual({
      type: "Unchanged",
    });
  });

  test("is not parsed before a root key has verified it", () => {
    const verdict = judge(signed("trust", "{", stranger), AFTER_FIVE);
    expect(verdict).toMatchObject({ code: 401 });
  });

  test("is named by the digest of what is inside", () => {
    const payload = aBundle({ version: 6, root: [first.text], keys });
    expect(judge(signed("trust", payload, first), AFTER_FIVE)).toMatchObject({
      digest: `sha256:${sha256(anEnvelope("trust", payload, []).payload)}`,
    });
  });
});
