// Performs: starts what follows the runtime, once it has answered for the first time: the pause image, the first list,
// events and relists.

import { isContainerd } from "../containerd/containerd.ts";
import type { VersionResponse } from "../cri/gen/runtime/v1/api_pb.ts";
import type { Clock } from "../lib/clock.ts";
import type { Edges } from "../edges.ts";
import type { ImageArchives } from "../image/archive/image-archives.ts";
import type { PodLifecycle } from "../pleg/pod-lifecycle.ts";
import type { Pods } from "../podworkers/pods.ts";
import type { SyncLoop } from "./sync-loop.ts";

interface StartRuntimeOptions {
  readonly edges: Pick<Edges, "clock" | "log" | "runtimeEvents" | "bringPauseImage">;
  readonly lifecycle: PodLifecycle;
  readonly pods: Pick<Pods, "cache">;
  readonly loop: Pick<SyncLoop, "runtimeKnown">;
  readonly archives: Pick<ImageArchives, "run">;
  readonly signal: AbortSignal;
}

/** Pods that need no new sandbox wait no longer for the pause image. */
const PAUSE_IMAGE_MS = 10_000;

/** Rejects when the runtime cannot be listed; may be called again then. */
export async function startRuntime(
  version: VersionResponse,
  { edges, lifecycle, pods, loop, archives, signal }: StartRuntimeOptions,
): Promise<void> {
  const events = edges.runtimeEvents(version);
  const brought = isContainerd(version) ? awaitPauseImage(edges, signal) : undefined;
  // Before any pod asks for an image: then it waits for the archives.
  if (isContainerd(version)) untilStopped(archives.run(signal), edges.clock);
  await lifecycle.relist(signal);
  await brought;
  edges.log.info("the runtime is known", {
    runtime: `${version.runtimeName} ${version.runtimeVersion}`,
    pods: pods.cache.all().size,
  });
  loop.runtimeKnown();
  untilStopped(lifecycle.runEvents(events, signal), edges.clock);
  untilStopped(lifecycle.runRelist(signal), edges.clock);
}

/** No sandbox can be made without it, and the registry may never answer: waits only so long. */
async function awaitPauseImage(
  { clock, bringPauseImage }: StartRuntimeOptions["edges"],
  signal: AbortSignal,
): Promise<void> {
  const brought = bringPauseImage(signal);
  untilStopped(brought, clock);
  await Promise.race([brought, clock.sleep(PAUSE_IMAGE_MS, signal)]);
}

/** A loop that throws ends the agent: systemd starts it again, the pods run on. */
function untilStopped(loop: Promise<void>, clock: Pick<Clock, "after">): void {
  loop.catch((error: unknown) => {
    clock.after(0, () => {
      throw error;
    });
  });
}
