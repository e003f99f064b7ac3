// A field that is left out of an object where it has no value: `{ ...optional("hostname", name) }`.

export function optional<K extends string, V>(
  key: K,
  value: V | undefined,
): { readonly [P in K]?: V } {
  // TypeScript sees any number of fields in a computed one.
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V };
}
