// The sealed Secrets of a document → what they hold, as if it were written there. Only a signed document has them: who can
// publish could else run a pod that prints them.

import { isJsonObject, memberOf, parseJson } from "../../lib/json.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { DocumentAddress } from "../../protocol/desired-document.ts";
import type { DesiredState } from "../../protocol/desired-state.ts";
import type { OpenedFacts } from "../../protocol/node-keys.ts";
import {
  sealedDocument,
  sealLabel,
  type SealedSecret,
  type Unseal,
} from "../../protocol/sealed-secret.ts";
import type { WrittenResource } from "./decode.ts";
import { refusal, refusalFor, type DocumentRefusal } from "./refusal.ts";

/** The feature of a node that has keys to which Secrets can be sealed. */
export const SEALED_SECRETS_FEATURE = "sealed-secrets";

/** What documents need of the node's own keys. */
export interface SealKeys {
  readonly unseal: Unseal;
  /** Signs the report that the Secrets were opened. */
  readonly signOpened: (facts: Omit<OpenedFacts, "node">) => Uint8Array;
  /** Which key Secrets should be sealed to. */
  readonly view: () => { readonly sealKey: string };
}

export interface OpenedSecrets {
  /** The Secrets as written. */
  readonly secrets: readonly WrittenResource[];
  /** `namespace/name` of each, sorted. */
  readonly names: readonly string[];
  /** Those that are sealed to other keys. */
  readonly otherKeys: readonly Rejection[];
  readonly damaged: readonly Rejection[];
}

const UNSIGNED =
  "sealed: an unsigned document cannot have sealed Secrets: put a root key into the trust directory of the node and sign the document";
const NO_KEYS = "sealed: this agent has no keys to which Secrets are sealed; leave the field out";

/** 401, 412 or 400; undefined = all of them are open. */
export function judgeSealed(
  sealed: DesiredState["sealed"],
  { otherKeys, damaged }: OpenedSecrets,
  node: { readonly isSigned: boolean; readonly hasKeys: boolean },
): DocumentRefusal | undefined {
  if (sealed.length === 0) return undefined;
  if (!node.isSigned) return refusal(401, UNSIGNED);
  if (!node.hasKeys) return refusal(412, NO_KEYS);
  if (damaged.length > 0) return refusalFor(400, damaged);
  return otherKeys.length > 0 ? refusalFor(412, otherKeys) : undefined;
}

/** Never throws. */
export function openSealed(
  sealed: DesiredState["sealed"],
  address: DocumentAddress,
  keys: SealKeys | undefined,
): OpenedSecrets {
  const opened = sealed.map((one, index) => openOne(one, { index, address, keys }));
  const of = (type: "OtherKeys" | "Damaged"): readonly Rejection[] =>
    opened.flatMap((one) => (one.type === type ? [one.rejection] : []));
  const secrets = opened.flatMap((one) => (one.type === "Opened" ? [one] : []));
  return {
    secrets: secrets.map(({ secret }) => secret),
    names: secrets.map(({ name }) => name).toSorted(),
    otherKeys: of("OtherKeys"),
    damaged: of("Damaged"),
  };
}

interface SealedPlace {
  readonly index: number;
  readonly address: DocumentAddress;
  readonly keys: SealKeys | undefined;
}

type OpenedOne =
  | { readonly type: "Opened"; readonly secret: WrittenResource; readonly name: string }
  | { readonly type: "OtherKeys" | "Damaged"; readonly rejection: Rejection };

function openOne(sealed: SealedSecret, place: SealedPlace): OpenedOne {
  const { index, address, keys } = place;
  const label = sealLabel(sealedDocument(address), sealed.metadata);
  const result = keys?.unseal(sealed, label) ?? { type: "OtherKeys" };
  switch (result.type) {
    case "OtherKeys": {
      const own = keys === undefined ? "" : ` ${keys.view().sealKey}`;
      const message = `is sealed to other keys than this node's${own}; seal it again for this node with agent fleet seal, or agent fleet apply --seal`;
      return { type: "OtherKeys", rejection: rejectionAt(sealed, place, ["OtherKeys", message]) };
    }
    case "Damaged": {
      const message = `cannot be opened: it is damaged, or was sealed for another document, name or namespace than ${sealedDocument(address)}; seal it again`;
      return { type: "Damaged", rejection: rejectionAt(sealed, place, ["SealDamaged", message]) };
    }
    case "Opened": {
      const value: unknown = parseJson(result.plain);
      if (isSecretOf(value, sealed)) {
        // Its fields have no place in the text of the document.
        const secret: WrittenResource = { index, value, locate: () => undefined, list: "sealed" };
        const { namespace, name } = sealed.metadata;
        return { type: "Opened", secret, name: `${namespace}/${name}` };
      }
      const message = "holds something else than the Secret that it names; seal it again";
      return { type: "Damaged", rejection: rejectionAt(sealed, place, ["SealDamaged", message]) };
    }
  }
}

function isSecretOf(value: unknown, { metadata }: SealedSecret): boolean {
  if (!isJsonObject(value) || value["kind"] !== "Secret") return false;
  const written = value["metadata"];
  const namespace = memberOf(written, "namespace") ?? "default";
  return memberOf(written, "name") === metadata.name && namespace === metadata.namespace;
}

function rejectionAt(
  { metadata }: SealedSecret,
  { index, address: { source, ref } }: SealedPlace,
  [code, message]: readonly [string, string],
): Rejection {
  return { source, ref, kind: "Secret", ...metadata, path: `sealed[${index}]`, code, message };
}
