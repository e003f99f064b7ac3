// Performs: reads the root keys in trust.d. Write access there decides whose documents this node accepts.

import { join } from "node:path";
import type { PublicKey, RootKeys } from "../protocol/trust-bundle.ts";
import { messageOf } from "../lib/errors.ts";
import { publicKeyOfPem } from "./crypto/ed25519.ts";
import { ownerProblem } from "./file-owner.ts";
import type { FileInfo, Files } from "./files.ts";

interface RootKeyFile {
  readonly key: PublicKey;
  readonly path: string;
}

export interface TrustDirectory {
  /** By file name; a key in two files is listed twice. */
  readonly keys: readonly RootKeyFile[];
  readonly problems: readonly string[];
}

const SUFFIX = ".pub";
/** A PEM public key has 113 bytes; the rest is room for comments. */
const MAX_BYTES = 4096;
const MAX_FILES = 64;
const REMEDY = "put the PEM text of a public Ed25519 key there (openssl pkey -pubout)";

/** Read for every verification: a few system calls per key. Never throws. A missing directory means no keys and no problem. */
export function readRootKeys(files: Files, directory: string): RootKeys {
  const { keys, problems } = readTrustDirectory(files, directory);
  const byText = new Map(keys.map(({ key }) => [key.toHex(), key]));
  return { keys: [...byText.values()], problems };
}

/** Like `readRootKeys`, with the file of each key. */
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
    return only(`${directory} is not a directory; replace it by a directory with the public keys`);
  const wrong = ownerProblem(directory, found, userOfProcess());
  if (wrong !== undefined)
    return only(`${directory} ${wrong.what}, so its keys are ignored; ${wrong.remedy}`);
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

/** A broken link is a mistake; a missing directory is a node without keys. */
function missing(files: Files, directory: string): readonly string[] {
  if (files.info(directory) === undefined) return [];
  return [`${directory} is a broken link; replace it by a directory`];
}

/** The key, or the problem as a sentence. */
function readKey(files: Files, directory: string, info: FileInfo): RootKeyFile | string {
  const path = join(directory, info.name);
  if (info.kind !== "file") return `${path} is not a regular file; ${REMEDY}`;
  const wrong = ownerProblem(path, info, userOfProcess());
  if (wrong !== undefined) return `${path} ${wrong.what}, so it is ignored; ${wrong.remedy}`;
  if (info.size > MAX_BYTES) return `${path} is larger than ${MAX_BYTES} bytes; ${REMEDY}`;
  try {
    const text = new TextDecoder().decode(files.read(path, MAX_BYTES));
    if (text.includes("PRIVATE KEY-----"))
      return `${path} contains a private key, which must not be stored on a node; remove it, create a new pair, and ${REMEDY}`;
    const key = publicKeyOfPem(text);
    return key === undefined
      ? `${path} is not a public Ed25519 key in PEM; ${REMEDY}`
      : { key, path };
  } catch (error) {
    return `${messageOf(error)}; ${REMEDY}`;
  }
}

function userOfProcess(): number {
  return process.geteuid?.() ?? 0;
}

function tooMany(directory: string, count: number): readonly string[] {
  if (count <= MAX_FILES) return [];
  return [
    `${directory} has ${count} files *${SUFFIX}, only the first ${MAX_FILES} by name are used; remove some`,
  ];
}

/** Otherwise a key under another name would be ignored silently. */
function misnamed(directory: string, entries: readonly FileInfo[]): readonly string[] {
  return entries
    .filter(({ name }) => name.endsWith(".pem"))
    .map(
      ({ name }) =>
        `${join(directory, name)} is ignored, only files *${SUFFIX} are read; rename it if it is a public key, remove it if it is a private one`,
    );
}

function only(problem: string): TrustDirectory {
  return { keys: [], problems: [problem] };
}
