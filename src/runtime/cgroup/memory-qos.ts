// MemoryQoS: protects what containers request and slows them down before their limit. kubelet: generateLinuxContainerResources

/** The part of the configuration that switches it on. */
export interface MemoryQosPolicy {
  readonly featureGates: Readonly<Record<string, boolean>>;
}

/** Only version 2 of cgroups has the files. */
export function hasMemoryQos({ featureGates }: MemoryQosPolicy, version: 1 | 2): boolean {
  return version === 2 && featureGates["MemoryQoS"] === true;
}

export interface ContainerMemory {
  /** Bytes; 0 = none. */
  readonly request: bigint;
  readonly limit: bigint;
  /** Of the node, in bytes: stands in for an absent limit. */
  readonly allocatable: bigint;
  /** 0 to 1. */
  readonly throttlingFactor: number;
}

const PAGE = 4096n;
/** The factor counts in millionths. */
const MILLION = 1_000_000n;

/** Files of the container's cgroup, for CRI's `unified`. */
export function memoryQosFiles(memory: ContainerMemory): Readonly<Record<string, string>> {
  const { request } = memory;
  const high = highOf(memory);
  return {
    ...(request === 0n ? {} : { "memory.min": String(request) }),
    ...(high === undefined ? {} : { "memory.high": String(high) }),
  };
}

/** Nothing is slowed down where request and limit are equal, or neither is there. */
function highOf({
  request,
  limit,
  allocatable,
  throttlingFactor,
}: ContainerMemory): bigint | undefined {
  if (request === limit) return undefined;
  const most = limit === 0n ? allocatable : limit;
  const factor = BigInt(Math.round(throttlingFactor * Number(MILLION)));
  const high = ((request + ((most - request) * factor) / MILLION) / PAGE) * PAGE;
  return high > request ? high : undefined;
}
