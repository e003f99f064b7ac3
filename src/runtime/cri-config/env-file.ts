// Variables of a file that a container wrote, by its keys. kubelet: ParseEnv
//
// The format is a part of what a POSIX shell reads: `NAME='value'`, in which nothing is replaced and lines may end;
// blank lines, and comments after `#`.

import type { FileKeySelector } from "../../api/v1/key-and-field-refs.ts";
import { configError } from "../../lib/errors.ts";
import type { EnvValue } from "./expansion.ts";

/** Of one file, in bytes. */
export const MAX_ENV_FILE = 64 * 1024;
/** Of all files that one container refers to. */
const MAX_ENV_FILES = 1024 * 1024;
/** Of one value. */
const MAX_VALUE = 32 * 1024;

/** The bytes of a file, at most MAX_ENV_FILE; undefined = there is none. */
export type ReadEnvFile = (selector: FileKeySelector) => Uint8Array | undefined;

/** The files that the variables of one container refer to; each is read and parsed once. */
export class EnvFiles {
  readonly #read: ReadEnvFile;
  readonly #parsed = new Map<string, EnvFile | undefined>();
  #size = 0;

  constructor(read: ReadEnvFile) {
    this.#read = read;
  }

  /** undefined = it does not exist, and is optional. Throws AgentError `CreateContainerConfigError`, without a value. */
  value(selector: FileKeySelector): EnvValue | undefined {
    const { key, optional } = selector;
    const where = `env file ${JSON.stringify(selector.path)} of volume "${selector.volumeName}"`;
    const file = this.#file(selector, where);
    if (file === undefined) {
      if (optional) return undefined;
      throw configError(`couldn't find ${where}: it does not exist`);
    }
    const value = file.values.get(key);
    if (value === undefined) {
      // What stands behind the mistake is unknown.
      if (file.error !== undefined) throw configError(`couldn't read ${where}: ${file.error}`);
      if (optional) return undefined;
      throw configError(`couldn't find key ${key} in ${where}`);
    }
    if (value.length > MAX_VALUE)
      throw configError(
        `the value of key ${key} in ${where} is longer than ${MAX_VALUE} bytes; make it shorter`,
      );
    return textOrBytes(value);
  }

  #file(selector: FileKeySelector, where: string): EnvFile | undefined {
    const id = `${selector.volumeName}/${selector.path}`;
    const known = this.#parsed.get(id);
    if (known !== undefined || this.#parsed.has(id)) return known;
    const bytes = this.#read(selector);
    this.#size += bytes?.length ?? 0;
    if (this.#size > MAX_ENV_FILES)
      throw configError(
        `with ${where} the env files of the container have more than ${MAX_ENV_FILES} bytes; use fewer or smaller files`,
      );
    const file = bytes === undefined ? undefined : parseEnvFile(bytes);
    this.#parsed.set(id, file);
    return file;
  }
}

/** For what is decided without the volumes: what containers write is known only when another one starts. */
export const UNKNOWN_ENV_FILES: Pick<EnvFiles, "value"> = { value: () => undefined };

export interface EnvFile {
  /** By key, the first of each; bytes as characters. */
  readonly values: ReadonlyMap<string, string>;
  /** What is wrong with the first line that cannot be read, without what it says; nothing after it was read. */
  readonly error?: string;
}

/** One variable from the beginning of a line, or what is between two of them. `\r\n` ends a line as `\n` does. */
const BLANK = /[ \t]*(?:#[^\n]*|\r)?(?:\n|$)/y;
const NAME = /[ \t]*([^=\n]*)(=?)/y;
const VALUE = /'([^']*)'/y;
const REST = /(?:[ \t]+#[^\n]*|[ \t]*\r?)(?:\n|$)/y;

export function parseEnvFile(bytes: Uint8Array): EnvFile {
  const text = Buffer.from(bytes).toString("latin1");
  const values = new Map<string, string>();
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) at = pattern.lastIndex;
    return match;
  };
  while (at < text.length) {
    if (take(BLANK) !== null) continue;
    const from = at;
    const failed = (what: string): EnvFile => ({
      values,
      error: `${what} at line ${text.slice(0, from).split("\n").length}`,
    });
    const [, name = "", sign = ""] = take(NAME) ?? [];
    if (name === "" || sign === "") return failed("invalid environment variable format");
    if (/\s$/.test(name)) return failed("whitespace before '=' is not allowed");
    const [, value] = take(VALUE) ?? [];
    if (value === undefined)
      return failed(
        text[at] === "'"
          ? "the closing single quote is missing"
          : "the value must be enclosed in single quotes",
      );
    if (take(REST) === null) return failed("unexpected content after the closing quote");
    if (!values.has(name)) values.set(name, value);
  }
  return { values };
}

/** Text if it is UTF-8. */
function textOrBytes(characters: string): EnvValue {
  const bytes = new Uint8Array(Buffer.from(characters, "latin1"));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // Values may be bytes that are not UTF-8.
    return bytes;
  }
}
