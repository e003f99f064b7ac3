// bundle.yaml: converts a TrustBundle as written by a person into the payload that root keys sign.

import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { ok, type Result } from "../../lib/result.ts";
import {
  decodeTrustBundle,
  type PublicKey,
  type TrustBundle,
} from "../../protocol/trust-bundle.ts";
import { jsonBytes } from "../../protocol/wire-text.ts";

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
  const payload = jsonBytes(isJsonObject(value) ? withKeys(value, context) : value);
  const decoded = decodeTrustBundle(payload);
  return decoded.ok ? ok({ payload, bundle: decoded.value }) : decoded;
}

function withKeys(
  { version, root, keys, ...rest }: JsonObject,
  context: BundleContext,
): JsonObject {
  const keyText = (written: unknown): unknown => {
    const key = typeof written === "string" ? context.keyOf(written) : undefined;
    return key === undefined ? written : key.toBase64();
  };
  const withKey = (entry: unknown): unknown =>
    isJsonObject(entry) ? { ...entry, pub: keyText(entry["pub"]) } : entry;
  return {
    ...rest,
    version: version ?? context.version,
    root: Array.isArray(root) ? root.map(keyText) : root,
    keys: Array.isArray(keys) ? keys.map(withKey) : keys,
  };
}
