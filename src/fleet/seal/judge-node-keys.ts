// Whether the keys that a node publishes are those that an operator has accepted: who owns the broker can publish others.

import { areWhole, isRotated, type PublishedKeys } from "../../protocol/node-keys.ts";
import type { VerifySignature } from "../../protocol/trust-bundle.ts";
import type { KnownNode } from "../known-nodes.ts";

/** The signing keys that an operator has accepted, by node. */
export type KnownKeys = ReadonlyMap<string, Uint8Array>;

export type NodeKeyState =
  | { readonly type: "Known" | "New" | "Changed"; readonly keys: PublishedKeys }
  /** Another one, for which the known one vouches. */
  | { readonly type: "Rotated"; readonly keys: PublishedKeys }
  /** The node has published none, or they are not signed by its own key. */
  | { readonly type: "None" | "Broken" };

export function judgeNodeKeys(
  { name, state }: KnownNode,
  known: KnownKeys,
  verify: VerifySignature,
): NodeKeyState {
  const keys = state?.keys;
  if (keys === undefined) return { type: "None" };
  if (!areWhole(name, keys, verify)) return { type: "Broken" };
  const accepted = known.get(name);
  if (accepted === undefined) return { type: "New", keys };
  if (accepted.toBase64() === keys.sign.toBase64()) return { type: "Known", keys };
  const isVouchedFor = isRotated({ node: name, known: accepted }, keys, verify);
  return { type: isVouchedFor ? "Rotated" : "Changed", keys };
}

/** Why no Secret is sealed to the node: a sentence with the remedy; undefined = it may be. */
export function keyProblem(name: string, { type }: NodeKeyState): string | undefined {
  switch (type) {
    case "Known":
    case "Rotated":
      return undefined;
    case "New":
      return `the key of ${name} is not accepted yet: compare what agent fleet keys and, on the device, agent trust show print, then agent fleet keys --accept ${name}`;
    case "Changed":
      return `the key of ${name} is not the one that was accepted: the device was rebuilt, or someone else answers in its name; compare it as a new one, then agent fleet keys --accept ${name}`;
    case "None":
      return `${name} has published no key: it has not connected yet, or its agent is older; update it`;
    case "Broken":
      return `${name} has published keys that it did not sign; someone else may answer in its name`;
  }
}
