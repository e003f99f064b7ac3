// A containerd of our own: nothing of the machine's containerd, networks or cgroups is used or touched.

import { mkdirSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { cniList, containerdToml } from "./containerd-config.ts";
import {
  cleanUpContainerd,
  factsBefore,
  writeContainerdFacts,
  type ContainerdFacts,
} from "./containerd-leftovers.ts";
import { logTail, spawnDaemon } from "./daemon.ts";
import { eventually, Hopeless } from "./eventually.ts";
import {
  cniDirectory,
  containerdVersion,
  freeSubnet,
  hasAppArmor,
  lacksSysResource,
  usableSnapshotter,
  whyNoContainerd,
} from "./machine.ts";
import { rawCall } from "./raw-grpc.ts";
import { output } from "./run-command.ts";
import type { TempDirectory } from "./temp-directory.ts";

/** containerd's own directory, below ours. */
const ROOT = "r";

export interface PrivateContainerdOptions {
  /** "template": no CNI configuration before a client names the address range of pods, so that NetworkReady stays false. */
  readonly network?: "template";
  /** Absent = containerd's default, which is not there: the agent has to bring its own. */
  readonly sandboxImage?: string;
  /** Where it keeps images and containers; absent = beside its socket. */
  readonly root?: string;
  /** Containers get labels; then they reach nothing of the host that has no label for them. */
  readonly selinux?: boolean;
  /** Images and snapshots lie on a file system of their own of this size: an ext4 in a file, mounted by a loop device. */
  readonly diskMegabytes?: number;
  /** Reads `hosts.toml` files in `registryHosts`. */
  readonly hasRegistryHosts?: boolean;
}

/** Says why containerd cannot run on this machine; tests print it as `skipped: reason`. */
export interface Unavailable {
  readonly unavailable: string;
}

export async function startPrivateContainerd(
  temp: TempDirectory,
  options: PrivateContainerdOptions = {},
): Promise<PrivateContainerd | Unavailable> {
  const unavailable = await whyNoContainerd();
  if (unavailable !== undefined) return { unavailable };
  const containerd = await PrivateContainerd.prepare(temp, options);
  await containerd.start();
  return containerd;
}

export function isUnavailable(value: object): value is Unavailable {
  return "unavailable" in value;
}

export class PrivateContainerd {
  readonly version: string;
  readonly snapshotter: "overlayfs" | "native";
  readonly facts: ContainerdFacts;
  readonly #temp: TempDirectory;
  #child: Bun.Subprocess | undefined;

  private constructor(options: {
    temp: TempDirectory;
    facts: ContainerdFacts;
    version: string;
    snapshotter: "overlayfs" | "native";
  }) {
    this.#temp = options.temp;
    this.facts = options.facts;
    this.version = options.version;
    this.snapshotter = options.snapshotter;
  }

  static async prepare(
    temp: TempDirectory,
    options: PrivateContainerdOptions,
  ): Promise<PrivateContainerd> {
    const directory = temp.directory("ctd");
    const id = temp.path.slice(temp.path.lastIndexOf("-") + 1).toLowerCase();
    const prefix = freeSubnet();
    const facts: ContainerdFacts = {
      directory,
      state: join(directory, "s"),
      socket: join(directory, "c.sock"),
      bridge: `agt${id}`.slice(0, 15),
      subnet: `${prefix}.0/24`,
      network: `agt-${id}`,
      cgroup: `/agt-${id}`,
      before: factsBefore(),
    };
    writeContainerdFacts(facts);
    if (options.diskMegabytes !== undefined)
      await mountDisk({ directory, at: join(directory, ROOT), megabytes: options.diskMegabytes });
    const version = await containerdVersion();
    const snapshotter = usableSnapshotter(directory);
    const cniConf = join(directory, "net.d");
    mkdirSync(cniConf);
    const network = { ...facts, dataDir: join(directory, "ipam") };
    const cniTemplate = join(directory, "conflist.template");
    const isTemplate = options.network === "template";
    if (isTemplate) writeFileSync(cniTemplate, cniList({ ...network, subnet: "{{.PodCIDR}}" }));
    else writeFileSync(join(cniConf, "10-agent.conflist"), cniList(network));
    writeFileSync(
      join(directory, "config.toml"),
      containerdToml({
        ...version,
        root: options.root ?? join(directory, ROOT),
        state: facts.state,
        socket: facts.socket,
        cniBin: cniDirectory() ?? "/usr/lib/cni",
        cniConf,
        ...(isTemplate ? { cniTemplate } : {}),
        snapshotter,
        restrictOOMScoreAdj: lacksSysResource(),
        disableAppArmor: !hasAppArmor(),
        enableSelinux: options.selinux === true,
        cdiDirectory: cdiDirectory(directory),
        ...(options.hasRegistryHosts === true ? { registryHosts: hostsDirectory(directory) } : {}),
        ...(options.sandboxImage === undefined ? {} : { sandboxImage: options.sandboxImage }),
      }),
    );
    return new PrivateContainerd({ temp, facts, version: version.text, snapshotter });
  }

  /** Its images and snapshots. */
  get root(): string {
    return join(this.facts.directory, ROOT);
  }

  get socket(): string {
    return this.facts.socket;
  }

  /** As the agent's `containerRuntimeEndpoint` wants it. */
  get endpoint(): string {
    return `unix://${this.facts.socket}`;
  }

  /** Parent cgroup for the pods of this containerd: the agent's `cgroupRoot`. */
  get cgroupRoot(): string {
    return this.facts.cgroup;
  }

  /** Where it looks for CDI devices, if it knows any. */
  get cdiDirectory(): string {
    return cdiDirectory(this.facts.directory);
  }

  /** A directory for each registry, with its `hosts.toml`. */
  get registryHosts(): string {
    return hostsDirectory(this.facts.directory);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get logFile(): string {
    return join(this.facts.directory, "containerd.log");
  }

  /** Starts it and waits until CRI answers. */
  async start(): Promise<void> {
    const command = ["containerd", "--config", join(this.facts.directory, "config.toml")];
    const child = spawnDaemon(command, { temp: this.#temp, logFile: this.logFile });
    this.#child = child;
    await eventually("CRI of the private containerd answers", () => this.#answers(child), {
      timeout: 30_000,
      explain: () => this.logTail(),
    });
  }

  /** Sends a signal and waits for the end; containers go on running under their shims. */
  async kill(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.#child?.kill(signal);
    await this.#child?.exited;
    this.#child = undefined;
  }

  async restart(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.kill(signal);
    await this.start();
  }

  /** Ends containerd and everything it started; nothing of it is left on the machine. */
  async stop(): Promise<void> {
    await this.kill("SIGTERM");
    cleanUpContainerd(this.facts);
  }

  /** Standard output of `ctr` in the namespace of CRI. */
  async ctr(...args: readonly string[]): Promise<string> {
    return output(["ctr", "--address", this.socket, "--namespace", "k8s.io", ...args]);
  }

  logTail(lines = 30): string {
    return logTail("containerd", this.logFile, lines);
  }

  async #answers(child: Bun.Subprocess): Promise<boolean> {
    if (child.exitCode !== null)
      throw new Hopeless(`containerd ended with ${child.exitCode}\n${this.logTail()}`);
    if (!existsSync(this.socket)) return false;
    const answer = await rawCall(this.socket, "/runtime.v1.RuntimeService/Version", {
      timeout: 1_000,
    });
    return answer.length > 0;
  }
}

interface DiskOptions {
  readonly directory: string;
  readonly at: string;
  readonly megabytes: number;
}

/** Unmounted with everything else below the directory; the loop device goes with the mount. */
async function mountDisk({ directory, at, megabytes }: DiskOptions): Promise<void> {
  const file = join(directory, "disk.img");
  mkdirSync(at, { recursive: true });
  await output(["truncate", "-s", `${megabytes}M`, file]);
  await output(["mkfs.ext4", "-q", "-F", "-m", "0", file]);
  await output(["mount", "-o", "loop", file, at]);
}

function cdiDirectory(directory: string): string {
  return join(directory, "cdi");
}

function hostsDirectory(directory: string): string {
  return join(directory, "certs.d");
}
