// Which parts of a pod's life the simulation throws dice for; off = the agent does not do it yet.

export const FEATURES: Readonly<
  Record<
    | "initContainers"
    | "sidecars"
    | "probes"
    | "hooks"
    | "containerPolicies"
    | "deadlines"
    | "dependsOn",
    boolean
  >
> = {
  initContainers: true,
  sidecars: true,
  probes: true,
  hooks: true,
  containerPolicies: true,
  deadlines: true,
  dependsOn: true,
};
