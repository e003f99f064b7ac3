// What an unquoted YAML scalar means: the core schema, and the older spellings that Kubernetes still reads.

export type ScalarValue = string | number | boolean | null;

const NULLS: ReadonlySet<string> = new Set(["", "~", "null", "Null", "NULL"]);
const CORE_BOOLEANS: ReadonlyMap<string, boolean> = new Map(
  (["true", "True", "TRUE"] as const)
    .map((word): [string, boolean] => [word, true])
    .concat((["false", "False", "FALSE"] as const).map((word) => [word, false])),
);
const WORD_BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["y", true],
  ["yes", true],
  ["on", true],
  ["n", false],
  ["no", false],
  ["off", false],
]);

const DECIMAL = /^[-+]?(0|[1-9][0-9]*)$/;
const OLD_OCTAL = /^[-+]?0[0-7]+$/;
const PREFIXED = /^[-+]?0([oO][0-7]+|[xX][0-9a-fA-F]+|[bB][01]+)$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const INFINITE = /^[-+]?\.(inf|Inf|INF)$/;
const NOT_A_NUMBER = /^\.(nan|NaN|NAN)$/;

/** `0644` is 420, `yes` is true, `1e3` and `1_000` are 1000; `80:80` and dates stay text. */
export function resolveScalar(text: string): ScalarValue {
  if (NULLS.has(text)) return null;
  const boolean = CORE_BOOLEANS.get(text) ?? wordBoolean(text);
  if (boolean !== undefined) return boolean;
  return resolveNumber(text) ?? text;
}

/** The same, but `yes`, `on` and the like stay text: so does what reads YAML 1.2. */
export function resolveModernScalar(text: string): ScalarValue {
  return wordBoolean(text) === undefined ? resolveScalar(text) : text;
}

/** The boolean behind y, yes, on, n, no, off (in lower, upper or title case). */
function wordBoolean(text: string): boolean | undefined {
  const lower = text.toLowerCase();
  const title = lower.slice(0, 1).toUpperCase() + lower.slice(1);
  if (text !== lower && text !== title && text !== text.toUpperCase()) return undefined;
  return WORD_BOOLEANS.get(lower);
}

function resolveNumber(written: string): number | undefined {
  // go-yaml: resolve
  const text = /^[-+0-9]/.test(written) ? written.replaceAll("_", "") : written;
  if (DECIMAL.test(text)) return noNegativeZero(Number(text));
  if (OLD_OCTAL.test(text)) return octal(text);
  if (PREFIXED.test(text)) return signed(text, Number(unsigned(text)));
  if (FLOAT.test(text)) return noNegativeZero(Number(text));
  if (INFINITE.test(text))
    return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return NOT_A_NUMBER.test(text) ? Number.NaN : undefined;
}

function octal(text: string): number {
  return signed(text, Number.parseInt(unsigned(text), 8));
}

function unsigned(text: string): string {
  return text.replace(/^[-+]/, "");
}

function signed(text: string, value: number): number {
  return noNegativeZero(text.startsWith("-") ? -value : value);
}

function noNegativeZero(value: number): number {
  return value === 0 ? 0 : value;
}
