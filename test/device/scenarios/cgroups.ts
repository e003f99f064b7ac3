// What only such a device has: cgroup version 2 with systemd's driver, AppArmor, and the kernel's own end of a greedy process.

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";

import { Device } from "../device.ts";
import { sleeper } from "../pods.ts";
import type { Scenario, Stage } from "../scenario.ts";

const MI = 1024 ** 2;
const PIDS = 128;
const PAGE = 4096;
/** Of the memory between a container's request and its limit: as in the kubelet. */
const THROTTLING = 0.9;
const TREE = "/sys/fs/cgroup/kubepods.slice";
const CONFIG = `systemReserved: {cpu: 100m, memory: 64Mi}
podPidsLimit: ${PIDS}
featureGates: {MemoryQoS: true}
`;
const EQUAL = { cpu: "100m", memory: "32Mi" };
const PODS = [
  sleeper("guaranteed", "1", { container: { resources: { limits: EQUAL } } }),
  sleeper("burstable", "1", {
    container: {
      resources: { requests: { cpu: "200m", memory: "16Mi" }, limits: { memory: "48Mi" } },
    },
  }),
  sleeper("effort"),
];
const CONFINED = sleeper("confined", "1", {
  container: {
    command: ["sh", "-c", "cat /proc/self/attr/current; sleep 1000"],
    securityContext: { appArmorProfile: { type: "RuntimeDefault" } },
  },
});
const GREEDY = sleeper("greedy", "1", {
  restartPolicy: "Never",
  container: {
    command: ["sh", "-c", "x=a; while :; do x=$x$x; done"],
    resources: { limits: { memory: "24Mi" } },
  },
});

export const cgroups: Scenario = {
  name: "cgroups",
  about:
    "cgroup v2 with systemd's driver: limits and weights of all pods, classes, pods and containers; AppArmor; an OOM kill",
  run: async (stage) => {
    const manifests = { "pods.yaml": PODS, "confined.yaml": [CONFINED], "greedy.yaml": [GREEDY] };
    const device = await Device.flash(stage, { name: "cgroups", manifests, config: CONFIG });
    const { guest } = device;
    await guest.start();
    await device.waitReady(["guaranteed", "burstable", "effort", "confined"]);
    await allPods(device, stage);
    await guaranteed(device);
    await burstable(device);
    await bestEffort(device);
    await confined(device);
    await greedy(device, stage);
    await guest.powerOff();
  },
};

async function allPods(device: Device, stage: Stage): Promise<void> {
  const { status } = await json<{
    readonly status: { readonly allocatable: Readonly<Record<string, string>> };
  }>(device, "agent get node -o json");
  stage.note("allocatable", JSON.stringify(status.allocatable));
  const memory = parseInt(status.allocatable["memory"] ?? "", 10) * 1024;
  strictEqual(await read(device, "memory.max"), String(memory));
  // Two processors less a tenth of one: 1945 shares.
  strictEqual(await read(device, "cpu.weight"), String(weight(1_945)));
  strictEqual(await read(device, "memory.min"), String(48 * MI));
  strictEqual(await read(device, "kubepods-burstable.slice/memory.min"), String(16 * MI));
}

async function guaranteed(device: Device): Promise<void> {
  const { pod, container } = await slices(device, "guaranteed", "");
  deepStrictEqual(await readAll(device, pod), {
    "cpu.max": "10000 100000",
    "cpu.weight": String(weight(102)),
    "memory.max": String(32 * MI),
    "memory.min": String(32 * MI),
    "pids.max": String(PIDS),
  });
  const own = await readAll(device, container);
  strictEqual(own["cpu.max"], "10000 100000");
  strictEqual(own["memory.max"], String(32 * MI));
  strictEqual(own["memory.min"], String(32 * MI));
  strictEqual(await read(device, `${container}/memory.high`), "max");
}

