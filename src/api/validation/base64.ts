// Standard base64 as Kubernetes reads it: with padding; only line ends may stand in between.

import { mapValues } from "../../lib/json.ts";

const FORM = /^[A-Za-z0-9+/]*={0,2}$/;

/** undefined = not base64. */
export function bytesOfBase64(text: string): Uint8Array | undefined {
  const compact = text.replace(/[\r\n]/g, "");
  if (compact.length % 4 !== 0 || !FORM.test(compact)) return undefined;
  return Uint8Array.fromBase64(compact);
}

/** Each value of an object's data. */
export function base64Values(
  data: Readonly<Record<string, Uint8Array>>,
): Readonly<Record<string, string>> {
  return mapValues(data, (bytes) => bytes.toBase64());
}
