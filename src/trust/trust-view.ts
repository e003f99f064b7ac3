// Performs: what the doors show of trust: what is in force, and the files that the root keys lie in, put side by side.

import type { AgentConfig } from "../config/config.ts";
import type { Sha256 } from "../api/decode/decode-context.ts";
import { keyIdOf } from "../protocol/dsse.ts";
import type { Files } from "../host/files.ts";
import { readTrustDirectory } from "../host/trust-keys.ts";
import { rfc3339 } from "../lib/clock.ts";
import type { TrustView } from "./trust.ts";

export interface TrustDoor {
  /** Keys are read anew. */
  readonly current: () => TrustView;
  /** Throws when the disk does not take it. */
  readonly reset: () => void;
}

export interface TrustEntryOptions {
  readonly files: Files;
  readonly sha256: Sha256;
  readonly config: Pick<AgentConfig, "trustPath" | "mqtt">;
  readonly trust: TrustView;
}

interface KeyFile {
  readonly keyid: string;
  readonly path: string;
}

export function trustEntry({ files, sha256, config, trust }: TrustEntryOptions): TrustEntry {
  const { trustPath } = config;
  const directory = readTrustDirectory(files, trustPath);
  const keyFiles = directory.keys.map(({ key, path }) => ({ keyid: keyIdOf(key, sha256), path }));
  return {
    required: trust.required,
    why: whyOf(config, trust, keyFiles),
    trustPath,
    rootKeys: rootKeysOf(keyFiles, trust),
    ...bundleOf(trust),
    problems: [...new Set([...directory.problems, ...problemsOf(trust)])],
  };
}

function whyOf(
  { trustPath, mqtt }: TrustEntryOptions["config"],
  { required }: TrustView,
  keyFiles: readonly KeyFile[],
): string {
  if (!required) return `no key has ever been seen in ${trustPath}`;
  if (mqtt?.requireSignature === true) return "the configuration says mqtt.requireSignature: true";
  if (keyFiles.length > 0) return `there is a key in ${trustPath}`;
  return "this node has required it before, and only a reset takes that back";
}

/** Those that count first. */
function rootKeysOf(files: readonly KeyFile[], { rootKeyIds }: TrustView): readonly RootKeyEntry[] {
  const inForce = new Set(rootKeyIds);
  const known = files.map(({ keyid, path }) => ({
    keyid,
    file: path,
    inForce: inForce.has(keyid),
  }));
  const elsewhere = [...inForce].filter((id) => !files.some(({ keyid }) => keyid === id));
  return [
    ...known.filter((one) => one.inForce),
    ...elsewhere.map((keyid) => ({ keyid, inForce: true })),
    ...known.filter((one) => !one.inForce),
  ];
}

function bundleOf({ bundleVersion, notBefore, keys }: TrustView): Pick<TrustEntry, "bundle"> {
  if (bundleVersion === 0) return {};
  const from = notBefore === undefined ? {} : { notBefore: rfc3339(notBefore) };
  const shown = keys.map(({ keyId, ...scope }) => ({ keyid: keyId, ...scope }));
  return { bundle: { version: bundleVersion, ...from, keys: shown } };
}

function problemsOf({ required, unusable, lastRejected }: TrustView): readonly string[] {
  const why = required && unusable !== undefined ? [`no document is accepted: ${unusable}`] : [];
  if (lastRejected === undefined) return why;
  const { code, message } = lastRejected;
  return [...why, `a TrustBundle was refused (${code}): ${message}`];
}

export interface RootKeyEntry {
  readonly keyid: string;
  /** Where it lies in `trustPath`; absent = only in the bundle. */
  readonly file?: string;
  /** False = the bundle names other root keys: this one signs nothing. */
  readonly inForce: boolean;
}

export interface SigningKeyEntry {
  readonly keyid: string;
  readonly roles: readonly string[];
  /** Absent = all, empty = nobody. */
  readonly nodes?: readonly string[];
  readonly groups?: readonly string[];
}

/** Plain data, as it is shown. */
export interface TrustEntry {
  readonly required: boolean;
  /** The sentence why. */
  readonly why: string;
  readonly trustPath: string;
  readonly rootKeys: readonly RootKeyEntry[];
  /** Absent = none was accepted yet: root keys sign everything. */
  readonly bundle?: {
    readonly version: number;
    /** RFC 3339. */
    readonly notBefore?: string;
    readonly keys: readonly SigningKeyEntry[];
  };
  /** Sentences with the remedy. */
  readonly problems: readonly string[];
}
