import { describe, expect, test } from "bun:test";

import { openHpke, sealHpke } from "../../../src/host/crypto/hpke.ts";
import { sharedSecret, x25519KeyPair } from "../../../src/host/crypto/x25519.ts";

const bytes = (hex: string): Uint8Array => Uint8Array.fromHex(hex);
const text = (written: string): Uint8Array => new TextEncoder().encode(written);

/** RFC 9180, A.1.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode. */
const VECTOR = {
  info: bytes("4f6465206f6e2061204772656369616e2055726e"),
  sender: "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
  recipient: bytes("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8"),
  recipientPublic: "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
  enc: "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
  plain: "Beauty is truth, truth beauty",
  // Without the tag, which in the vector covers associated data too.
  ciphertext: "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218",
};
const random = { hex: () => VECTOR.sender };
const own = x25519KeyPair(VECTOR.recipient);

describe("HPKE", () => {
  test("seals as the vector of the RFC", () => {
    expect(own.publicKey.toHex()).toBe(VECTOR.recipientPublic);
    const { info } = VECTOR;
    const sealed = sealHpke(own.publicKey, text(VECTOR.plain), { info, random }).toHex();
    expect(sealed).toStartWith(VECTOR.enc + VECTOR.ciphertext);
    expect(sealed).toHaveLength((VECTOR.enc + VECTOR.ciphertext).length + 32);
  });

  const sealed = sealHpke(own.publicKey, text("secret"), { info: text("a"), random });

  test("opens with the same key and purpose only", () => {
    expect(openHpke(own, sealed, text("a"))).toEqual(text("secret"));
    expect(openHpke(own, sealed, text("b"))).toBeUndefined();
    const other = x25519KeyPair(bytes("11".repeat(32)));
    expect(openHpke(other, sealed, text("a"))).toBeUndefined();
  });

  test("does not open what was changed at any byte, or cut", () => {
    for (const [index] of sealed.entries()) {
      const changed = sealed.map((byte, at) => (at === index ? byte ^ 1 : byte));
      expect(openHpke(own, changed, text("a"))).toBeUndefined();
      expect(openHpke(own, sealed.slice(0, index), text("a"))).toBeUndefined();
    }
  });

  test("takes no point that gives a secret of zeros", () => {
    expect(sharedSecret(own.privateKey, new Uint8Array(32))).toBeUndefined();
    expect(() => sealHpke(new Uint8Array(32), text("x"), { info: text("a"), random })).toThrow(
      "none of X25519",
    );
  });
});
