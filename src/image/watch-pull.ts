// Performs: watches one pull while it runs: how far it is, and whether it has stalled.

import type { PullMeter } from "../containerd/measure-pull.ts";
import { CriError } from "../cri/cri-error.ts";
import type { Edges } from "../edges.ts";
import { GrpcCode } from "../lib/grpc-code.ts";
import {
  nextPullState,
  stallOf,
  UNMEASURED_MS,
  type ImageBytes,
  type PullState,
} from "./pull-progress.ts";

interface WatchPullOptions extends Pick<Edges, "clock"> {
  readonly meter: PullMeter;
  readonly onBytes: (bytes: ImageBytes) => void;
  readonly signal: AbortSignal;
}

/** Two small calls to containerd each. */
const LOOK_MS = 2_000;

/** Rejects with CriError `DeadlineExceeded` when the pull has stalled; its signal has aborted then. */
export async function watchPull<T>(
  pull: (signal: AbortSignal) => Promise<T>,
  options: WatchPullOptions,
): Promise<T> {
  const [ended, stalled] = [new AbortController(), new AbortController()];
  const watching = watch(options, ended.signal).then((why) => {
    if (why !== undefined) stalled.abort(why);
  });
  try {
    return await pull(AbortSignal.any([options.signal, stalled.signal]));
  } catch (error) {
    if (!stalled.signal.aborted || options.signal.aborted) throw error;
    const details = String(stalled.signal.reason);
    throw new CriError({ call: "PullImage", code: GrpcCode.DEADLINE_EXCEEDED, details });
  } finally {
    ended.abort();
    await watching;
  }
}

/** Resolves to what is wrong with the pull, or to undefined when it has ended. */
async function watch(
  { clock, meter, onBytes }: WatchPullOptions,
  ended: AbortSignal,
): Promise<string | undefined> {
  let state: PullState = { mark: "", since: clock.monotonic(), bytes: undefined };
  for (;;) {
    await clock.sleep(LOOK_MS, ended);
    if (ended.aborted) return undefined;
    try {
      const read = await meter.read(ended);
      if (read === undefined) return await unmeasured(clock, ended);
      state = nextPullState(state, read, clock.monotonic());
    } catch {
      // The runtime is away, and the pull ends by itself; or the watch has ended.
      continue;
    }
    if (state.bytes !== undefined) onBytes(state.bytes);
    const why = stallOf(state, clock.monotonic());
    if (why !== undefined) return why;
  }
}

async function unmeasured(clock: Edges["clock"], ended: AbortSignal): Promise<string | undefined> {
  await clock.sleep(UNMEASURED_MS, ended);
  return ended.aborted ? undefined : `not finished after ${UNMEASURED_MS / 3_600_000} hours`;
}
