// Performs: detects the runtime's cgroup driver, which decides where pods lie in the cgroup tree.
// kubelet: getCgroupDriverFromCRI

import type { CriClient } from "../../cri/cri-client.ts";
import { isUnimplemented } from "../../cri/cri-error.ts";
import { CgroupDriver as CriCgroupDriver } from "../../cri/gen/runtime/v1/api_pb.ts";
import type { CgroupDriver } from "./cgroup-parent.ts";
import { memberOf, parseJson } from "../../lib/json.ts";

/** `configured`, else from CRI's RuntimeConfig, else from containerd's verbose Status, else cgroupfs. */
export async function findCgroupDriver(
  cri: CriClient,
  configured: CgroupDriver | "auto",
): Promise<CgroupDriver> {
  if (configured !== "auto") return configured;
  try {
    const { linux } = await cri.runtimeConfig();
    if (linux !== undefined)
      return linux.cgroupDriver === CriCgroupDriver.SYSTEMD ? "systemd" : "cgroupfs";
  } catch (error) {
    if (!isUnimplemented(error)) throw error;
  }
  const { info } = await cri.status({ verbose: true });
  return driverOfStatus(info["config"]);
}

/** containerd 1.x: its whole CRI configuration as JSON. */
export function driverOfStatus(config: string | undefined): CgroupDriver {
  const containerd = memberOf(parseJson(config ?? "{}"), "containerd");
  const name = memberOf(containerd, "defaultRuntimeName");
  const runtime = memberOf(memberOf(containerd, "runtimes"), String(name));
  return memberOf(memberOf(runtime, "options"), "SystemdCgroup") === true ? "systemd" : "cgroupfs";
}
