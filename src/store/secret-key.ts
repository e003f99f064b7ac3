// Performs: the node's own key: made at the first start, beside the database. Who loses it loses the Secrets that are
// sealed here.

import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import type { Random } from "../lib/random.ts";
import type { StoreFileInfo, StoreFiles } from "./store-files.ts";

export const KEY_BYTES = 32;
const MODE = 0o600;

export interface SecretKeyOptions {
  readonly stateDir: string;
  readonly files: StoreFiles;
  readonly random: Random;
}

export interface SecretKey {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Why the key of before is not this one; to be said loudly. */
  readonly trouble: string | undefined;
  /** What is wrong with a key that is in use all the same. */
  readonly warning?: string;
  /** On the disk when it returns, or it throws: nothing may be sealed with a key that a restart does not find. */
  keep(): void;
}

/** Never throws: an agent without its key lacks old Secrets, and still runs pods. */
export function loadSecretKey(options: SecretKeyOptions): SecretKey {
  const { stateDir, files } = options;
  const path = join(stateDir, "secret.key");
  try {
    const info = files.info(path);
    if (info === undefined) return newKey(path, options, undefined);
    const read = readKey(path, info, files);
    if ("damage" in read) return replace(path, `${path} ${read.damage}`, options);
    const key = { path, bytes: read.bytes, trouble: undefined, keep: () => undefined };
    return { ...key, ...closeToOthers(path, info, files) };
  } catch (error) {
    // Not to be read is not to be damaged: it may be the good key behind a bad moment.
    const trouble = `${messageOf(error)}; it stays as it is, and no Secret is kept until a start that can read it`;
    return { ...unkeptKey(path, options), trouble };
  }
}

/** Throws when it does not come to know. */
function readKey(
  path: string,
  { kind, size }: StoreFileInfo,
  files: StoreFiles,
): { readonly bytes: Uint8Array } | { readonly damage: string } {
  if (kind === "directory") return { damage: "is a directory" };
  if (kind !== "file") throw new Error(`${path} is no file but a ${kind}, which is not read`);
  if (size !== KEY_BYTES) return { damage: `has ${size} bytes, a key has ${KEY_BYTES}` };
  const bytes = files.read(path, KEY_BYTES);
  if (bytes.length !== KEY_BYTES) throw new Error(`${path} changes while it is read`);
  // What a disk makes of a file whose content it never got.
  return bytes.some((byte) => byte !== 0) ? { bytes } : { damage: "holds nothing but zeros" };
}

function closeToOthers(
  path: string,
  { mode }: StoreFileInfo,
  files: StoreFiles,
): Pick<SecretKey, "warning"> {
  if (mode === MODE) return {};
  try {
    files.setMode(path, MODE);
    return {};
  } catch (error) {
    return { warning: messageOf(error) };
  }
}

/** What cannot be used is kept for whoever can repair it, and makes room for a new key. */
function replace(path: string, why: string, options: SecretKeyOptions): SecretKey {
  try {
    const aside = freeName(`${path}.damaged`, options.files);
    options.files.rename(path, aside);
    return newKey(path, options, `${why}; it lies in ${aside} now, a new key took its place`);
  } catch (error) {
    return newKey(path, options, `${why}; it cannot be set aside: ${messageOf(error)}`);
  }
}

/** What was set aside before may be worth more than this. */
function freeName(name: string, files: StoreFiles): string {
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
    // What is there and could not be read, or set aside, may be a good key: it is not written over.
    if (files.info(path) !== undefined) throw new Error(`${path} is in the way of a new key`);
    files.writeAtomic(path, bytes, MODE);
    isKept = true;
  };
  return { path, bytes, keep };
}
