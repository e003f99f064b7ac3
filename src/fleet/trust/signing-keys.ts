// Performs: private keys: made, read from PEM files, and used to sign messages.

import { createPrivateKey, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { CliError, UsageError } from "../../cli/exit-codes.ts";
import { readNamedFile } from "../../cli/read-file.ts";
import {
  keyIdOf,
  payloadTypeOf,
  preAuthEncoding,
  readSignedMessage,
  writeSignedEnvelope,
  type SignedKind,
} from "../../protocol/dsse.ts";
import type { PublicKey } from "../../protocol/trust-bundle.ts";
import { publicKeyOfPem, verifyEd25519 } from "../../host/crypto/ed25519.ts";
import { verifiedBy } from "../../trust/verify-signature.ts";
import { sha256 } from "../../lib/system-sha256.ts";

export interface SigningKeyPair {
  /** PKCS #8. */
  readonly privatePem: string;
  readonly publicPem: string;
  readonly pub: PublicKey;
  readonly keyid: string;
}

export interface Signer {
  readonly keyid: string;
  readonly pub: PublicKey;
  readonly sign: (message: Uint8Array) => Uint8Array;
}

export function makeKeyPair(): SigningKeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const publicPem = publicKey.export({ type: "spki", format: "pem" }).toString();
  const pub = publicKeyOfPem(publicPem);
  if (pub === undefined) throw new CliError("the system generated an unusable key");
  const privatePem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return { privatePem, publicPem, pub, keyid: keyIdOf(pub, sha256) };
}

/** The private key in a PEM file. Throws UsageError. */
export function readSigner(path: string): Signer {
  return signerOf(path, new TextDecoder().decode(readNamedFile(path)));
}

/** As `readSigner`, of a text that `path` contains or will contain. */
export function signerOf(path: string, pem: string): Signer {
  const key = privateKeyOf(path, pem);
  const raw = key.export({ format: "jwk" }).x;
  if (key.asymmetricKeyType !== "ed25519" || raw === undefined)
    throw new UsageError(`${path} is no Ed25519 key; make one with agent fleet keygen`);
  const pub = Uint8Array.fromBase64(raw, { alphabet: "base64url" });
  return {
    keyid: keyIdOf(pub, sha256),
    pub,
    sign: (message) => new Uint8Array(sign(null, message, key)),
  };
}

function privateKeyOf(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (thrown) {
    const what = pem.includes("PUBLIC KEY") ? "holds a public key" : "holds no private key in PEM";
    throw new UsageError(`${path} ${what}; name the private key`, thrown);
  }
}

/** The raw key of a `.pub` file; undefined = there is no such file, or it is something else. */
export function readPublicKey(path: string): PublicKey | undefined {
  try {
    return publicKeyOfPem(readFileSync(path, "utf8"));
  } catch {
    // Unreadable: the message below states what is expected.
    return undefined;
  }
}

/** Whether one of these keys has signed the message. */
export function isSignedBy(signers: readonly Signer[], message: Uint8Array): boolean {
  const read = readSignedMessage(message);
  const keys = signers.map(({ keyid, pub }) => ({ id: keyid, pub }));
  return read.type === "Signed" && verifiedBy(read.envelope, keys, verifyEd25519).length > 0;
}

/** The signed message, as bytes of JSON. */
export function signMessage(
  kind: SignedKind,
  payload: Uint8Array,
  signers: readonly Signer[],
): Uint8Array {
  const payloadType = payloadTypeOf(kind);
  const message = preAuthEncoding(payloadType, payload);
  const signatures = signers.map((signer) => ({ keyid: signer.keyid, sig: signer.sign(message) }));
  return new TextEncoder().encode(writeSignedEnvelope({ payloadType, payload, signatures }));
}
