// Performs: seals Secrets to the keys of nodes: the content is encrypted once, its key once for each node.

import { sealAes } from "../../host/crypto/aes-gcm.ts";
import { sealHpke } from "../../host/crypto/hpke.ts";
import type { Random } from "../../lib/random.ts";
import type { JsonObject } from "../../lib/json.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import { sealKeyId } from "../../protocol/node-keys.ts";
import { CONTENT_KEY_BYTES, SEALED_SECRET, sealLabel } from "../../protocol/sealed-secret.ts";
import { jsonBytes } from "../../protocol/wire-text.ts";
import { isSecret, namesOf } from "../document/sealed-object.ts";
import type { FleetTarget, WrittenInput } from "../document/compose-document.ts";

interface SealOptions {
  readonly target: FleetTarget;
  /** Raw X25519 public keys. */
  readonly recipients: readonly Uint8Array[];
  readonly random: Pick<Random, "hex">;
}

/** The SealedSecret as JSON. */
export function sealSecret(
  secret: JsonObject,
  { target, recipients, random }: SealOptions,
): unknown {
  const metadata = namesOf(secret);
  const document = "node" in target ? `node/${target.node}` : `group/${target.group}`;
  const label = new TextEncoder().encode(sealLabel(document, metadata));
  const key = Uint8Array.fromHex(random.hex(CONTENT_KEY_BYTES));
  const content = sealAes(jsonBytes(secret), { key, number: 0, label });
  const keys = recipients.map((recipient) => ({
    keyid: sealKeyId(recipient, sha256),
    wrapped: sealHpke(recipient, key, { info: label, random }),
  }));
  return SEALED_SECRET.write({
    apiVersion: "agent/v1",
    kind: "SealedSecret",
    metadata,
    spec: { content, keys },
  });
}

/** Each Secret that stands on its own, sealed; the rest as it is. */
export function sealInput(input: WrittenInput, options: SealOptions): WrittenInput {
  const objects = input.objects.map((object) =>
    isSecret(object.value) ? { ...object, value: sealSecret(object.value, options) } : object,
  );
  return { ...input, objects };
}
