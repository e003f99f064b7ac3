// Cgroups in the agent's configuration: where pods lie, what is kept from them, and how it is enforced.

import { invalid, type Node } from "../api/decode/field-reader.ts";
import type { Message } from "../api/decode/field-errors.ts";
import {
  boolean,
  fieldOf,
  flag,
  integer,
  listOf,
  map,
  oneOf,
  word,
  type ObjectOf,
} from "../api/schema/codec.ts";
import type { Field, Type } from "../api/schema/type.ts";
import { MAX_INT32, quantity } from "../api/schema/values.ts";
import { invalidAt } from "../api/decode/field-reader.ts";
import type { ResourceList } from "../api/v1/resources.ts";
import { path } from "./config-values.ts";

const NO_PIDS_LIMIT = -1;
const RESERVABLE: readonly string[] = ["cpu", "memory", "ephemeral-storage", "pid"];
const GATES: readonly string[] = ["MemoryQoS"];
const DEFAULT_THROTTLING = 0.9;

/** kubelet: enforceNodeAllocatable; "-compressible" limits only the CPU. */
const ENFORCEMENTS = [
  "pods",
  "system-reserved",
  "system-reserved-compressible",
  "kube-reserved",
  "kube-reserved-compressible",
  "none",
] as const;
export type Enforcement = (typeof ENFORCEMENTS)[number];

/** More than 0, at most 1. */
const fraction: Type<number> = {
  name: "number",
  read: (at) =>
    typeof at.value === "number" && at.value > 0 && at.value <= 1
      ? at.value
      : invalidAt(at, "must be greater than 0 and at most 1"),
  write: (value) => value,
  schema: () => ({ type: ["number", "null"], exclusiveMinimum: 0, maximum: 1 }),
};

export const CGROUPS = {
  cgroupDriver: oneOf(["auto", "systemd", "cgroupfs"], {
    about: "How cgroups are created; auto asks the container runtime.",
    default: "auto",
  }),
  cgroupRoot: path({ about: "Parent cgroup of all pods; / is the root.", default: "/" }),
  cgroupsPerQOS: boolean({
    about:
      "Whether all pods, each QoS class and each pod have cgroups of their own; without them only containers are limited.",
    default: true,
    keep: true,
  }),
  podPidsLimit: integer({
    about: "Most processes and threads of one pod, at least 1; -1 is no limit.",
    default: NO_PIDS_LIMIT,
    schema: { minimum: NO_PIDS_LIMIT, maximum: MAX_INT32, not: { const: 0 } },
    check: (limit) =>
      limit === NO_PIDS_LIMIT || (limit >= 1 && limit <= MAX_INT32)
        ? undefined
        : `must be between 1 and ${MAX_INT32}, or -1 for no limit`,
  }),
  cpuCFSQuota: boolean({
    about: "Whether a CPU limit is enforced as a CFS quota.",
    default: true,
    keep: true,
  }),
  systemReserved: reserved("the system: what neither pods nor the agent need"),
  kubeReserved: reserved("the agent and the container runtime"),
  enforceNodeAllocatable: fieldOf(
    listOf<Enforcement>(word(ENFORCEMENTS)),
    [],
  )({
    about:
      "What is held to its amounts: pods (all of them to what is not reserved), system-reserved and kube-reserved (the cgroups of systemReservedCgroup and kubeReservedCgroup), with -compressible only their CPU; none or [] is nothing.",
    default: ["pods"],
    keep: true,
  }),
  systemReservedCgroup: path({
    about: "Existing cgroup of the system, such as /system.slice, for system-reserved.",
  }),
  kubeReservedCgroup: path({
    about:
      "Existing cgroup of the agent and the container runtime, such as /podruntime.slice, for kube-reserved.",
  }),
  memoryThrottlingFactor: fieldOf(fraction)({
    about:
      "With MemoryQoS: at which part of the way from its request to its limit a container is slowed down, more than 0 and at most 1.",
    default: DEFAULT_THROTTLING,
  }),
  featureGates: map(flag, {
    about:
      "Features of the kubelet that are off by default. MemoryQoS protects requested memory and slows containers down before their limit (memory.min and memory.high of cgroups version 2).",
    key: gateError,
    schema: { propertyNames: { enum: GATES } },
  }),
};
type Fields = ObjectOf<typeof CGROUPS>;

function reserved(whom: string): Field<ResourceList> {
  return map(quantity, {
    about: `Amounts of cpu, memory, ephemeral-storage and pid (processes) that are kept from pods, for ${whom}.`,
    key: (resource) =>
      RESERVABLE.includes(resource)
        ? undefined
        : `must be one of ${RESERVABLE.join(", ")}: nothing else can be reserved`,
    schema: { propertyNames: { enum: RESERVABLE } },
  });
}

function gateError(name: string): Message | undefined {
  if (GATES.includes(name)) return undefined;
  return `must be one of ${GATES.join(", ")}: this agent has no other feature gates`;
}

/** kubelet: ValidateKubeletConfiguration */
export function checkCgroups(fields: Fields, node: Node): void {
  const { cgroupsPerQOS, enforceNodeAllocatable: enforced, podPidsLimit } = fields;
  const has = (one: Enforcement): boolean => enforced.includes(one);
  const wrong = (message: string): void => invalid(node, "enforceNodeAllocatable", message);
  if (has("none") && enforced.length > 1) wrong("none must be the only item");
  if (!cgroupsPerQOS && enforced.some((one) => one !== "none"))
    wrong("must be [none] while cgroupsPerQOS is false");
  if (!cgroupsPerQOS && podPidsLimit !== NO_PIDS_LIMIT)
    invalid(node, "podPidsLimit", "must be -1 while cgroupsPerQOS is false: a pod has no cgroup");
  for (const kind of ["system-reserved", "kube-reserved"] as const) {
    const field = kind === "kube-reserved" ? "kubeReservedCgroup" : "systemReservedCgroup";
    const isAsked = has(kind) || has(`${kind}-compressible`);
    if (isAsked && fields[field] === undefined) wrong(`${kind} needs ${field}`);
    if (has(kind) && has(`${kind}-compressible`))
      wrong(`must not contain both ${kind} and ${kind}-compressible`);
  }
}
