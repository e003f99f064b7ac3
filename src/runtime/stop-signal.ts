// Whether the runtime stops a container with a signal of its spec, and how CRI spells it.

import { Signal } from "../cri/gen/runtime/v1/api_pb.ts";

/** From CRI's Version call. */
export interface RuntimeVersion {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
}

/** The first containerd that certainly reads ContainerConfig.stop_signal: those before drop it without a word. */
const CONTAINERD_SINCE: readonly [number, number] = [2, 4];

/** kubelet: KEP-4960. Of other runtimes nothing is known, so: no. */
export function supportsStopSignal({ runtimeName, runtimeVersion }: RuntimeVersion): boolean {
  if (runtimeName !== "containerd") return false;
  // Distributions write `1.6.20~ds1`, containerd itself `v2.4.0-rc.1`.
  const match = /^v?(\d+)\.(\d+)(?:\.|$)/.exec(runtimeVersion);
  if (match === null) return false;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  const [sinceMajor, sinceMinor] = CONTAINERD_SINCE;
  return major > sinceMajor || (major === sinceMajor && minor >= sinceMinor);
}

/** `SIGUSR1`, `SIGRTMIN+3` as CRI numbers them; undefined = no such signal. */
export function criSignal(name: string): Signal | undefined {
  const key = name.replace("+", "PLUS").replace("-", "MINUS");
  return Object.entries(Signal).find(([known]) => known === key && key !== "RUNTIME_DEFAULT")?.[1];
}
