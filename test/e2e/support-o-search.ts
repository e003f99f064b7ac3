// Looks for values in whatever the agent gives out, in every form in which a program may write them.

/** A text of the agent, and where it stands. */
export interface Output {
  readonly where: string;
  readonly text: string | Uint8Array;
}

/** Plain, in JSON, in a URL, in hexadecimal digits, and in base64 wherever it begins. */
export function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const inBase64 = [0, 1, 2].map((before) => base64Of(bytes, before));
  const forms = [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    bytes.toString("hex"),
    ...inBase64,
    ...inBase64.map((one) => one.replaceAll("+", "-").replaceAll("/", "_")),
  ];
  return [...new Set(forms)];
}

/** The characters that depend on the value alone, `before` bytes after the beginning of a group. */
function base64Of(bytes: Buffer, before: number): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
  const end = Math.floor(((before + bytes.length) * 8) / 6);
  return text.slice(Math.ceil((before * 8) / 6), end);
}

/** `what in where` for each value that stands in an output; `values` by what they are. */
export function found(
  outputs: readonly Output[],
  values: Readonly<Record<string, string>>,
): readonly string[] {
  const wanted = Object.entries(values).flatMap(([what, value]) =>
    value.split("\n").flatMap((line) => formsOf(line).map((form) => ({ what, form }))),
  );
  return outputs.flatMap(({ where, text }) => {
    const content = Buffer.from(text);
    const hits = wanted.filter(({ form }) => content.includes(form)).map(({ what }) => what);
    return [...new Set(hits)].map((what) => `${what} in ${where}`);
  });
}
