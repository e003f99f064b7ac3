// Randomness as a parameter: a seed replays a whole run.

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** `length` random bytes as lower-case hexadecimal digits (2 × length characters). */
  hex(length: number): string;
}

/** A secret of 256 bits, as 43 characters that a URL and a header take as they are. */
export function randomSecret(random: Random): string {
  const bytes = Uint8Array.fromHex(random.hex(32));
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** `ms` spread uniformly over [ms × (1 − share), ms × (1 + share)]. */
export function jitter(random: Random, ms: number, share: number): number {
  return Math.round(ms * (1 - share + 2 * share * random.next()));
}
