// A device with the agent on it, in a person's words: install it, give it pods, look at what runs.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { stringify } from "yaml";

import { eventually } from "../harness/eventually.ts";
import { agentBinary as hostBinary } from "../harness/agent-process.ts";
import { output } from "../harness/run-command.ts";
import { Guest, type GuestOptions } from "./guest.ts";
import type { Stage } from "./scenario.ts";

/** A container as the runtime itself lists it. */
export interface RunningContainer {
  readonly id: string;
  readonly pod: string;
  readonly name: string;
  /** As its command says it; "" = says none. */
  readonly version: string;
}

type DeviceOptions = Omit<GuestOptions, "image" | "temp" | "payload">;

interface FlashOptions extends DeviceOptions {
  readonly manifests: Readonly<Record<string, readonly object[]>>;
  /** Of agent.yaml; absent = as it is installed. */
  readonly config?: string;
  /** Further ones, by their path on the device. */
  readonly files?: Readonly<Record<string, string>>;
}

const INSTALL_TIMEOUT = 300_000;

export class Device {
  readonly guest: Guest;

  constructor(guest: Guest) {
    this.guest = guest;
  }

  static async make(stage: Stage, options: DeviceOptions): Promise<Device> {
    const { image, temp, payload } = stage;
    return new Device(await Guest.make({ image, temp, payload, ...options }));
  }

  /** Like a card that was written elsewhere: the agent and these files are on it before its first boot. */
  static async flash(stage: Stage, options: FlashOptions): Promise<Device> {
    const { manifests, config, files = {}, ...rest } = options;
    const device = await Device.make(stage, rest);
    await device.withDisk(stage.temp.directory(`${options.name}/root`), async (root) => {
      const script = join(stage.payload, "install.sh");
      await output(["sh", script, root, hostBinary()], INSTALL_TIMEOUT);
      for (const [name, objects] of Object.entries(manifests))
        writeFileSync(join(root, "etc/agent/manifests", name), manifestText(objects));
      if (config !== undefined) writeFileSync(join(root, "etc/agent/agent.yaml"), config);
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(root, path)), { recursive: true });
        writeFileSync(join(root, path), content);
      }
    });
    return device;
  }

  /** Its files, while it is switched off, in a directory of the host. */
  async withDisk(root: string, use: (root: string) => Promise<void>): Promise<void> {
    await output(["mount", "-o", "loop", this.guest.diskFile, root], INSTALL_TIMEOUT);
    try {
      await use(root);
    } finally {
      await output(["umount", root], INSTALL_TIMEOUT);
    }
  }

  async writeManifest(name: string, ...objects: readonly object[]): Promise<void> {
    await this.guest.writeFile(`/etc/agent/manifests/${name}`, manifestText(objects));
  }

  /** Waits until these pods run in containerd, then until the agent calls them ready: its verbs are slow when emulated. */
  async waitReady(pods: readonly string[], timeout = 900_000): Promise<void> {
    const runs = async (): Promise<boolean> => {
      const names = await this.runningPods();
      return pods.every((pod) => names.includes(pod));
    };
    await eventually(`these pods run: ${pods.join(", ")}`, runs, { timeout, interval: 3_000 });
    const ready = `agent get pods | awk 'NR > 1 { split($2, r, "/"); if (r[1] == r[2] && $3 == "Running") print $1 }'`;
    await this.guest.until(
      `these pods are ready: ${pods.join(", ")}`,
      `ready=$(${ready}); for pod in ${pods.join(" ")}; do echo "$ready" | grep -qx "$pod" || { agent get pods >&2; exit 1; }; done; echo yes`,
      timeout,
    );
  }

  /** Every task of a container of a pod that really runs, by containerd's own word. */
  async running(): Promise<readonly RunningContainer[]> {
    const listed = await this.guest
      .sh(`for id in $(ctr -n k8s.io tasks list | awk '$3 == "RUNNING" { print $1 }'); do
  ctr -n k8s.io containers info "$id" | awk -v id="$id" -F'"' '
    $2 == "io.kubernetes.pod.name" && pod == "" { pod = $4 }
    $2 == "io.kubernetes.container.name" && name == "" { name = $4 }
    match($0, /echo version [0-9]+/) { version = substr($0, RSTART + 13, RLENGTH - 13) }
    END { if (name != "") print id, pod, name, version }'
done`);
    return listed
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const [id = "", pod = "", name = "", version = ""] = line.split(" ");
        return { id, pod, name, version };
      });
  }

  /** The pod of each of them, sorted. */
  async runningPods(): Promise<readonly string[]> {
    return (await this.running()).map(({ pod }) => pod).toSorted();
  }

  /** Words of SQLite about the agent's database: "ok". */
  async databaseCheck(): Promise<string> {
    return (await this.guest.sh(`sqlite3 /var/lib/agent/agent.db 'PRAGMA integrity_check'`)).trim();
  }

  async journal(lines = 40): Promise<string> {
    return (await this.guest.exec(`journalctl -b -u agent --no-pager -o cat -n ${lines}`)).stdout;
  }
}

function manifestText(objects: readonly object[]): string {
  return objects.map((object) => stringify(object)).join("---\n");
}
