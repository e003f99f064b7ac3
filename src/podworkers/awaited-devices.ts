// Performs: polls for devices that a container waits for, so that it starts as soon as they are plugged in.

import type { Edges } from "../edges.ts";
import { devicesOf } from "../api/resource/devices.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { allContainers, type PodUID } from "../api/v1/pod.ts";
import type { Files } from "../host/files.ts";
import { Alarm } from "../lib/alarm.ts";

export interface AwaitedDevicesOptions extends Pick<Edges, "clock" | "files"> {
  readonly desired: { readonly state: { readonly pods: readonly DesiredPod[] } };
  /** The workers of pods whose device has appeared. */
  readonly workers: { notify(uid: PodUID): void };
}

/** Nothing is polled while nothing is missing. */
const LOOK_MS = 1_000;

export class AwaitedDevices implements Disposable {
  readonly #options: AwaitedDevicesOptions;
  readonly #missing = new Set<string>();
  readonly #next: Alarm;

  constructor(options: AwaitedDevicesOptions) {
    this.#options = options;
    this.#next = new Alarm(options.clock, () => this.#look());
  }

  /** Whether the device exists; if not, the pods that use it are notified when it appears. */
  has(path: string): boolean {
    if (isDevice(this.#options.files, path)) return true;
    this.#missing.add(path);
    this.#next.by(this.#options.clock.monotonic() + LOOK_MS);
    return false;
  }

  [Symbol.dispose](): void {
    this.#next[Symbol.dispose]();
  }

  #look(): void {
    const { files, workers, desired } = this.#options;
    const wanted = desired.state.pods.map((desired) => ({
      uid: desired.uid,
      paths: pathsOf(desired),
    }));
    for (const path of this.#missing) {
      const waiting = wanted.filter(({ paths }) => paths.has(path));
      if (waiting.length > 0 && !isDevice(files, path)) continue;
      this.#missing.delete(path);
      for (const { uid } of waiting) workers.notify(uid);
    }
    if (this.#missing.size > 0) this.#next.after(LOOK_MS);
  }
}

function pathsOf({ pod }: DesiredPod): ReadonlySet<string> {
  const devices = allContainers(pod.spec).flatMap((one) => devicesOf(pod, one).devices);
  return new Set(devices.map(({ hostPath }) => hostPath));
}

/** Also a directory, which may contain devices. */
export function isDevice(files: Files, path: string): boolean {
  const target = files.target(path);
  const { special } = target ?? {};
  return target?.kind === "directory" || special === "charDevice" || special === "blockDevice";
}
