// The PEM text of a raw Ed25519 public key, as `openssl pkey -pubout` writes it.

const SPKI_HEAD = Uint8Array.fromHex("302a300506032b6570032100");

export function pemOfPublicKey(raw: Uint8Array): string {
  const spki = Buffer.concat([SPKI_HEAD, raw]).toString("base64");
  return `-----BEGIN PUBLIC KEY-----\n${spki}\n-----END PUBLIC KEY-----\n`;
}
