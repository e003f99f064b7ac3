// What the doors show of trust: what is in force, and the files that the root keys lie in, put side by side.

import type { AgentConfig } from "../api/config.ts";
import type { Sha256 } from "../api/decode-context.ts";
import { keyIdOf } from "../api/dsse.ts";
import type { Files } from "../host/files.ts";
import { readTrustDirectory } from "../host/trust-keys.ts";
import { rfc3339 } from "../lib/clock.ts";
import type { RootKeyEntry, TrustEntry } from "../server/trust-routes.ts";
import type { TrustView } from "../source/trust.ts";

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
