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
/** Longer than any valid key: a path stays fit for a log line, whatever stands in a file. */
const MAX_STEP = 330;
/** Fields whose keys are their author's: Kubernetes puts these into brackets. */
const MAPS: ReadonlySet<string | number | undefined> = new Set([
  "labels",
  "annotations",
  "limits",
  "requests",
  "overhead",
  "nodeSelector",
  "data",
  "binaryData",
  "stringData",
]);

/** `spec.containers[0].image`; keys of maps stand in brackets: `metadata.labels[app]`. */
export function formatPath(path: FieldPath): string {
  let text = "";
  for (const [index, step] of path.entries()) {
    const isKey = MAPS.has(path[index - 1]) || typeof step === "number" || !PLAIN_KEY.test(step);
    const name = shown(step);
    if (isKey) text += `[${name}]`;
    else text += text === "" ? name : `.${name}`;
  }
  return text;
}

function shown(step: string | number): string {
  const name = String(step);
  return name.length <= MAX_STEP ? name : `${name.slice(0, MAX_STEP)}…`;
}
