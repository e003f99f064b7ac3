// Performs: the root keys in trust.d: whoever may write there decides whose documents run here.

import { join } from "node:path";
import type { PublicKey } from "../protocol/trust-bundle.ts";
import type { RootKeys } from "../protocol/trust-record.ts";
import { messageOf } from "../lib/errors.ts";
import { publicKeyOfPem } from "./ed25519.ts";
import type { FileInfo, Files } from "./files.ts";

export interface RootKeyFile {
  readonly key: PublicKey;
  readonly path: string;
}

export interface TrustDirectory {
  /** By file name; a key that lies in two files comes twice. */
  readonly keys: readonly RootKeyFile[];
  readonly problems: readonly string[];
}

const SUFFIX = ".pub";
/** A PEM public key has 113 bytes; more is a comment. */
const MAX_BYTES = 4096;
const MAX_FILES = 64;
const WRITABLE_BY_ALL = 0o002;
const REMEDY = "put the PEM text of a public Ed25519 key there (openssl pkey -pubout)";

/** Asked anew for every judgement: a few system calls per key. Never throws. No directory means no keys, which is no problem. */
export function readRootKeys(files: Files, directory: string): RootKeys {
  const { keys, problems } = readTrustDirectory(files, directory);
  const byText = new Map(keys.map(({ key }) => [key.toHex(), key]));
  return { keys: [...byText.values()], problems };
}

/** The same with the file of each key. */
export function readTrustDirectory(files: Files, directory: string): TrustDirectory {
  try {
    return readDirectory(files, directory);
  } catch (error) {
    return { keys: [], problems: [`${messageOf(error)}; make ${directory} readable`] };
  }
}

function readDirectory(files: Files, directory: string): TrustDirectory {
  const found = files.target(directory);
  if (found === undefined) return { keys: [], problems: missing(files, directory) };
  if (found.kind !== "directory")
    return only(`${directory} is no directory; make it one and put the public keys into it`);
  if ((found.mode & WRITABLE_BY_ALL) !== 0)
    return only(
      `everybody may write to ${directory}, so its keys do not count; chmod o-w ${directory}`,
    );
  const entries = files.list(directory).filter(({ name }) => !name.startsWith("."));
  const named = entries.filter(({ name }) => name.endsWith(SUFFIX));
  const read = named.slice(0, MAX_FILES).map((entry) => readKey(files, directory, entry));
  return {
    keys: read.filter((one) => typeof one !== "string"),
    problems: [
      ...read.filter((one) => typeof one === "string"),
      ...tooMany(directory, named.length),
      ...misnamed(directory, entries),
    ],
  };
}

/** A link into nothing is a mistake, no directory at all is a node without keys. */
function missing(files: Files, directory: string): readonly string[] {
  if (files.info(directory) === undefined) return [];
  return [`${directory} is a link that leads nowhere; make it a directory`];
}

/** The key, or the sentence why there is none. */
function readKey(files: Files, directory: string, info: FileInfo): RootKeyFile | string {
  const path = join(directory, info.name);
  if (info.kind !== "file") return `${path} is no regular file; ${REMEDY}`;
  if ((info.mode & WRITABLE_BY_ALL) !== 0)
    return `everybody may write to ${path}, so it does not count; chmod o-w ${path}`;
  if (info.size > MAX_BYTES) return `${path} is larger than ${MAX_BYTES} bytes; ${REMEDY}`;
  try {
    const text = new TextDecoder().decode(files.read(path, MAX_BYTES));
    if (text.includes("PRIVATE KEY-----"))
      return `${path} holds a private key, which must not lie on a node; remove it, make a new pair, and ${REMEDY}`;
    const key = publicKeyOfPem(text);
    return key === undefined ? `${path} is no public Ed25519 key in PEM; ${REMEDY}` : { key, path };
  } catch (error) {
    return `${messageOf(error)}; ${REMEDY}`;
  }
}

function tooMany(directory: string, count: number): readonly string[] {
  if (count <= MAX_FILES) return [];
  return [
    `${directory} holds ${count} files *${SUFFIX}, only the first ${MAX_FILES} by name count; remove some`,
  ];
}

/** A key under another name would be missed in silence. */
function misnamed(directory: string, entries: readonly FileInfo[]): readonly string[] {
  return entries
    .filter(({ name }) => name.endsWith(".pem"))
    .map(
      ({ name }) =>
        `${join(directory, name)} does not count, only files *${SUFFIX} do; rename it if it is a public key, take it away if it is a private one`,
    );
}

function only(problem: string): TrustDirectory {
  return { keys: [], problems: [problem] };
}
