// `$(NAME)` in commands, arguments and values. kubelet: third_party/forked/golang/expansion

/**
 * Replaces `$(NAME)` by its value; a name without a value stays as it is written, `$$` is a `$`,
 * so `$$(NAME)` is not replaced.
 */
export function expand(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (written: string, name: string | undefined) =>
    name === undefined ? "$" : (values.get(name) ?? written),
  );
}
