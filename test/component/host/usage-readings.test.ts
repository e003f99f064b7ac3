// What cgroups and interfaces have used, from trees that look like /proc and /sys, and from this machine.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { realUsage } from "../../../src/host/usage/usage-readings.ts";

const roots: string[] = [];
afterAll(() => roots.forEach((root) => rmSync(root, { recursive: true, force: true })));

function machine(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "agent-usage-"));
  roots.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const DEVICES = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0       0          0
  eth1:       7       1    8    0    0     0          0         0        9       1   10    0    0     0       0          0
  eth0: 4200000      20    1    0    0     0          0         0    77000      15    2    0    0     0       0          0
`;
const ROUTES =
  "Iface\tDestination\tGateway \tFlags\neth1\t0000A8C0\t00000000\t0001\neth0\t00000000\t0100A8C0\t0003\n";
const V1 = "sys/fs/cgroup";
const POD = "kubepods/pod1";
const VERSION_1 = {
  "proc/cgroups": "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t1\t1\t1\npids\t2\t1\t1\n",
  "proc/self/cgroup": "4:memory:/agent\n3:pids:/agent-pids\n",
  "proc/stat": "cpu 1 2 3\nbtime 1700000000\n",
  "proc/42/net/dev": DEVICES,
  "proc/42/net/route": ROUTES,
  [`${V1}/cpuacct/${POD}/cpuacct.usage`]: "123456789\n",
  [`${V1}/memory/${POD}/memory.usage_in_bytes`]: "5000\n",
  [`${V1}/memory/${POD}/memory.limit_in_bytes`]: "8000\n",
  [`${V1}/memory/${POD}/memory.stat`]:
    "rss 1\ntotal_rss 3000\ntotal_inactive_file 1000\ntotal_pgfault 12\ntotal_pgmajfault 3\ntotal_swap 64\n",
  [`${V1}/memory/${POD}/memory.memsw.limit_in_bytes`]: "8100\n",
  [`${V1}/pids/${POD}/pids.current`]: "4\n",
  [`${V1}/pids/${POD}/cgroup.procs`]: "42\n43\n",
};
const VERSION_2 = {
  "proc/self/cgroup": "0::/system.slice/agent.service\n",
  "proc/42/net/dev": DEVICES,
  [`${V1}/cgroup.controllers`]: "cpu memory pids\n",
  [`${V1}/cpu.stat`]: "usage_usec 55\n",
  [`${V1}/${POD}/cpu.stat`]: "usage_usec 123456\nuser_usec 1\n",
  [`${V1}/${POD}/memory.current`]: "5000\n",
  [`${V1}/${POD}/memory.max`]: "max\n",
  [`${V1}/${POD}/memory.stat`]: "anon 3000\ninactive_file 1000\npgfault 12\npgmajfault 3\n",
  [`${V1}/${POD}/memory.swap.current`]: "64\n",
  [`${V1}/${POD}/memory.swap.max`]: "200\n",
  [`${V1}/${POD}/cpu.pressure`]: "some avg10=1.50 avg60=0.25 avg300=0.00 total=77\n",
  [`${V1}/${POD}/memory.pressure`]:
    "some avg10=1.50 avg60=0.25 avg300=0.00 total=77\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=7\n",
  [`${V1}/${POD}/pids.current`]: "4\n",
  [`${V1}/${POD}/cgroup.procs`]: "42\n",
};
const MEMORY = {
  usageBytes: 5000,
  workingSetBytes: 4000,
  rssBytes: 3000,
  pageFaults: 12,
  majorPageFaults: 3,
};

describe("a cgroup", () => {
  test("of version 1", () => {
    expect(realUsage(machine(VERSION_1)).cgroup(POD)).toEqual({
      cpuNanoSeconds: 123_456_789,
      memory: { ...MEMORY, limitBytes: 8000 },
      swapBytes: 64,
      swapLimitBytes: 100,
      pids: 4,
    });
  });

  test("of version 2", () => {
    const usage = realUsage(machine(VERSION_2));
    expect(usage.cgroup(POD)).toEqual({
      cpuNanoSeconds: 123_456_000,
      memory: MEMORY,
      swapBytes: 64,
      swapLimitBytes: 200,
      pids: 4,
    });
    expect(usage.cgroup("")).toEqual({ cpuNanoSeconds: 55_000 });
  });

  test("that is gone", () => {
    expect(realUsage(machine(VERSION_1)).cgroup("kubepods/pod2")).toEqual({});
    expect(realUsage(machine(VERSION_2)).cgroup("kubepods/pod2")).toEqual({});
  });

  test("of version 2 has its tasks' waits, as far as the kernel counts them", () => {
    const some = { total: 77, avg10: 1.5, avg60: 0.25, avg300: 0 };
    expect(realUsage(machine(VERSION_2)).pressure(POD)).toEqual({
      cpu: { some, full: { total: 0, avg10: 0, avg60: 0, avg300: 0 } },
      memory: { some, full: { total: 7, avg10: 0.5, avg60: 0, avg300: 0 } },
    });
    expect(realUsage(machine(VERSION_2)).pressure("kubepods/pod2")).toEqual({});
    expect(realUsage(machine(VERSION_1)).pressure(POD)).toEqual({});
  });

  test("of the agent itself", () => {
    expect(realUsage(machine(VERSION_1)).ownCgroup()).toBe("agent");
    expect(realUsage(machine(VERSION_2)).ownCgroup()).toBe("system.slice/agent.service");
    expect(realUsage(machine({})).ownCgroup()).toBeUndefined();
  });
});

describe("the network of a cgroup's processes", () => {
  const eth0 = { name: "eth0", rxBytes: 4_200_000, rxErrors: 1, txBytes: 77_000, txErrors: 2 };
  const eth1 = { name: "eth1", rxBytes: 7, rxErrors: 8, txBytes: 9, txErrors: 10 };

  test("is that of the default route, and all others but loopback", () => {
    const known = realUsage(machine(VERSION_1)).network(POD);
    expect(known).toEqual({ default: eth0, interfaces: [eth1, eth0] });
  });

  test("without a default route begins with the first", () => {
    expect(realUsage(machine(VERSION_2)).network(POD)?.default).toEqual(eth1);
  });

  test("is unknown when they are gone", () => {
    expect(realUsage(machine(VERSION_1)).network("kubepods/pod2")).toBeUndefined();
  });
});

test("this machine has booted, and has used its processors", () => {
  const usage = realUsage();
  expect(usage.bootTime()).toBeGreaterThan(1_600_000_000_000);
  expect(usage.cgroup("").cpuNanoSeconds).toBeGreaterThan(0);
  expect(realUsage(machine(VERSION_1)).bootTime()).toBe(1_700_000_000_000);
});

test("the swap of the machine, where it has some", () => {
  const meminfo = "MemTotal: 100 kB\nSwapTotal:  64 kB\nSwapFree:  60 kB\n";
  const swap = { capacity: 64 * 1024, available: 60 * 1024 };
  expect(realUsage(machine({ "proc/meminfo": meminfo })).swap()).toEqual(swap);
  const none = "MemTotal: 100 kB\nSwapTotal:  0 kB\nSwapFree:  0 kB\n";
  expect(realUsage(machine({ "proc/meminfo": none })).swap()).toBeUndefined();
  expect(realUsage(machine({})).swap()).toBeUndefined();
});
