// The node's own key: made at the first start, beside the database. Who loses it loses the Secrets that are sealed here.

import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import type { Random } from "../lib/random.ts";
import type { StoreFiles } from "./store-files.ts";

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
  /** What went wrong with the key of before; to be said loudly. */
  readonly trouble: string | undefined;
  /** On the disk when it returns, or it throws: nothing may be sealed with a key that a restart does not find. */
  keep(): void;
}

/** Never throws: an agent without its key lacks old Secrets, and still runs pods. */
export function loadSecretKey(options: SecretKeyOptions): SecretKey {
  const { stateDir, files } = options;
  const path = join(stateDir, "secret.key");
  try {
    if (files.info(path) === undefined) return newKey(path, options, undefined);
    const bytes = readKey(path, files);
    return { path, bytes, trouble: undefined, keep: () => undefined };
  } catch (error) {
    return replace(path, messageOf(error), options);
  }
}

function readKey(path: string, files: StoreFiles): Uint8Array {
  const bytes = files.read(path, 2 * KEY_BYTES);
  if (bytes.length !== KEY_BYTES)
    throw new Error(`${path} has ${bytes.length} bytes, a key has ${KEY_BYTES}`);
  files.setMode(path, MODE);
  return bytes;
}

/** What cannot be used is kept for whoever can repair it, and makes room for a new key. */
function replace(path: string, why: string, options: SecretKeyOptions): SecretKey {
  const aside = `${path}.damaged`;
  try {
    options.files.rename(path, aside);
    return newKey(path, options, `${why}; it lies in ${aside} now, a new key took its place`);
  } catch (error) {
    return newKey(path, options, `${why}; it cannot be set aside: ${messageOf(error)}`);
  }
}

function newKey(
  path: string,
  { files, random }: SecretKeyOptions,
  trouble: string | undefined,
): SecretKey {
  const bytes = Uint8Array.fromHex(random.hex(KEY_BYTES));
  let isKept = false;
  const keep = (): void => {
    if (isKept) return;
    // What is there and could not be set aside may be a good key behind a bad moment: it is not written over.
    if (files.info(path) !== undefined) throw new Error(`${path} is in the way of a new key`);
    files.writeAtomic(path, bytes, MODE);
    isKept = true;
  };
  try {
    keep();
    return { path, bytes, trouble, keep };
  } catch (error) {
    const unkept = `no key can be written: ${messageOf(error)}`;
    return { path, bytes, trouble: trouble === undefined ? unkept : `${trouble}; ${unkept}`, keep };
  }
}
