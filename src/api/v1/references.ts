// How a pod refers to the content of local objects and to its own fields.

/** One key of a ConfigMap or a Secret. */
export interface KeySelector {
  /** Of the object. */
  readonly name: string;
  readonly key: string;
  readonly optional: boolean;
}

export interface KeyToPath {
  readonly key: string;
  /** Relative, without "..". */
  readonly path: string;
  readonly mode?: number;
}

export interface FieldRef {
  /** `metadata.name`, `metadata.labels['x']`, `status.podIP`, … */
  readonly fieldPath: string;
}

export interface ResourceFieldRef {
  /** Absent in an environment = the container itself. */
  readonly containerName?: string;
  /** `limits.cpu`, `requests.memory`, … */
  readonly resource: string;
  /** A quantity; absent or "0" = 1. */
  readonly divisor?: string;
}

export type EnvVar =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly valueFrom: EnvSource };

export type EnvSource =
  | { readonly type: "field"; readonly field: FieldRef }
  | { readonly type: "resource"; readonly resource: ResourceFieldRef }
  | { readonly type: "configMapKey"; readonly key: KeySelector }
  | { readonly type: "secretKey"; readonly key: KeySelector };

/** Every key of an object as a variable. */
export interface EnvFrom {
  readonly type: "configMap" | "secret";
  readonly name: string;
  readonly prefix: string;
  readonly optional: boolean;
}
