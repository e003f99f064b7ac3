// Performs: what containerd can do for pulls and CRI cannot: report how much has arrived, and keep it while a pull is tried
// again and again.

import { ignoreNotFound, type GrpcChannel } from "../cri/grpc-connection.ts";
import { hasCode, isUnimplemented } from "../cri/cri-error.ts";
import type { Clock } from "../lib/clock.ts";
import { GrpcCode } from "../lib/grpc-code.ts";
import type { Sha256 } from "../lib/system-sha256.ts";
import { CRI_NAMESPACE_HEADERS } from "./containerd.ts";
import { Leases } from "./gen/containerd/services/leases/v1/leases_pb.ts";
import { measurePulls, type MeasurePull } from "./measure-pull.ts";

/** Request headers of a call of CRI. */
export type CallHeaders = Readonly<Record<string, string>>;

export interface PullEdge {
  readonly measure: MeasurePull;
  /**
   * Headers for PullImage with which containerd keeps what has arrived when the pull fails, for a day at most; {} for a
   * runtime that cannot. Without them, a layer that does not arrive in one go never arrives. Throws CriError.
   */
  keep(image: string, signal: AbortSignal): Promise<CallHeaders>;
  /** The image is here, or not wanted any more: what belongs to no image goes. Throws CriError. */
  forget(image: string): Promise<void>;
}

interface ContainerdPullsOptions {
  readonly channel: GrpcChannel;
  readonly clock: Clock;
  readonly sha256: Sha256;
}

const CALL_MS = 10_000;
/** containerd's own leases of pulls end after as long. Its clock counts, and a step of it loses only what has arrived. */
const KEPT_MS = 86_400_000;

export function containerdPulls({ channel, clock, sha256 }: ContainerdPullsOptions): PullEdge {
  const settings = (signal?: AbortSignal) => {
    return { signal, timeoutMs: CALL_MS, headers: CRI_NAMESPACE_HEADERS };
  };
  const leaseOf = (image: string): string => `agent-pull-${sha256(image).slice(0, 32)}`;
  return {
    measure: measurePulls(channel),
    async keep(image, signal) {
      const id = leaseOf(image);
      const labels = { "containerd.io/gc.expire": new Date(clock.now() + KEPT_MS).toISOString() };
      try {
        await channel.unary(Leases.method.create, { id, labels }, settings(signal));
      } catch (thrown) {
        if (isUnimplemented(thrown)) return {};
        // Of an earlier try, also of another process.
        if (!hasCode(thrown, GrpcCode.ALREADY_EXISTS)) throw thrown;
      }
      return { "containerd-lease": id };
    },
    async forget(image) {
      const deleting = channel.unary(Leases.method.delete, { id: leaseOf(image) }, settings());
      await ignoreNotFound(deleting).catch((thrown: unknown) => {
        if (!isUnimplemented(thrown)) throw thrown;
      });
    },
  };
}
