import { describe, expect, test } from "bun:test";
import { generateKeyPairSync, sign } from "node:crypto";
import { publicKeyOfPem, verifyEd25519 } from "../../../src/host/crypto/ed25519.ts";
import { pemOfPublicKey } from "../../fakes/public-key-pem.ts";

const hex = (text: string): Uint8Array => Uint8Array.fromHex(text);

/** RFC 8032, section 7.1. */
const VECTORS = {
  "an empty message": {
    key: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    message: "",
    signature:
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  },
  "one byte": {
    key: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    message: "72",
    signature:
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  },
  "two bytes": {
    key: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    message: "af82",
    signature:
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  },
  "a hash of 64 bytes": {
    key: "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
    message:
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    signature:
      "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
  },
};

describe("a signature over", () => {
  test.each(Object.entries(VECTORS))("%s counts, and no changed one", (_case, vector) => {
    const [key, message, signature] = [vector.key, vector.message, vector.signature].map(hex);
    if (key === undefined || message === undefined || signature === undefined) throw new Error();
    expect(verifyEd25519(key, message, signature)).toBe(true);
    const flipped = (bytes: Uint8Array, at: number): Uint8Array =>
      bytes.with(at, (bytes[at] ?? 0) ^ 1);
    expect(verifyEd25519(key, Buffer.concat([message, hex("00")]), signature)).toBe(false);
    for (const at of [0, 31, 32, 63])
      expect(verifyEd25519(key, message, flipped(signature, at))).toBe(false);
    for (const at of [0, 31])
      expect(verifyEd25519(flipped(key, at), message, signature)).toBe(false);
  });
});

test("lengths that no key and no signature has verify nothing", () => {
  const { key, message, signature } = VECTORS["one byte"];
  const lengths = [0, 1, 31, 33, 63, 65, 128];
  for (const length of lengths) {
    expect(verifyEd25519(new Uint8Array(length), hex(message), hex(signature))).toBe(false);
    expect(verifyEd25519(hex(key), hex(message), new Uint8Array(length))).toBe(false);
  }
  expect(verifyEd25519(new Uint8Array(32).fill(0xff), hex(message), hex(signature))).toBe(false);
});

/** s + L instead of s: the same signature in other bytes would be a second digest of one envelope. */
test("a signature has one form only", () => {
  const { key, message, signature } = VECTORS["one byte"];
  const order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  const other = hex(signature);
  let carry = 0;
  for (let at = 0; at < 32; at += 1) {
    const sum = (other[32 + at] ?? 0) + (order[at] ?? 0) + carry;
    other[32 + at] = sum & 0xff;
    carry = sum >> 8;
  }
  expect(carry).toBe(0);
  expect(verifyEd25519(hex(key), hex(message), other)).toBe(false);
});

describe("PEM", () => {
  const pair = generateKeyPairSync("ed25519");
  const pem = pair.publicKey.export({ format: "pem", type: "spki" });

  test("is read as OpenSSL writes it, and written the same", () => {
    const raw = publicKeyOfPem(pem);
    if (raw === undefined) throw new Error("not read");
    expect(raw).toHaveLength(32);
    expect(pemOfPublicKey(raw)).toBe(pem);
    const message = new TextEncoder().encode("hello");
    expect(verifyEd25519(raw, message, sign(null, message, pair.privateKey))).toBe(true);
  });

  test.each([
    ["line ends of Windows", pem.replaceAll("\n", "\r\n")],
    ["a comment before it", `the root of the fleet\n${pem}`],
    ["no line feed at its end", pem.trimEnd()],
    ["short lines", pem.replace("MCow", "MCow\n")],
  ])("is read with %s", (_case, text) => {
    expect(publicKeyOfPem(text)).toEqual(publicKeyOfPem(pem));
  });

  const rsa = generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey;
  const x25519 = generateKeyPairSync("x25519").publicKey;
  test.each([
    ["nothing", ""],
    ["other text", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"],
    ["a private key", String(pair.privateKey.export({ format: "pem", type: "pkcs8" }))],
    ["an RSA key", String(rsa.export({ format: "pem", type: "spki" }))],
    ["an X25519 key", String(x25519.export({ format: "pem", type: "spki" }))],
    ["two keys", pem + pem],
    [
      "a key and a private one",
      pem + String(pair.privateKey.export({ format: "pem", type: "pkcs8" })),
    ],
    ["half a key", pem.replace(/.{8}\n-----END/, "\n-----END")],
    ["no end", pem.replace("-----END", "-----")],
    ["other letters", pem.replace("MCow", "MCo?")],
  ])("is not read from %s", (_case, text) => {
    expect(publicKeyOfPem(text)).toBeUndefined();
  });
});
