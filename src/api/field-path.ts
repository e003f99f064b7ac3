// Where a field stands inside an object, and how Kubernetes writes that place.

/** Keys and list indices from the root of an object. */
export type FieldPath = readonly (string | number)[];

/** A place in a text. */
export interface Position {
  /** 1-based. */
  readonly line: number;
  /** 1-based. */
  readonly column: number;
  /** The source text, if an unquoted scalar stands there. */
  readonly text?: string;
}

/** Finds the place of a field; for a field that is not there, the nearest object around it. */
export type Locate = (path: FieldPath) => Position | undefined;

const PLAIN_KEY = /^[A-Za-z0-9_-]+$/;

/** `spec.containers[0].image`; keys with other characters stand in brackets: `metadata.labels[app.io/x]`. */
export function formatPath(path: FieldPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number" || !PLAIN_KEY.test(step)) text += `[${step}]`;
    else text += text === "" ? step : `.${step}`;
  }
  return text;
}
