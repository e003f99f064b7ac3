// Whether a binary may be used: the signed release beside it, with the keys of the node, or the operator's word.

import { decodeAgentRelease, type AgentRelease, type Platform } from "../protocol/agent-release.ts";
import { readSignedMessage, type SignedEnvelope } from "../protocol/dsse.ts";
import type { VerifySignature } from "../protocol/trust-bundle.ts";
import { noTrustedKey, type Keyring } from "../trust/keyring.ts";
import { judgeSignature } from "../trust/verify-signature.ts";
import type { UpdateOrder } from "./update-order.ts";

export interface ReleaseContext {
  readonly keyring: Keyring;
  readonly verify: VerifySignature;
  /** This node's name. */
  readonly node: string;
  readonly platform: Platform;
}

export type ReleaseVerdict =
  | { readonly type: "Signed"; readonly release: AgentRelease }
  | { readonly type: "Unsigned" }
  /** A sentence with the remedy. */
  | { readonly type: "Refused"; readonly message: string };

type Order = Pick<UpdateOrder, "sha256" | "allowUnsigned">;

/** `signature`: what lies beside the binary as `.sig`; undefined = nothing. */
export function judgeRelease(
  signature: Uint8Array | undefined,
  order: Order,
  context: ReleaseContext,
): ReleaseVerdict {
  const { keyring } = context;
  if (!keyring.required && keyring.unusable !== undefined) return withoutKeys(order);
  if (keyring.unusable !== undefined) return refused(noTrustedKey(keyring.unusable));
  if (signature === undefined) return refused(MISSING);
  const read = readSignedMessage(signature);
  switch (read.type) {
    case "Plain":
      return refused("the signature is no signed envelope; make it with agent fleet sign-release");
    case "Broken":
      return refused("the signed envelope cannot be read; make it with agent fleet sign-release");
    case "Signed":
      return judgeEnvelope(read.envelope, order, context);
  }
}

const MISSING =
  "this node has keys, so the binary must be signed: put its signature beside it as .sig (agent fleet sign-release)";

function withoutKeys({ sha256, allowUnsigned }: Order): ReleaseVerdict {
  if (sha256 !== undefined || allowUnsigned) return { type: "Unsigned" };
  return refused(
    "this node has no key that could verify a signature: name the digest with --sha256, or add --allow-unsigned",
  );
}

function judgeEnvelope(
  envelope: SignedEnvelope,
  order: Order,
  { keyring, verify, node, platform }: ReleaseContext,
): ReleaseVerdict {
  const verdict = judgeSignature({ envelope, role: "release", to: { node } }, keyring, verify);
  if (verdict.type === "Refused") return verdict;
  const read = decodeAgentRelease(envelope.payload);
  if (!read.ok) {
    const errors = read.errors.map(({ path, message }) => `${path} ${message}`.trim());
    return refused(`the signed release cannot be read: ${errors.join("; ")}`);
  }
  const release = read.value;
  if (release.platform !== platform)
    return refused(`the release is for ${String(release.platform)}, this node is ${platform}`);
  if (order.sha256 !== undefined && order.sha256 !== release.sha256)
    return refused(`--sha256 names another binary than the signed release, ${release.sha256}`);
  return { type: "Signed", release };
}

function refused(message: string): ReleaseVerdict {
  return { type: "Refused", message };
}
