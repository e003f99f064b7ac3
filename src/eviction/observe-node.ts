// Performs: observes the eviction signals of this node. The runtime is asked once where its images lie; everything else is
// read from the kernel.

import type { AgentConfig } from "../config/config.ts";
import type { Edges } from "../edges.ts";
import type { FileSystemRoom } from "../host/resource-readings.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { observations, type Observations } from "./signals.ts";

export interface NodeObserverOptions {
  readonly edges: Pick<Edges, "clock" | "cri" | "files" | "log" | "readings">;
  readonly config: Pick<AgentConfig, "stateDir">;
  /** The cgroup of all pods, from the root of the tree. */
  readonly podsCgroup: () => string;
}

const ASK_AGAIN_MS = 60_000;

export class NodeObserver {
  readonly #options: NodeObserverOptions;
  #imagefs: string | undefined;
  #askAt: Monotonic = 0;
  #isDedicated = false;

  constructor(options: NodeObserverOptions) {
    this.#options = options;
  }

  /** Whether images and writable layers lie on another file system than the agent's state. */
  get hasOwnImageFs(): boolean {
    return this.#isDedicated;
  }

  /** Asks the runtime for what is not known yet; never rejects. */
  async prepare(signal: AbortSignal): Promise<void> {
    const { cri, clock, log } = this.#options.edges;
    if (this.#imagefs !== undefined || clock.monotonic() < this.#askAt) return;
    this.#askAt = clock.monotonic() + ASK_AGAIN_MS;
    try {
      const { imageFilesystems } = await cri.imageFsInfo({ signal });
      const path = imageFilesystems[0]?.fsId?.mountpoint ?? "";
      if (path !== "") this.#imagefs = path;
    } catch (error) {
      if (!signal.aborted)
        log.debug("the runtime does not tell where its images lie", { error: messageOf(error) });
    }
  }

  observe(): Observations {
    const { edges, config, podsCgroup } = this.#options;
    const { readings } = edges;
    const nodefs = this.#fileSystem(config.stateDir);
    const imagefs = this.#imagefs === undefined ? undefined : this.#fileSystem(this.#imagefs);
    this.#isDedicated =
      nodefs !== undefined && imagefs !== undefined && nodefs.device !== imagefs.device;
    return observations({
      memory: readings.memory(),
      podsMemory: readings.podsMemory(podsCgroup()),
      pids: readings.pids(),
      nodefs,
      imagefs,
    });
  }

  /** Milliseconds for which tasks have waited for memory; undefined = the kernel does not count. */
  stallMs(): number | undefined {
    return this.#options.edges.readings.memoryStallMs();
  }

  /** A file system that may hang is not asked. */
  #fileSystem(path: string): FileSystemRoom | undefined {
    const { files, readings } = this.#options.edges;
    return files.hangable(path) === undefined ? readings.fileSystem(path) : undefined;
  }
}
