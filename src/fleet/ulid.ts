// The id of a command: 48 bits of time and 80 of chance, in Crockford's base 32. https://github.com/ulid/spec

const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;

/** `wallMs` since 1970; `hex` = 10 random bytes. */
export function ulid(wallMs: number, hex: string): string {
  return (
    base32(BigInt(Math.trunc(wallMs)), TIME_DIGITS) + base32(BigInt(`0x${hex}`), RANDOM_DIGITS)
  );
}

function base32(value: bigint, length: number): string {
  let rest = value;
  let text = "";
  while (text.length < length) {
    text = (DIGITS[Number(rest & 31n)] ?? "") + text;
    rest >>= 5n;
  }
  return text;
}
