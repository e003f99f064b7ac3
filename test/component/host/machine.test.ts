import { describe, expect, test } from "bun:test";
import { hostname } from "node:os";
import { memoryCgroupRemedy, readCgroupFacts } from "../../../src/host/cgroups.ts";
import { readDiskFacts, readMachineFacts, readNodeAddresses } from "../../../src/host/machine.ts";
import { temporaryDirectories, writeTree } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();

const aRoot = (content: Readonly<Record<string, string>>): string =>
  writeTree(newDirectory(), content);

const address = (family: "IPv4" | "IPv6", value: string, internal = false) =>
  family === "IPv4"
    ? { family, address: value, internal, netmask: "", mac: "", cidr: null }
    : { family, address: value, internal, netmask: "", mac: "", cidr: null, scopeid: 0 };

describe("machine facts", () => {
  test("of a Raspberry Pi", () => {
    const root = aRoot({
      "proc/sys/kernel/hostname": "raspberrypi\n",
      "proc/sys/kernel/osrelease": "6.6.51+rpt-rpi-v8\n",
      "proc/meminfo": "MemTotal:        3881016 kB\nMemFree:  1 kB\nSwapTotal:  102396 kB\n",
      "proc/device-tree/serial-number": "10000000a1b2c3d4\0",
      "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
      "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
      "sys/class/net/docker0/address": "02:42:00:00:00:01\n",
      "sys/class/net/eth0/address": "DC:A6:32:01:02:03\n",
      "sys/class/net/eth0/device/driver": "",
      "sys/class/net/lo/address": "00:00:00:00:00:00\n",
    });
    expect(readMachineFacts(root)).toMatchObject({
      hostname: "raspberrypi",
      machineId: "0123456789abcdef0123456789abcdef",
      serial: "10000000a1b2c3d4",
      mac: "dc:a6:32:01:02:03",
      memoryBytes: 3881016 * 1024,
      swapBytes: 102396 * 1024,
      kernelVersion: "6.6.51+rpt-rpi-v8",
      osImage: "Debian GNU/Linux 12 (bookworm)",
    });
  });

  test.each([
    ["To be filled by O.E.M.", ""],
    ["0000000000000000", ""],
    ["Default string", ""],
    ["System Serial Number", ""],
    ["PF3ABCDE", "PF3ABCDE"],
  ])("a board that says %p has the serial %p", (said, serial) => {
    expect(readMachineFacts(aRoot({ "sys/class/dmi/id/product_serial": said })).serial).toBe(
      serial,
    );
  });

  test("a machine without /etc/machine-id has that of D-Bus", () => {
    const facts = readMachineFacts(aRoot({ "var/lib/dbus/machine-id": "0123\n" }));
    expect(facts).toMatchObject({ machineId: "0123", systemUuid: "0123" });
    expect(facts.swapBytes).toBeUndefined();
  });

  test("a machine that says nothing is described all the same", () => {
    const facts = readMachineFacts(newDirectory());
    expect(facts).toMatchObject({
      hostname: "",
      serial: "",
      mac: "",
      memoryBytes: 0,
      osImage: "Linux",
    });
    expect(facts.cpus).toBeGreaterThan(0);
  });

  test("this machine has a name, memory and a kernel", () => {
    const facts = readMachineFacts();
    expect(facts.hostname).toBe(hostname());
    expect(facts.memoryBytes).toBeGreaterThan(1e8);
    expect(facts.kernelVersion).not.toBe("");
    const disk = readDiskFacts("/");
    expect(disk.capacityBytes).toBeGreaterThan(disk.availableBytes);
  });
});

describe("node addresses", () => {
  const route = [
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT",
    "wlan0\t00000000\t0102A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0",
    "eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0",
    "eth0\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0",
  ].join("\n");
  const interfaces = {
    lo: [address("IPv4", "127.0.0.1", true)],
    cni0: [address("IPv4", "10.88.0.1"), address("IPv6", "fe80::1")],
    eth0: [address("IPv6", "2001:db8::2"), address("IPv4", "192.168.1.2")],
    usb0: [address("IPv4", "169.254.7.7")],
  };

  test("begin with the default route's interface, IPv4 first", () => {
    const root = aRoot({ "proc/net/route": route });
    expect(readNodeAddresses(root, interfaces)).toEqual([
      { interface: "eth0", family: 4, address: "192.168.1.2" },
      { interface: "eth0", family: 6, address: "2001:db8::2" },
      { interface: "cni0", family: 4, address: "10.88.0.1" },
    ]);
  });

  test("are there without a default route", () => {
    const found = readNodeAddresses(aRoot({ "proc/net/route": "" }), interfaces);
    expect(found[0]).toEqual({ interface: "cni0", family: 4, address: "10.88.0.1" });
  });
});

describe("what a kernel can", () => {
  test("huge pages by size, as Kubernetes writes it", () => {
    const { hugePages } = readMachineFacts(
      aRoot({
        "sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages": "0\n",
        "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "16\n",
        "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "1\n",
        "sys/kernel/mm/hugepages/else/nr_hugepages": "1\n",
      }),
    );
    expect(hugePages).toEqual({ "64Ki": 0, "2Mi": 32 * 1024 ** 2, "1Gi": 1024 ** 3 });
  });

  test.each([
    ["Y\n", true],
    ["N\n", false],
  ])("AppArmor that says %j is on: %p", (said, on) => {
    const root = aRoot({ "sys/module/apparmor/parameters/enabled": said });
    expect(readMachineFacts(root).hasAppArmor).toBe(on);
  });

  test("a kernel that says nothing has neither", () => {
    const { hugePages, hasAppArmor } = readMachineFacts(newDirectory());
    expect([hugePages, hasAppArmor]).toEqual([{}, false]);
  });
});

describe("cgroups", () => {
  const version1 = (memory: 0 | 1): string =>
    `#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t2\t1\nmemory\t4\t1\t${memory}\npids\t8\t2\t1\n`;
  const mounted = {
    "sys/fs/cgroup/cpu/tasks": "",
    "sys/fs/cgroup/memory/tasks": "",
    "sys/fs/cgroup/unified/cgroup.controllers": "",
  };

  test("version 2", () => {
    const root = aRoot({
      "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory hugetlb pids\n",
    });
    const facts = readCgroupFacts(root);
    expect(facts.version).toBe(2);
    expect(facts.controllers).toEqual(["cpu", "cpuset", "hugetlb", "memory", "pids"]);
    expect(memoryCgroupRemedy(facts)).toBeUndefined();
  });

  test("version 2 without memory, as some Raspberry Pi images boot", () => {
    const facts = readCgroupFacts(
      aRoot({ "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io pids\n" }),
    );
    expect(facts.controllers).toEqual(["cpu", "cpuset", "pids"]);
    expect(memoryCgroupRemedy(facts)).toContain("cgroup_enable=memory");
  });

  test("hybrid is version 1, with what is enabled and mounted", () => {
    const facts = readCgroupFacts(aRoot({ ...mounted, "proc/cgroups": version1(1) }));
    expect(facts.version).toBe(1);
    expect(facts.controllers).toEqual(["cpu", "memory"]);
  });

  test("version 1 with memory disabled", () => {
    const facts = readCgroupFacts(aRoot({ ...mounted, "proc/cgroups": version1(0) }));
    expect(facts.controllers).toEqual(["cpu"]);
  });

  test("this machine has some", () => {
    expect(readCgroupFacts().controllers).toContain("cpu");
  });
});
