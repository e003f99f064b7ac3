// Performs: keys of the node's own, each in a file beside the database, made at the first start. Without its key what is
// sealed is lost.

import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import type { Random } from "../lib/random.ts";
import type { PlainFileInfo, PlainFiles } from "../lib/files/plain-files.ts";

const KEY_BYTES = 32;
const MODE = 0o600;
/** Seals what is stored of Secrets. */
export const SECRET_KEY = "secret.key";
/** Other nodes and operators know its public half. */
export const NODE_KEY = "node.key";

export interface SecretKeyOptions {
  readonly stateDir: string;
  readonly files: PlainFiles;
  readonly random: Random;
}

export interface SecretKey {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Why the previous key is not used; the caller logs it as an error. */
  readonly trouble: string | undefined;
  /** What is wrong with a key that is used nevertheless. */
  readonly warning?: string;
  /** On the disk when it returns, or it throws: nothing may be sealed with a key that a restart would not find. */
  keep(): void;
}

/** Never throws: an agent without its key lacks stored Secrets, but still runs pods. */
export function loadSecretKey(options: SecretKeyOptions, name = SECRET_KEY): SecretKey {
  const { stateDir, files } = options;
  const path = join(stateDir, name);
  try {
    const info = files.info(path);
    if (info === undefined) return newKey(path, options, undefined);
    const read = readKey(path, info, files);
    if ("damage" in read) return replace(path, `${path} ${read.damage}`, options);
    const key = { path, bytes: read.bytes, trouble: undefined, keep: () => undefined };
    return { ...key, ...closeToOthers(path, info, files) };
  } catch (error) {
    // Unreadable is not damaged: the failure may be temporary and the key intact.
    const trouble = `${messageOf(error)}; the key file is left unchanged, and no Secret is stored until a start can read it`;
    return { ...unkeptKey(path, options), trouble };
  }
}

/** The key as it is, without making one; undefined = there is none. Throws when the file cannot be read reliably. */
export function lookAtSecretKey(
  stateDir: string,
  files: PlainFiles,
  name = SECRET_KEY,
): { readonly bytes: Uint8Array } | { readonly damage: string } | undefined {
  const path = join(stateDir, name);
  const info = files.info(path);
  return info === undefined ? undefined : readKey(path, info, files);
}

/** Throws when the file cannot be read reliably. */
function readKey(
  path: string,
  { kind, size }: PlainFileInfo,
  files: PlainFiles,
): { readonly bytes: Uint8Array } | { readonly damage: string } {
  if (kind === "directory") return { damage: "is a directory" };
  if (kind !== "file") throw new Error(`${path} is a ${kind}, not a regular file`);
  if (size !== KEY_BYTES) return { damage: `has ${size} bytes, a key has ${KEY_BYTES}` };
  const bytes = files.read(path, KEY_BYTES);
  if (bytes.length !== KEY_BYTES) throw new Error(`${path} changes while it is read`);
  // A file whose content never reached the disk reads as zeros.
  return bytes.some((byte) => byte !== 0) ? { bytes } : { damage: "contains only zeros" };
}

function closeToOthers(
  path: string,
  { mode }: PlainFileInfo,
  files: PlainFiles,
): Pick<SecretKey, "warning"> {
  if (mode === MODE) return {};
  try {
    files.setMode(path, MODE);
    return {};
  } catch (error) {
    return { warning: messageOf(error) };
  }
}

/** Renames the unusable key file, so that it can still be repaired, and creates a new key. */
function replace(path: string, why: string, options: SecretKeyOptions): SecretKey {
  try {
    const aside = freeName(`${path}.damaged`, options.files);
    options.files.renameDurably(path, aside);
    return newKey(path, options, `${why}; it was moved to ${aside} and replaced by a new key`);
  } catch (error) {
    return newKey(path, options, `${why}; it cannot be moved aside: ${messageOf(error)}`);
  }
}

/** Never overwrites an earlier damaged key: that one may be repairable. */
function freeName(name: string, files: PlainFiles): string {
  for (let number = 1; ; number += 1) {
    const path = number === 1 ? name : `${name}.${number}`;
    if (files.info(path) === undefined) return path;
  }
}

function newKey(path: string, options: SecretKeyOptions, trouble: string | undefined): SecretKey {
  const key = unkeptKey(path, options);
  try {
    key.keep();
    return { ...key, trouble };
  } catch (error) {
    const unkept = `no key can be written: ${messageOf(error)}`;
    return { ...key, trouble: trouble === undefined ? unkept : `${trouble}; ${unkept}` };
  }
}

function unkeptKey(
  path: string,
  { files, random }: SecretKeyOptions,
): Pick<SecretKey, "path" | "bytes" | "keep"> {
  const bytes = Uint8Array.fromHex(random.hex(KEY_BYTES));
  let isKept = false;
  const keep = (): void => {
    if (isKept) return;
    // A file that could not be read or moved aside may be an intact key: it is not overwritten.
    if (files.info(path) !== undefined) throw new Error(`${path} is in the way of a new key`);
    files.writeAtomic(path, bytes, MODE);
    isKept = true;
  };
  return { path, bytes, keep };
}
