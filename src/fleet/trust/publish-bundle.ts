// Performs: `agent fleet trust`: signs a TrustBundle with root keys and lays it on the broker for all nodes.

import { SAME_TIME_MS } from "../document/rival-watch.ts";
import { dirname, resolve } from "node:path";
import {
  type PublicKey,
  type TrustBundle,
  decodeTrustBundle,
} from "../../protocol/trust-bundle.ts";
import { isEnvelope, payloadTypeOf, readSignedEnvelope } from "../../protocol/dsse.ts";
import { topicFor } from "../../protocol/mqtt-topics.ts";
import { CliError, UsageError, invalidInput } from "../../cli/exit-codes.ts";
import type { Terminal } from "../../cli/process-io.ts";
import { rootKeysOf } from "../../trust/verify-signature.ts";
import { verifyEd25519 } from "../../host/crypto/ed25519.ts";
import { writtenBundle } from "./bundle-file.ts";
import { openFleet, type BrokerFlags, type FleetParts } from "../open-broker.ts";
import { readOnly } from "../read-input.ts";
import {
  isVersioned,
  nextBundleVersion,
  refuseOlder,
  refuseTooHigh,
  retainedBundle,
  type RetainedBundle,
} from "./next-bundle-version.ts";
import { readPublicKey, readSigner, signMessage, type Signer } from "./signing-keys.ts";
import { write } from "../document/sign.ts";
import { jsonBytes } from "../../protocol/wire-text.ts";
import { sha256 } from "../../lib/system-sha256.ts";

export interface TrustFlags {
  readonly filename: string;
  readonly key?: readonly string[];
  readonly bundleVersion?: number;
}

export interface TrustSignFlags extends TrustFlags {
  readonly output?: string;
}

interface SignedBundle {
  readonly bundle: TrustBundle;
  readonly message: Uint8Array;
}

/** Needs no broker. */
export async function trustSign(terminal: Terminal, flags: TrustSignFlags): Promise<0> {
  const { value } = await readOnly(flags.filename, "TrustBundle", terminal);
  const signers = rootSigners(flags);
  const { bundle, message } = signBundle(value, { flags, signers, version: flags.bundleVersion });
  write(terminal, flags.output, message);
  terminal.err(`${describe(bundle)}\n`);
  return 0;
}

/** Publishes a signed bundle unchanged, or signs one as the successor of the retained one. */
export async function trustPublish(parts: FleetParts, flags: TrustFlags & BrokerFlags): Promise<0> {
  const { terminal } = parts;
  const { value } = await readOnly(flags.filename, "TrustBundle", terminal);
  await using fleet = await openFleet(parts, flags);
  const topic = topicFor({ type: "Trust", root: fleet.root });
  await fleet.session.subscribe([topic]);
  const publishing = { retained: fleet.session.latest.get(topic), flags, terminal };
  const { bundle, message } = isEnvelope(value)
    ? signedBefore(value, publishing)
    : signNow(value, publishing);
  await fleet.session.publish(topic, message, true);
  await fleet.session.subscribe([topic]);
  await terminal.clock.sleep(SAME_TIME_MS);
  const held = fleet.session.latest.get(topic);
  if (held === undefined || !Buffer.from(held).equals(message))
    throw new CliError(
      `the broker does not retain version ${bundle.version} on ${topic}; another operator published at the same time, check and publish again`,
    );
  terminal.out(`${describe(bundle)} is published\n`);
  return 0;
}

interface Publishing {
  readonly retained: Uint8Array | undefined;
  readonly flags: TrustFlags;
  readonly terminal: Terminal;
}

function signedBefore(
  value: Readonly<Record<string, unknown>>,
  { retained, flags, terminal }: Publishing,
): SignedBundle {
  const signed = signedBundle(value, flags.filename);
  const before = retainedOf(retained, signed.bundle.root);
  if (before?.isVerified === true) refuseOlder(signed.bundle, before);
  else if (before !== undefined && before.version >= signed.bundle.version)
    terminal.err(
      `warning: the broker holds version ${before.version}, signed by none of the roots of this bundle, so it is not believed; nodes that took it answer 410\n`,
    );
  return signed;
}

function signNow(value: unknown, { retained, flags, terminal }: Publishing): SignedBundle {
  const signers = rootSigners(flags);
  const before = retainedOf(
    retained,
    signers.map(({ pub }) => pub),
  );
  const version = flags.bundleVersion ?? nextBundleVersion(value, before);
  const signed = signBundle(value, { flags, signers, version });
  if (before === undefined && flags.bundleVersion === undefined && !isVersioned(value))
    terminal.err(
      "warning: the broker holds no TrustBundle, so this is version 1; nodes that had a higher one answer 410, for them name it with --bundle-version\n",
    );
  if (before?.isVerified === true) refuseOlder(signed.bundle, before);
  return signed;
}

function rootSigners({ filename, key = [] }: TrustFlags): readonly Signer[] {
  if (key.length === 0)
    throw new UsageError(`${filename} is not signed; name the root key with --key`);
  return key.map(readSigner);
}

interface Signing {
  readonly flags: TrustFlags;
  readonly signers: readonly Signer[];
  readonly version: number | undefined;
}

function signBundle(value: unknown, { flags, signers, version }: Signing): SignedBundle {
  const { filename } = flags;
  const directory = filename === "-" ? process.cwd() : dirname(resolve(filename));
  const keyOf = (written: string): PublicKey | undefined =>
    written.endsWith(".pub") ? readPublicKey(resolve(directory, written)) : undefined;
  const written = writtenBundle(value, { version, keyOf });
  if (!written.ok) throw invalidInput(filename, written.errors);
  const { payload, bundle } = written.value;
  refuseTooHigh(bundle);
  return { bundle, message: signMessage("trust", payload, signers) };
}

function signedBundle(value: unknown, file: string): SignedBundle {
  const envelope = readSignedEnvelope(value);
  if (!envelope.ok) throw invalidInput(file, envelope.errors);
  if (envelope.value.payloadType !== payloadTypeOf("trust"))
    throw new UsageError(`${file} holds something signed that is no TrustBundle`);
  const bundle = decodeTrustBundle(envelope.value.payload);
  if (!bundle.ok) throw invalidInput(file, bundle.errors);
  refuseTooHigh(bundle.value);
  return { bundle: bundle.value, message: jsonBytes(value) };
}

function retainedOf(
  message: Uint8Array | undefined,
  roots: readonly PublicKey[],
): RetainedBundle | undefined {
  return retainedBundle(message, rootKeysOf(roots, sha256), verifyEd25519);
}

function describe({ version, root, keys }: TrustBundle): string {
  return `TrustBundle version ${version} (${root.length} root, ${keys.length} signing keys)`;
}
