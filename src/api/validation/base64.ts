// Standard base64 as Kubernetes reads it: with padding; only line ends may stand in between.

const FORM = /^[A-Za-z0-9+/]*={0,2}$/;

/** undefined = not base64. */
export function bytesOfBase64(text: string): Uint8Array | undefined {
  const compact = text.replace(/[\r\n]/g, "");
  if (compact.length % 4 !== 0 || !FORM.test(compact)) return undefined;
  return Uint8Array.fromBase64(compact);
}

export function base64OfBytes(bytes: Uint8Array): string {
  return bytes.toBase64();
}

/** Each value of an object's data. */
export function base64Values(
  data: Readonly<Record<string, Uint8Array>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(data).map(([key, bytes]) => [key, base64OfBytes(bytes)]),
  );
}
