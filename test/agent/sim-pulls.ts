// The line to the registry in a simulated world, and the judge of pulls. In four worlds of ten the line is bad: pulls are slow,
// break off or stall. It has dice of its own, so that nothing else of a seed moves.

import type { PullEdge } from "../../src/containerd/pull-edge.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import { CriError } from "../../src/cri/cri-error.ts";
import { aborted, type Clock } from "../../src/lib/clock.ts";
import { GrpcCode } from "../../src/lib/grpc-code.ts";
import { NO_PULL_EDGE } from "../fakes/fake-pull-edge.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";

interface RunningPull {
  readonly image: string;
  readonly since: number;
  /** No byte arrives any more. */
  stalledAt: number | undefined;
  /** No pod of the agent has its image in its spec any more. */
  unwantedAt: number | undefined;
}

export interface SimLineOptions {
  readonly seed: number;
  readonly isBad: boolean;
  readonly clock: Clock;
  readonly accuse: (text: string) => void;
  /** Images of all pods that the agent runs, stops or would like to run; undefined = it does not run. */
  readonly wanted: () => ReadonlySet<string> | undefined;
}

/** Until a pull that nobody wants has ended. */
const UNWANTED_MS = 30_000;
/** Less than the shortest back-off with its spread. */
const BACKOFF_MS = 8_900;
/** For files, and for documents. */
const LANES = 2;
const TOTAL = 1_000_000;

/** Whether the line is bad in the world of this seed. */
export function hasBadLine(seed: number): boolean {
  return lineDiceOf(seed).chance(0.4);
}

function lineDiceOf(seed: number): Mulberry32 {
  return new Mulberry32(seed ^ 0x9011);
}

export class SimLine {
  readonly isBad: boolean;
  readonly #options: SimLineOptions;
  readonly #dice: Mulberry32;
  readonly #running = new Set<RunningPull>();
  /** Of the process of the moment: when pulls of an image have failed. */
  readonly #failures = new Map<string, readonly number[]>();
  #isWell = false;

  constructor(options: SimLineOptions) {
    this.#options = options;
    this.#dice = lineDiceOf(options.seed);
    this.#dice.next();
    this.isBad = options.isBad;
  }

  /** A new process: it knows nothing of earlier failures, and the calls of the one before end with its connection. */
  onProcess(): void {
    this.#running.clear();
    this.#failures.clear();
  }

  /** Pulls that have begun before are as slow as they are, but come to their end; what has stalled stays so. */
  heal(): void {
    this.#isWell = true;
  }

  /** Something is still being pulled. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** What is wrong at the end, when every pod that is wanted has its image. */
  leftOver(): string | undefined {
    const [pull] = this.#running;
    return pull === undefined ? undefined : `${pull.image} is pulled, and no pod waits for it`;
  }

  over(cri: CriClient): CriClient {
    const pullImage: CriClient["pullImage"] = async (args, options) => {
      const signal = options?.signal ?? new AbortController().signal;
      const pull = this.#begin(args.image.image ?? "");
      try {
        if (this.isBad && !this.#isWell) await this.#suffer(pull, signal);
        const ref = await cri.pullImage(args, options);
        this.#failures.delete(pull.image);
        return ref;
      } finally {
        this.#running.delete(pull);
      }
    };
    return new Proxy(cri, {
      get: (target, name): unknown => {
        if (name === "pullImage") return pullImage;
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === "function" ? (member.bind(target) as unknown) : member;
      },
    });
  }

  readonly edge: PullEdge = {
    ...NO_PULL_EDGE,
    measure: () => ({ read: () => Promise.resolve(this.#measured()) }),
  };

  #measured() {
    const { clock } = this.#options;
    this.#mustBeWanted();
    const [pull] = this.#running;
    if (pull === undefined) return { bytes: undefined, mark: "" };
    const ms = (pull.stalledAt ?? clock.monotonic()) - pull.since;
    const done = Math.min(TOTAL - 1, Math.floor(ms));
    return { bytes: { done, total: TOTAL }, mark: String(done) };
  }

  /** A pull ends soon after the last pod that waits for it. */
  #mustBeWanted(): void {
    const { clock, wanted, accuse } = this.#options;
    const images = wanted();
    const now = clock.monotonic();
    for (const pull of this.#running) {
      if (images === undefined || images.has(pull.image)) pull.unwantedAt = undefined;
      else pull.unwantedAt ??= now;
      if (now - (pull.unwantedAt ?? now) > UNWANTED_MS)
        accuse(`${pull.image} is pulled, and no pod wants it`);
    }
  }

  #begin(image: string): RunningPull {
    const { clock, accuse } = this.#options;
    const now = clock.monotonic();
    if ([...this.#running].some((one) => one.image === image))
      accuse(`${image} is pulled twice at the same time`);
    if (this.#running.size >= LANES) accuse(`${this.#running.size + 1} images are pulled at once`);
    const lately = this.#failures.get(image)?.filter((at) => now - at < BACKOFF_MS) ?? [];
    if (lately.length >= LANES) accuse(`${image} is pulled again before its back-off has passed`);
    const nothing = { stalledAt: undefined, unwantedAt: undefined };
    const pull: RunningPull = { image, since: now, ...nothing };
    this.#running.add(pull);
    return pull;
  }

  async #suffer(pull: RunningPull, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const how = this.#dice.weighted([
      ["well", 3],
      ["slow", 3],
      ["breaks", 4],
      ["stalls", 2],
    ]);
    const ms = this.#dice.pick([0, 500, 5_000, 60_000, 400_000]);
    if (how === "well") return;
    await clock.sleep(ms, signal);
    if (this.#isWell && !signal.aborted) return;
    if (how === "stalls") {
      pull.stalledAt = clock.monotonic();
      await aborted(signal);
    }
    if (signal.aborted) throw failure(GrpcCode.CANCELED, "cancelled before the runtime answered");
    if (how !== "breaks") return;
    const before = this.#failures.get(pull.image) ?? [];
    this.#failures.set(pull.image, [...before, clock.monotonic()].slice(-LANES));
    throw failure(GrpcCode.UNKNOWN, "failed to copy: read tcp: connection reset by peer");
  }
}

function failure(code: number, details: string): CriError {
  return new CriError({ call: "PullImage", code, details });
}
