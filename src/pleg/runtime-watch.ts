// Performs: checks periodically that the runtime answers; the event stream of a hung runtime stays open. kubelet:
// updateRuntimeUp

import type { Edges } from "../edges.ts";
import type { AgentConfig } from "../config/config.ts";
import { checkVersion } from "../cri/check-version.ts";
import type { StatusResponse, VersionResponse } from "../cri/gen/runtime/v1/api_pb.ts";
import type { Monotonic } from "../lib/clock.ts";
import { AgentError, messageOf, reasonOf } from "../lib/errors.ts";
import { jitter } from "../lib/random.ts";
import { findCgroupDriver } from "../runtime/cgroup/cgroup-driver.ts";
import type { CgroupDriver } from "../runtime/cgroup/cgroup-parent.ts";
import {
  NO_FEATURES,
  runtimeFeatures,
  type RuntimeFeatures,
} from "../runtime/cri-config/features.ts";

interface RuntimeWatchOptions extends Pick<Edges, "clock" | "random" | "log" | "cri"> {
  readonly config: Pick<AgentConfig, "containerRuntimeEndpoint" | "cgroupDriver" | "podCIDR">;
  /** Called until it succeeds, then never again; `cgroupDriver` and `features` are set by then. */
  readonly onFirst: (version: VersionResponse) => Promise<void>;
  /** The runtime answers again after a failure. */
  readonly onReturn: () => void;
  /** `unhealthy()` or `conditions` may have changed. */
  readonly onChange?: () => void;
  /** The runtime did not answer for so long that the node is unhealthy (why), or answers again (undefined). */
  readonly onHealth?: (problem: string | undefined) => void;
}

/** From CRI's last Status. */
interface RuntimeConditions {
  readonly networkReady: boolean;
  readonly networkMessage: string;
}

const UNKNOWN_NETWORK: RuntimeConditions = {
  networkReady: false,
  networkMessage: "the runtime does not report NetworkReady",
};
const ALIVE_MS = 10_000;
const RETRY_MS = 1_000;
/** kubelet: maxWaitForContainerRuntime */
const DEAD_MS = 30_000;
const STATUS_FRESH_MS = 30_000;

export class RuntimeWatch {
  readonly #options: RuntimeWatchOptions;
  #answeredAt: Monotonic | undefined;
  #startedAt: Monotonic;
  #problem = "the container runtime has not answered yet";
  #isSilent = false;
  #version: VersionResponse | undefined;
  #features = NO_FEATURES;
  #cgroupDriver: CgroupDriver = "cgroupfs";
  #conditions: (RuntimeConditions & { readonly at: Monotonic }) | undefined;
  #reported = "";
  #knowsPodCIDR = false;

  constructor(options: RuntimeWatchOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
  }

  get version(): VersionResponse | undefined {
    return this.#version;
  }

  get conditions(): RuntimeConditions | undefined {
    return this.#conditions;
  }

  /** From its last answers; none before the first. */
  get features(): RuntimeFeatures {
    return this.#features;
  }

  /** The runtime's; set before the first pod is made. */
  get cgroupDriver(): CgroupDriver {
    return this.#cgroupDriver;
  }

  /** undefined = healthy, else the message for /healthz. */
  unhealthy(): string | undefined {
    if (this.#version !== undefined && this.#silence() <= DEAD_MS) return undefined;
    return `container runtime: ${this.#problem}`;
  }

  /** Ms since the last answer. */
  #silence(): number {
    return this.#options.clock.monotonic() - (this.#answeredAt ?? this.#startedAt);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    let failed = false;
    while (!signal.aborted) {
      try {
        await this.#check(signal);
        if (failed) this.#options.onReturn();
        failed = false;
      } catch (error) {
        if (signal.aborted) return;
        failed = this.#version !== undefined;
        this.#knowsPodCIDR = false;
        this.#problem = messageOf(error);
        log.error("the container runtime does not answer", {
          reason: reasonOf(error, "RuntimeUnavailable"),
          error: messageOf(error),
        });
      }
      this.#reportHealth();
      this.#reportChange();
      const pause = this.#version === undefined || failed ? RETRY_MS : ALIVE_MS;
      await clock.sleep(jitter(random, pause, 0.1), signal);
    }
  }

  #reportHealth(): void {
    const isSilent = this.#silence() > DEAD_MS;
    if (isSilent === this.#isSilent) return;
    this.#isSilent = isSilent;
    this.#options.onHealth?.(isSilent ? this.#problem : undefined);
  }

  #reportChange(): void {
    const { networkReady, networkMessage } = this.#conditions ?? {};
    const now = JSON.stringify([this.unhealthy(), networkReady, networkMessage]);
    if (now === this.#reported) return;
    this.#reported = now;
    this.#options.onChange?.();
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { cri, clock, config, onFirst } = this.#options;
    const endpoint = config.containerRuntimeEndpoint;
    const version = await checkVersion(cri, { endpoint, signal });
    // Read every time: the runtime may have been restarted with another configuration.
    this.#features = runtimeFeatures(version, await this.#readStatus(true));
    if (!this.#knowsPodCIDR) await this.#tellPodCIDR(signal);
    if (this.#version === undefined) {
      this.#cgroupDriver = await findCgroupDriver(cri, config.cgroupDriver);
      await onFirst(version);
    }
    this.#version = version;
    this.#answeredAt = clock.monotonic();
  }

  /** Pods whose network does not depend on it start all the same; told again with the next look. kubelet: updatePodCIDR */
  async #tellPodCIDR(signal: AbortSignal): Promise<void> {
    const { cri, config, log } = this.#options;
    try {
      if (config.podCIDR !== undefined) await cri.updateRuntimeConfig(config.podCIDR, { signal });
      this.#knowsPodCIDR = true;
    } catch (error) {
      const facts = { podCIDR: config.podCIDR, error: messageOf(error) };
      log.error(
        "the container runtime does not take podCIDR; remove it, or mend the runtime",
        facts,
      );
    }
  }

  /** Rejects with `NetworkNotReady` while the runtime reports that pods get no network. */
  async requireNetwork(): Promise<void> {
    const now = this.#options.clock.monotonic();
    const known = this.#conditions;
    const isFresh = known?.networkReady === true && now - known.at <= STATUS_FRESH_MS;
    if (!isFresh) await this.#readStatus(false);
    const { networkReady, networkMessage } = this.#conditions ?? UNKNOWN_NETWORK;
    if (networkReady) return;
    throw new AgentError({
      reason: "NetworkNotReady",
      message: `the runtime has no pod network: ${networkMessage}; install a CNI configuration, or use hostNetwork`,
    });
  }

  async #readStatus(verbose: boolean): Promise<StatusResponse> {
    const response = await this.#options.cri.status({ verbose });
    const network = response.status?.conditions.find(({ type }) => type === "NetworkReady");
    this.#conditions = {
      networkReady: network?.status === true,
      networkMessage: network?.message ?? UNKNOWN_NETWORK.networkMessage,
      at: this.#options.clock.monotonic(),
    };
    return response;
  }
}
