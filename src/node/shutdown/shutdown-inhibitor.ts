// Performs: where systemd-logind is, its shutdown waits until the pods have ended in order. kubelet: nodeshutdown manager

import type { AgentConfig } from "../../config/config.ts";
import type { Edges } from "../../edges.ts";
import type { ShutdownLock } from "../../host/logind/logind.ts";
import { nextBackoff, type BackoffEntry } from "../../lib/backoff.ts";
import { aborted } from "../../lib/clock.ts";
import { messageOf, reasonOf } from "../../lib/errors.ts";
import type { NodeShutdown } from "./node-shutdown.ts";

export interface ShutdownInhibitorOptions {
  readonly edges: Pick<Edges, "clock" | "files" | "log" | "logind">;
  readonly config: Pick<AgentConfig, "shutdownGracePeriod" | "shutdownGracePeriodByPodPriority">;
  readonly shutdown: Pick<NodeShutdown, "begin" | "cancel" | "view">;
}

const BACKOFF = { initial: 1_000, max: 300_000, resetAfter: 3_600_000 };
const POLL_MS = 500;
const RELOAD_MS = 1_000;
const FILE = "99-agent.conf";
const FILE_MODE = 0o644;
const DIRECTORY_MODE = 0o755;

export class ShutdownInhibitor {
  readonly #options: ShutdownInhibitorOptions;
  /** Seconds that all groups get together; 0 = as in the kubelet, no lock is held. */
  readonly #seconds: number;
  /** An announcement has begun the shutdown. */
  #hasBegun = false;
  #isHeld = false;
  #failure: BackoffEntry | undefined;

  constructor(options: ShutdownInhibitorOptions) {
    this.#options = options;
    this.#seconds = secondsOf(options.config);
  }

  /** Returns at once where nothing is to be done. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#seconds === 0) return;
    const { clock } = this.#options.edges;
    while (!signal.aborted) {
      try {
        await this.#hold(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!this.#goesOn(error)) return;
      }
      this.#failure = nextBackoff(this.#failure, clock.monotonic(), BACKOFF);
      await clock.sleep(this.#failure.delay, signal);
    }
  }

  /** Until the lock is lost, or the pods have ended. */
  async #hold(signal: AbortSignal): Promise<void> {
    const { edges, shutdown } = this.#options;
    if (!this.#isHeld) await this.#raiseLimit(signal);
    using lock = await edges.logind.lock(signal);
    if (!this.#isHeld)
      edges.log.info("a shutdown of the machine waits for the pods", { seconds: this.#seconds });
    this.#isHeld = true;
    this.#failure = undefined;
    // logind grants none while it shuts down.
    if (this.#hasBegun) this.#cancel();
    for (;;) {
      const goesOff = await Promise.race([lock.next(), aborted(signal)]);
      if (goesOff === undefined) {
        this.#isHeld = false;
        if (!signal.aborted) throw new Error("the lock was lost");
        return;
      }
      if (!goesOff) continue;
      this.#hasBegun = true;
      shutdown.begin();
      if (await this.#allStopped(lock, signal)) return;
      this.#cancel();
    }
  }

  /** False: the shutdown was cancelled meanwhile. */
  async #allStopped(lock: ShutdownLock, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options.edges;
    const until = clock.monotonic() + 1000 * this.#seconds;
    let next = lock.next();
    while (!signal.aborted && this.#isLeft() && clock.monotonic() < until) {
      const rest = new AbortController();
      const slept = clock.sleep(POLL_MS, AbortSignal.any([rest.signal, signal]));
      const announced = await Promise.race([next, slept.then(() => "slept" as const)]);
      rest.abort();
      if (announced === false) return false;
      if (announced === undefined) return true;
      if (announced === true) next = lock.next();
    }
    return true;
  }

  #isLeft(): boolean {
    const { known, pods } = this.#options.shutdown.view();
    return !known || pods.length > 0;
  }

  #cancel(): void {
    this.#hasBegun = false;
    this.#options.shutdown.cancel();
  }

  /** As the kubelet does, with a file beside logind's own configuration: by default logind waits for five seconds. */
  async #raiseLimit(signal: AbortSignal): Promise<void> {
    const { clock, files, log, logind } = this.#options.edges;
    const wanted = 1000 * this.#seconds;
    const before = await logind.maxDelayMs(signal);
    if (before >= wanted) return;
    const path = `${logind.confDir}/${FILE}`;
    let why = "";
    try {
      files.makeDirectory(logind.confDir, DIRECTORY_MODE);
      files.writeAtomic(path, dropIn(this.#seconds), FILE_MODE);
      await logind.reload(signal);
      await clock.sleep(RELOAD_MS, signal);
      if ((await logind.maxDelayMs(signal)) >= wanted)
        return log.info("systemd-logind waits longer for the pods", {
          file: path,
          seconds: this.#seconds,
        });
    } catch (error) {
      signal.throwIfAborted();
      why = messageOf(error);
    }
    log.warn("systemd-logind does not wait as long as the configuration asks for", {
      waits: `${before / 1000} s`,
      shutdownGracePeriod: `${this.#seconds} s`,
      todo: `set InhibitDelayMaxSec=${this.#seconds} in /etc/systemd/logind.conf and restart systemd-logind`,
      ...(why === "" ? {} : { why }),
    });
  }

  /** False: this machine has no systemd, and will not have one. */
  #goesOn(error: unknown): boolean {
    const { log } = this.#options.edges;
    const isMissing = reasonOf(error, "") === "NoProgram";
    // While the machine goes off, no lock is granted.
    if (this.#hasBegun || (this.#failure !== undefined && !isMissing)) return true;
    log.warn("a shutdown of the machine does not wait for the pods", {
      why: messageOf(error),
      todo: "call agent shutdown before the machine goes off, or check systemd-logind",
    });
    return !isMissing;
  }
}

/** kubelet: periodRequested */
function secondsOf(config: ShutdownInhibitorOptions["config"]): number {
  const { shutdownGracePeriod, shutdownGracePeriodByPodPriority: groups } = config;
  const ofGroups = groups.reduce((sum, one) => sum + one.shutdownGracePeriodSeconds, 0);
  return Math.ceil(shutdownGracePeriod / 1000) + ofGroups;
}

function dropIn(seconds: number): Uint8Array {
  const text = `# Written by the agent, whose shutdownGracePeriod asks for it.\n[Login]\nInhibitDelayMaxSec=${seconds}\n`;
  return new TextEncoder().encode(text);
}
