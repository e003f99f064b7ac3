// `$(NAME)` in commands, arguments, values and paths. kubelet: third_party/forked/golang/expansion

import { configError } from "../../lib/errors.ts";
import { byteLength } from "../../lib/short-text.ts";

/** Text, or bytes that are not valid UTF-8. */
export type EnvValue = string | Uint8Array;

const REFERENCE = /\$(?:\$|\(([^)]*)\))/g;
const ESCAPE = /\$\$/g;

/** Each `$(` before the last `)` is closed. Behind it the search for a `)` would run to the end of the text for every `$(`. */
function* referencesIn(text: string): Generator<RegExpExecArray> {
  const closed = text.lastIndexOf(")") + 1;
  yield* text.slice(0, closed).matchAll(REFERENCE);
  for (const match of text.slice(closed).matchAll(ESCAPE)) {
    match.index += closed;
    yield match;
  }
}

/** UTF-8 bytes of one expanded text: Linux starts no program with a longer argument or variable (MAX_ARG_STRLEN). */
export const MAX_EXPANDED = 128 * 1024;
/** Bytes of a container's environment, and of its command with arguments. */
const MAX_TOTAL = 1024 * 1024;

/**
 * Replaces `$(NAME)` by its value; a name without a value stays as it is written, `$$` is a `$`,
 * so `$$(NAME)` is not replaced. The result is bytes if one value is bytes.
 * Throws AgentError `CreateContainerConfigError` as soon as the result is longer than MAX_EXPANDED: values that refer to
 * each other grow exponentially. `field` names the text in that error; its values may be secret.
 */
export function expandValue(
  text: string,
  values: ReadonlyMap<string, EnvValue>,
  field: string,
): EnvValue {
  if (!text.includes("$")) return text;
  const parts: EnvValue[] = [];
  let size = 0;
  const add = (part: EnvValue): void => {
    size += sizeOf(part);
    if (size > MAX_EXPANDED)
      throw configError(
        `${field} is longer than ${MAX_EXPANDED} bytes when its $(NAME) are replaced; make the values that it refers to shorter`,
      );
    parts.push(part);
  };
  let end = 0;
  for (const match of referencesIn(text)) {
    const [written, name] = match;
    add(text.slice(end, match.index));
    add(name === undefined ? "$" : (values.get(name) ?? written));
    end = match.index + written.length;
  }
  add(text.slice(end));
  return joined(parts, size);
}

/** `expandValue` as text: invalid UTF-8 becomes U+FFFD. */
export function expand(text: string, values: ReadonlyMap<string, EnvValue>, field: string): string {
  const value = expandValue(text, values, field);
  return typeof value === "string" ? value : new TextDecoder().decode(value);
}

/** `expand` for each word of a command line. */
export function expandWords(
  words: readonly string[],
  values: ReadonlyMap<string, EnvValue>,
  field: "command" | "args",
): string[] {
  const total = new ExpandedTotal(`${field} of the container`);
  return words.map((word, index) => {
    const expanded = expand(word, values, `${field}[${index}]`);
    total.add(sizeOf(expanded));
    return expanded;
  });
}

/** Adds up the texts of one container, so that many of them are bounded as each of them is. */
export class ExpandedTotal {
  readonly #field: string;
  #size = 0;

  constructor(field: string) {
    this.#field = field;
  }

  /** Throws AgentError `CreateContainerConfigError` as soon as they are more than 1 MiB. */
  add(bytes: number): void {
    this.#size += bytes;
    if (this.#size > MAX_TOTAL)
      throw configError(
        `${this.#field} has more than ${MAX_TOTAL} bytes when its $(NAME) are replaced; use fewer or shorter values`,
      );
  }
}

/** In bytes of UTF-8. */
export function sizeOf(value: EnvValue): number {
  return typeof value === "string" ? byteLength(value) : value.length;
}

/** A word before and after its expansion. */
export interface ExpandedWord {
  readonly written: string;
  readonly expanded: string;
}

/** Shorter values are hidden only where they are quoted: they would match unrelated text. */
const MIN_HIDDEN = 4;

/** A message with each expanded word as it was written: the values may be secret. */
export function asWritten(message: string, words: readonly ExpandedWord[]): string {
  const forms = words.flatMap(({ written, expanded }) => {
    if (written === expanded || expanded === "") return [];
    // Runtimes quote words, which also escapes characters within them.
    const quoted = JSON.stringify(expanded).slice(1, -1);
    if (expanded.length < MIN_HIDDEN) return [{ form: `"${quoted}"`, written: `"${written}"` }];
    return [...new Set([expanded, quoted])].map((form) => ({ form, written }));
  });
  return forms
    .toSorted((a, b) => b.form.length - a.form.length)
    .reduce((text, { form, written }) => text.replaceAll(form, () => written), message);
}

/** Names that `text` refers to and that have no value, or an empty one; each once, sorted. kubelet: ExpandContainerVolumeMounts */
export function missingIn(text: string, values: ReadonlyMap<string, EnvValue>): readonly string[] {
  const names = [...referencesIn(text)].flatMap(([, name]) => name ?? []);
  return [...new Set(names.filter((name) => (values.get(name)?.length ?? 0) === 0))].toSorted();
}

function joined(parts: readonly EnvValue[], size: number): EnvValue {
  const texts = parts.filter((part) => typeof part === "string");
  if (texts.length === parts.length) return texts.join("");
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(size);
  let end = 0;
  for (const part of parts) {
    const encoded = typeof part === "string" ? encoder.encode(part) : part;
    bytes.set(encoded, end);
    end += encoded.length;
  }
  return bytes;
}
