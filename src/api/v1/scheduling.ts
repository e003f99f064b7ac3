// What a pod asks of the node it runs on, as Kubernetes' v1 has it.

/** One of the terms has to match, and of a term everything. */
export interface NodeSelectorTerm {
  readonly matchExpressions: readonly NodeSelectorRequirement[];
  /** Only `metadata.name` is a field. */
  readonly matchFields: readonly NodeSelectorRequirement[];
}

export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";
  readonly values: readonly string[];
}

export interface Toleration {
  /** "" with Exists = every taint. */
  readonly key: string;
  readonly operator: "Exists" | "Equal" | "Lt" | "Gt";
  readonly value: string;
  /** "" = every effect. */
  readonly effect: "" | "NoSchedule" | "PreferNoSchedule" | "NoExecute";
  readonly tolerationSeconds?: number;
}
