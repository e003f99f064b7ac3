// `agent fleet trust`: signs a TrustBundle with root keys and lays it on the broker for all nodes.

import { dirname, resolve } from "node:path";
import type { PublicKey, TrustBundle } from "../api/trust-bundle.ts";
import { decodeTrustBundle } from "../api/decode-trust-bundle.ts";
import { isEnvelope, payloadTypeOf, readSignedEnvelope } from "../api/dsse.ts";
import { topicFor } from "../api/mqtt-topics.ts";
import { CliError } from "../cli/cli-error.ts";
import type { Terminal } from "../cli/terminal.ts";
import { writtenBundle } from "./bundle-form.ts";
import {
  invalid,
  openFleet,
  type BrokerFlags,
  type Fleet,
  type FleetParts,
} from "./open-broker.ts";
import { readWritten } from "./read-input.ts";
import { readPublicKey, readSigner, signMessage } from "./signing-keys.ts";
import { write } from "./sign.ts";
import { wireObject } from "./wire-values.ts";

export interface TrustFlags {
  readonly filename: string;
  readonly key?: readonly string[];
}

export interface TrustSignFlags extends TrustFlags {
  readonly version?: number;
  readonly output?: string;
}

interface SignedBundle {
  readonly bundle: TrustBundle;
  readonly message: Uint8Array;
}

/** Needs no broker. */
export async function trustSign(terminal: Terminal, flags: TrustSignFlags): Promise<0> {
  const value = await readOne(flags.filename, terminal);
  const { bundle, message } = signBundle(value, flags, flags.version);
  write(terminal, flags.output, message);
  terminal.err(`${describe(bundle)}\n`);
  return 0;
}

/** A signed bundle as it is, or one that is signed now as the successor of the retained one. */
export async function trustPublish(parts: FleetParts, flags: TrustFlags & BrokerFlags): Promise<0> {
  const { terminal } = parts;
  const value = await readOne(flags.filename, terminal);
  await using fleet = await openFleet(parts, flags);
  const topic = topicFor({ type: "Trust", root: fleet.root });
  await fleet.session.subscribe([topic]);
  const before = retainedVersion(fleet, topic);
  const { bundle, message } = isEnvelope(value)
    ? signedBundle(value, flags.filename)
    : signBundle(value, flags, before + 1);
  if (bundle.version <= before)
    throw new CliError(
      1,
      `version ${bundle.version} is not newer than version ${before} on the broker; nodes would refuse it`,
    );
  await fleet.session.publish(topic, message, true);
  await fleet.session.subscribe([topic]);
  if (retainedVersion(fleet, topic) !== bundle.version)
    throw new CliError(
      1,
      `the broker does not hold version ${bundle.version} on ${topic}; somebody else published too`,
    );
  terminal.out(`${describe(bundle)} is published\n`);
  return 0;
}

async function readOne(path: string, terminal: Terminal): Promise<unknown> {
  const { file, documents } = await readWritten(path, terminal);
  const [document, second] = documents;
  if (document !== undefined && second === undefined) return document.value;
  throw new CliError(2, `${file} must hold exactly one TrustBundle`);
}

function signBundle(value: unknown, flags: TrustFlags, version: number | undefined): SignedBundle {
  const { filename, key = [] } = flags;
  if (key.length === 0)
    throw new CliError(2, `${filename} is not signed; name the root key with --key`);
  const directory = filename === "-" ? process.cwd() : dirname(resolve(filename));
  const keyOf = (written: string): PublicKey | undefined =>
    written.endsWith(".pub") ? readPublicKey(resolve(directory, written)) : undefined;
  const written = writtenBundle(value, { version, keyOf });
  if (!written.ok) throw invalid(filename, written.errors);
  const { payload, bundle } = written.value;
  return { bundle, message: signMessage("trust", payload, key.map(readSigner)) };
}

function signedBundle(value: unknown, file: string): SignedBundle {
  const envelope = readSignedEnvelope(value);
  if (!envelope.ok) throw invalid(file, envelope.errors);
  if (envelope.value.payloadType !== payloadTypeOf("trust"))
    throw new CliError(2, `${file} holds something signed that is no TrustBundle`);
  const bundle = decodeTrustBundle(envelope.value.payload);
  if (!bundle.ok) throw invalid(file, bundle.errors);
  return { bundle: bundle.value, message: new TextEncoder().encode(JSON.stringify(value)) };
}

/** 0 = none, or nothing that a node would take for one. */
function retainedVersion({ session }: Fleet, topic: string): number {
  const retained = session.latest.get(topic);
  const envelope = readSignedEnvelope(retained === undefined ? undefined : wireObject(retained));
  if (!envelope.ok) return 0;
  const bundle = decodeTrustBundle(envelope.value.payload);
  return bundle.ok ? bundle.value.version : 0;
}

function describe({ version, root, keys }: TrustBundle): string {
  return `TrustBundle version ${version} (${root.length} root, ${keys.length} signing keys)`;
}
