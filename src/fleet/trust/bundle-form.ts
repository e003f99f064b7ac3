// Converts a TrustBundle as written by a person into the payload that root keys sign.

import { base64OfBytes } from "../../api/validation/base64.ts";
import { decodeTrustBundle } from "../../protocol/trust-bundle.ts";
import type { PublicKey, TrustBundle } from "../../protocol/trust-bundle.ts";
import { failed, ok, type Result } from "../../lib/result.ts";
import { isJsonObject } from "../../lib/json.ts";

export interface BundlePayload {
  readonly payload: Uint8Array;
  readonly bundle: TrustBundle;
}

export interface BundleContext {
  /** Used if the text has none. */
  readonly version: number | undefined;
  /** Reads a key that is the name of a file; undefined = take the text as it is. */
  readonly keyOf: (written: string) => PublicKey | undefined;
}

/** Checked by the decoder of the nodes. */
export function writtenBundle(value: unknown, context: BundleContext): Result<BundlePayload> {
  if (!isJsonObject(value))
    return failed([{ path: "", code: "Invalid", message: "must be an object {root, keys}" }]);
  const { root, keys, version } = value as { readonly [key: string]: unknown };
  const written = {
    ...value,
    version: version ?? context.version,
    root: Array.isArray(root) ? root.map((key: unknown) => keyText(key, context)) : root,
    keys: Array.isArray(keys) ? keys.map((key: unknown) => withKey(key, context)) : keys,
  };
  const payload = new TextEncoder().encode(JSON.stringify(written));
  const decoded = decodeTrustBundle(payload);
  return decoded.ok ? ok({ payload, bundle: decoded.value }) : failed(decoded.errors);
}

function withKey(entry: unknown, context: BundleContext): unknown {
  return isJsonObject(entry) ? { ...entry, pub: keyText(entry["pub"], context) } : entry;
}

function keyText(written: unknown, { keyOf }: BundleContext): unknown {
  const key = typeof written === "string" ? keyOf(written) : undefined;
  return key === undefined ? written : base64OfBytes(key);
}
