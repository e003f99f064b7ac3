// Optional members of an object: absent, never undefined.

export type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** The same object without the members that are undefined; for spreading into one with optional members. */
export function withoutUndefined<T extends object>(fields: T): Present<T> {
  const present: Present<T> = {};
  return Object.assign(
    present,
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
  );
}
