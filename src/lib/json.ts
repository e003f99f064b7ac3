// JSON data and plain objects.

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** undefined = not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The error would quote the text, which may hold secrets.
    return undefined;
  }
}

export type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** The same object without the members that are undefined; for spreading into one with optional members. */
export function withoutUndefined<T extends object>(fields: T): Present<T> {
  const present: Present<T> = {};
  return Object.assign(
    present,
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
  );
}
