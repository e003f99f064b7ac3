// Performs: makes the view of trust for the local API and `agent trust show`: the keys in force and their files.

import type { AgentConfig } from "../config/config.ts";
import { keyIdOf } from "../protocol/dsse.ts";
import type { Files } from "../host/files.ts";
import { readTrustDirectory } from "../host/root-keys.ts";
import { rfc3339 } from "../lib/clock.ts";
import type { RefusedDocument } from "../protocol/desired-document.ts";
import type { SigningKey } from "../protocol/trust-bundle.ts";
import type { NodeKeysEdge } from "../edges.ts";
import type { NodeKeysView } from "../protocol/node-keys.ts";
import type { Keyring } from "./keyring.ts";
import type { Trust } from "./trust.ts";
import type { Sha256 } from "../lib/system-sha256.ts";

export interface TrustViewOptions {
  readonly files: Files;
  readonly sha256: Sha256;
  readonly config: Pick<AgentConfig, "trustPath" | "mqtt">;
  readonly trust: Pick<Trust, "look" | "lastRejected">;
  readonly nodeKeys?: Pick<NodeKeysEdge, "view">;
}

interface KeyFile {
  readonly keyid: string;
  readonly path: string;
}

export function trustView({ files, sha256, config, trust, nodeKeys }: TrustViewOptions): TrustView {
  const { trustPath } = config;
  const keyring = trust.look();
  const directory = readTrustDirectory(files, trustPath);
  const keyFiles = directory.keys.map(({ key, path }) => ({ keyid: keyIdOf(key, sha256), path }));
  return {
    required: keyring.required,
    why: whyOf(config, keyring, keyFiles),
    trustPath,
    rootKeys: rootKeysOf(keyFiles, keyring),
    ...bundleOf(keyring),
    ...(nodeKeys === undefined ? {} : { nodeKeys: nodeKeys.view() }),
    problems: [...new Set([...directory.problems, ...problemsOf(keyring, trust.lastRejected())])],
  };
}

function whyOf(
  { trustPath, mqtt }: TrustViewOptions["config"],
  { required }: Keyring,
  keyFiles: readonly KeyFile[],
): string {
  if (!required) return `there has never been a key in ${trustPath}`;
  if (mqtt?.requireSignature === true) return "the configuration has mqtt.requireSignature: true";
  if (keyFiles.length > 0) return `there is a key in ${trustPath}`;
  return "this node has required signatures before; agent trust reset ends that";
}

/** Keys in force first. */
function rootKeysOf(files: readonly KeyFile[], { roots }: Keyring): readonly RootKeyView[] {
  const inForce = new Set(roots.map(({ id }) => id));
  const known = files.map(({ keyid, path }) => ({
    keyid,
    file: path,
    inForce: inForce.has(keyid),
  }));
  const elsewhere = [...inForce]
    .filter((id) => !files.some(({ keyid }) => keyid === id))
    .map((keyid) => ({ keyid, inForce: true }));
  return [...known, ...elsewhere].toSorted((a, b) => Number(b.inForce) - Number(a.inForce));
}

function bundleOf({ bundleVersion, notBefore, signers = [] }: Keyring): Pick<TrustView, "bundle"> {
  if (bundleVersion === 0) return {};
  const from = notBefore === undefined ? {} : { notBefore: rfc3339(notBefore) };
  const shown = signers.map(({ id, pub: _pub, ...scope }) => ({ keyid: id, ...scope }));
  return { bundle: { version: bundleVersion, ...from, keys: shown } };
}

function problemsOf(
  { required, unusable }: Keyring,
  lastRejected: RefusedDocument | undefined,
): readonly string[] {
  const why = required && unusable !== undefined ? [`no document is accepted: ${unusable}`] : [];
  if (lastRejected === undefined) return why;
  const { code, message } = lastRejected;
  return [...why, `a TrustBundle was refused (${code}): ${message}`];
}

export interface RootKeyView {
  readonly keyid: string;
  /** Its file in `trustPath`; absent = the key is only in the bundle. */
  readonly file?: string;
  /** False = the bundle has other root keys, so that signatures of this key do not count. */
  readonly inForce: boolean;
}

/** Absent scopes mean all, empty ones none. */
export interface SigningKeyView extends Omit<SigningKey, "pub"> {
  readonly keyid: string;
}

/** Plain data. */
export interface TrustView {
  readonly required: boolean;
  /** Why documents must be signed, or need not be. */
  readonly why: string;
  readonly trustPath: string;
  readonly rootKeys: readonly RootKeyView[];
  /** Absent = no bundle was accepted yet; root keys sign everything. */
  readonly bundle?: {
    readonly version: number;
    /** RFC 3339. */
    readonly notBefore?: string;
    readonly keys: readonly SigningKeyView[];
  };
  /** The node's own; absent = it has none. */
  readonly nodeKeys?: NodeKeysView;
  /** Sentences with the remedy. */
  readonly problems: readonly string[];
}
