// Words as a shell splits them, and `$NAME` in a compose file.

/** As text; what is no text or number as JSON. */
export function plain(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value);
}

/** A backslash keeps the next character, quotes keep blanks. */
export function shellWords(text: string): readonly string[] {
  const words = [...text.matchAll(WORD)].map(([word]) => word);
  return words.map((word) => word.replaceAll(PART, unquoted));
}

/** Quoted parts, kept characters and others, without a blank between them. */
const WORD = /(?:'[^']*'?|"(?:\\[^]|[^"\\])*"?|\\[^]?|[^\s'"\\])+/g;
const PART = /'([^']*)'?|"((?:\\[^]|[^"\\])*)"?|\\([^]?)/g;

function unquoted(
  _: string,
  single: string | undefined,
  double: string | undefined,
  kept: string | undefined,
): string {
  return single ?? double?.replaceAll(/\\([^])/g, "$1") ?? kept ?? "";
}

/** What names stand for. */
export type Variables = Readonly<Record<string, string | undefined>>;

export interface Interpolated {
  readonly text: string;
  /** Sentences: what is required and missing. */
  readonly errors: readonly string[];
  /** Names that stand for nothing, and become empty. */
  readonly unset: readonly string[];
}

const NAME = "[A-Za-z_][A-Za-z0-9_]*";
const PLAIN = new RegExp(`^\\$(${NAME})`);
const BRACED = new RegExp(`^(${NAME})(?:(:?[-?+])([^]*))?$`);

/** `$$`, `$NAME`, `${NAME}`, and with a default, an error or a replacement: `:-`, `-`, `:?`, `?`, `:+`, `+`. Compose: interpolation */
export function interpolate(text: string, variables: Variables): Interpolated {
  const errors: string[] = [];
  const unset: string[] = [];
  let out = "";
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at);
    const plain = PLAIN.exec(rest)?.[1];
    const end = rest.startsWith("${") ? closing(rest) : -1;
    if (rest.startsWith("$$")) {
      out += "$";
      at += 2;
    } else if (plain !== undefined) {
      out += valueOf(plain);
      at += plain.length + 1;
    } else if (end > 0) {
      out += braced(rest.slice(2, end));
      at += end + 1;
    } else {
      out += text.charAt(at);
      at += 1;
    }
  }
  return { text: out, errors, unset };

  function valueOf(name: string): string {
    const value = variables[name];
    if (value === undefined) unset.push(name);
    return value ?? "";
  }

  function braced(inside: string): string {
    const [, name = "", how = "", word = ""] = BRACED.exec(inside) ?? [];
    if (name === "") {
      errors.push(`\${${inside}} is no variable`);
      return "";
    }
    const value = variables[name];
    const isThere = value !== undefined && (value !== "" || !how.startsWith(":"));
    if (how === "") return valueOf(name);
    if (how.endsWith("-")) return isThere ? value : nested(word);
    if (how.endsWith("+")) return isThere ? nested(word) : "";
    if (isThere) return value;
    errors.push(`\${${name}} is required: ${word === "" ? "set it" : word}`);
    return "";
  }

  function nested(word: string): string {
    const inner = interpolate(word, variables);
    errors.push(...inner.errors);
    unset.push(...inner.unset);
    return inner.text;
  }
}

/** Index of the brace that ends a text which begins with `${`; -1 = there is none. */
function closing(text: string): number {
  let depth = 0;
  for (let at = 1; at < text.length; at += 1) {
    if (text.charAt(at) === "{") depth += 1;
    else if (text.charAt(at) === "}") depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

interface EnvLine {
  readonly name: string;
  readonly value: string;
  /** Nothing in it is replaced. */
  readonly isLiteral: boolean;
}

/** Lines `NAME=value` of a .env file; quotes around a value are taken away. */
export function envLines(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(envEntries(text).map(({ name, value }) => [name, value]));
}

/**
 * The same as Compose reads it: `$NAME` in a value stands for a variable, or for a line before it, but not between single quotes.
 * `variables` come first.
 */
export function composeEnvLines(
  text: string,
  variables: Variables,
): { readonly values: Readonly<Record<string, string>> } & Omit<Interpolated, "text"> {
  const values: Record<string, string> = {};
  const known: Record<string, string | undefined> = { ...variables };
  const errors: string[] = [];
  const unset: string[] = [];
  for (const { name, value, isLiteral } of envEntries(text)) {
    const read = isLiteral ? undefined : interpolate(value, known);
    values[name] = read?.text ?? value;
    if (!(name in variables)) known[name] = values[name];
    errors.push(...(read?.errors ?? []));
    unset.push(...(read?.unset ?? []));
  }
  return { values, errors, unset };
}

function envEntries(text: string): readonly EnvLine[] {
  return text.split(/\r?\n/).flatMap((line): readonly EnvLine[] => {
    const written = line.trim().replace(/^export\s+/, "");
    const equals = written.indexOf("=");
    if (written.startsWith("#") || equals < 1) return [];
    const name = written.slice(0, equals).trim();
    const value = written.slice(equals + 1).trim();
    const [, quote, quoted] = /^(["'])([^]*)\1$/.exec(value) ?? [];
    return [{ name, value: quoted ?? value.replace(/\s+#.*$/, ""), isLiteral: quote === "'" }];
  });
}
