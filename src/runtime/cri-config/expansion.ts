// `$(NAME)` in commands, arguments, values and paths. kubelet: third_party/forked/golang/expansion

/** Text, or bytes that are not valid UTF-8. */
export type EnvValue = string | Uint8Array;

const REFERENCE = /\$(?:\$|\(([^)]*)\))/g;

/**
 * Replaces `$(NAME)` by its value; a name without a value stays as it is written, `$$` is a `$`,
 * so `$$(NAME)` is not replaced. The result is bytes if one value is bytes.
 */
export function expandValue(text: string, values: ReadonlyMap<string, EnvValue>): EnvValue {
  if (!text.includes("$")) return text;
  const parts: EnvValue[] = [];
  let end = 0;
  for (const match of text.matchAll(REFERENCE)) {
    const [written, name] = match;
    parts.push(text.slice(end, match.index));
    parts.push(name === undefined ? "$" : (values.get(name) ?? written));
    end = match.index + written.length;
  }
  parts.push(text.slice(end));
  return joined(parts);
}

/** `expandValue` as text: invalid UTF-8 becomes U+FFFD. */
export function expand(text: string, values: ReadonlyMap<string, EnvValue>): string {
  const value = expandValue(text, values);
  return typeof value === "string" ? value : new TextDecoder().decode(value);
}

/** A word before and after its expansion. */
export interface ExpandedWord {
  readonly written: string;
  readonly expanded: string;
}

/** Shorter values are not worth hiding, and would match unrelated text. */
const MIN_HIDDEN = 4;

/** A message with each expanded word as it was written: the values may be secret. */
export function asWritten(message: string, words: readonly ExpandedWord[]): string {
  const forms = words.flatMap(({ written, expanded }) => {
    if (written === expanded || expanded.length < MIN_HIDDEN) return [];
    // Runtimes quote words, which also escapes characters within them.
    const quoted = JSON.stringify(expanded).slice(1, -1);
    return [...new Set([expanded, quoted])].map((form) => ({ form, written }));
  });
  return forms
    .toSorted((a, b) => b.form.length - a.form.length)
    .reduce((text, { form, written }) => text.replaceAll(form, () => written), message);
}

/** Names that `text` refers to and that have no value, or an empty one; each once, sorted. kubelet: ExpandContainerVolumeMounts */
export function missingIn(text: string, values: ReadonlyMap<string, EnvValue>): readonly string[] {
  const names = [...text.matchAll(REFERENCE)].flatMap(([, name]) => name ?? []);
  return [...new Set(names.filter((name) => (values.get(name)?.length ?? 0) === 0))].toSorted();
}

function joined(parts: readonly EnvValue[]): EnvValue {
  const texts = parts.filter((part) => typeof part === "string");
  if (texts.length === parts.length) return texts.join("");
  const encoder = new TextEncoder();
  const all = parts.map((part) => (typeof part === "string" ? encoder.encode(part) : part));
  return new Uint8Array(all.flatMap((part) => [...part]));
}