async function burstable(device: Device): Promise<void> {
  const { pod, container } = await slices(device, "burstable", "kubepods-burstable.slice/");
  const own = await readAll(device, pod);
  strictEqual(own["cpu.max"]?.startsWith("max"), true);
  strictEqual(own["cpu.weight"], String(weight(204)));
  strictEqual(own["memory.min"], String(16 * MI));
  strictEqual(await read(device, `${container}/memory.max`), String(48 * MI));
  const high = 16 * MI + Math.floor(32 * MI * THROTTLING);
  strictEqual(await read(device, `${container}/memory.high`), String(high - (high % PAGE)));
}

async function bestEffort(device: Device): Promise<void> {
  const { pod, container } = await slices(device, "effort", "kubepods-besteffort.slice/");
  deepStrictEqual(await readAll(device, pod), {
    "cpu.max": "max 100000",
    "cpu.weight": "1",
    "memory.max": "max",
    "memory.min": "0",
    "pids.max": String(PIDS),
  });
  strictEqual(await read(device, "kubepods-besteffort.slice/cpu.weight"), "1");
  const pid = (await read(device, `${container}/cgroup.procs`)).split("\n")[0] ?? "";
  strictEqual((await device.guest.sh(`cat /proc/${pid}/oom_score_adj`)).trim(), "1000");
  const agent = (await device.guest.sh("systemctl show agent -P MainPID")).trim();
  strictEqual((await device.guest.sh(`cat /proc/${agent}/oom_score_adj`)).trim(), "-999");
}

async function confined(device: Device): Promise<void> {
  const said = await device.guest.until(
    "the confined pod says its profile",
    "agent logs confined | grep enforce",
  );
  match(said, /^cri-containerd\.apparmor\.d \(enforce\)$/m);
}

interface GreedyPod {
  readonly status: {
    readonly containerStatuses: readonly {
      readonly state: {
        readonly terminated?: { readonly reason: string; readonly exitCode: number };
      };
    }[];
  };
}

async function greedy(device: Device, stage: Stage): Promise<void> {
  await device.guest.until(
    "the greedy pod has failed",
    "agent get pods | grep -E '^greedy .*(OOMKilled|Error)'",
  );
  const { status } = await json<GreedyPod>(device, "agent get pod greedy -o json");
  const { terminated } = status.containerStatuses[0]?.state ?? {};
  stage.note("the greedy container", `${terminated?.reason}, ${terminated?.exitCode}`);
  strictEqual(terminated?.reason, "OOMKilled");
}

interface Slices {
  /** Below TREE. */
  readonly pod: string;
  readonly container: string;
}

async function slices(device: Device, name: string, parent: string): Promise<Slices> {
  const { metadata } = await json<{ readonly metadata: { readonly uid: string } }>(
    device,
    `agent get pod ${name} -o json`,
  );
  const uid = metadata.uid.replaceAll("-", "_");
  const pod = `${parent}${parent === "" ? "kubepods" : parent.slice(0, -".slice/".length)}-pod${uid}.slice`;
  const id = (await device.running()).find((one) => one.pod === name)?.id ?? "";
  return { pod, container: `${pod}/cri-containerd-${id}.scope` };
}

async function readAll(device: Device, path: string): Promise<Record<string, string>> {
  const files = ["cpu.max", "cpu.weight", "memory.max", "memory.min", "pids.max"];
  const read = await device.guest.sh(
    `cd ${TREE}/${path} && for file in ${files.join(" ")}; do echo "$file:$(cat $file)"; done`,
  );
  return Object.fromEntries(
    read
      .trim()
      .split("\n")
      .map(
        (line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)] as const,
      ),
  );
}

async function read(device: Device, path: string): Promise<string> {
  return (await device.guest.sh(`cat ${TREE}/${path}`)).trim();
}

/** Of a list its one item. */
async function json<T>(device: Device, command: string): Promise<T> {
  const shown = JSON.parse(await device.guest.sh(command)) as T | { readonly items: readonly [T] };
  return typeof shown === "object" && shown !== null && "items" in shown ? shown.items[0] : shown;
}

/** Of version 2, for shares of version 1. */
function weight(shares: number): number {
  return 1 + Math.floor(((shares - 2) * 9_999) / 262_142);
}
