// The result of parsing and validation: a value, or every error at once with its path.

export interface FieldError {
  /** Kubernetes' field path, e.g. `spec.containers[0].image`; "" = the whole object, or its file. */
  readonly path: string;
  /** A sentence without the path, naming the remedy where there is one. */
  readonly message: string;
  /** Why, in one word: `UnknownField`, `NotSupported`, `Invalid`, `Required`, `Duplicate`, `Syntax`, `Shadowed`, `Ignored`, … */
  readonly code: string;
  /** 1-based position in the text it came from, where known. */
  readonly line?: number;
  readonly column?: number;
}

export type Result<T> =
  | { readonly ok: true; readonly value: T; readonly warnings: readonly FieldError[] }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

export function ok<T>(value: T, warnings: readonly FieldError[] = []): Result<T> {
  return { ok: true, value, warnings };
}

export function failed<T>(errors: readonly FieldError[]): Result<T> {
  return { ok: false, errors };
}
