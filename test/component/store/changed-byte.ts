/** An SQL expression: the blob of this column with another byte at `at`, an expression that counts from 1. */
export function withChangedByte(column: string, at: string): string {
  // One byte of a ciphertext in 256 is 0 already.
  const other = `CASE substr(${column}, ${at}, 1) WHEN x'00' THEN x'01' ELSE x'00' END`;
  return `CAST(substr(${column}, 1, ${at} - 1) || ${other} || substr(${column}, ${at} + 1) AS BLOB)`;
}
