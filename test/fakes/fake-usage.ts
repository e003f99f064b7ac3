// What a fake node has used: nothing, unless a test says otherwise.

import type { CgroupPressure, CgroupUsage } from "../../src/host/usage/cgroup-usage.ts";
import type { NetworkUsage } from "../../src/host/usage/network-usage.ts";
import type { UsageReadings } from "../../src/host/usage/usage-readings.ts";

export class FakeUsage implements UsageReadings {
  /** By path from the root of the tree. */
  readonly cgroups = new Map<string, CgroupUsage>();
  readonly networks = new Map<string, NetworkUsage>();

  cgroup(path: string): CgroupUsage {
    return this.cgroups.get(path) ?? {};
  }

  pressure(): CgroupPressure {
    return {};
  }

  swap(): undefined {
    return undefined;
  }

  ownCgroup(): string {
    return "system.slice/agent.service";
  }

  network(path: string): NetworkUsage | undefined {
    return this.networks.get(path);
  }

  hostNetwork(): undefined {
    return undefined;
  }

  bootTime(): undefined {
    return undefined;
  }
}
