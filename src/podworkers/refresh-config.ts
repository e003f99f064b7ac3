// Performs: keeps the volumes of a pod in line with its ConfigMaps and Secrets, and computes what its containers would read
// if they started now.

import type { DesiredPods } from "../source/desired-pods.ts";
import type { SourceSnapshots } from "../source/source-snapshots.ts";
import type { Pod } from "../api/v1/pod.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { podEvent, type RecordEvent } from "../api/v1/events.ts";
import type { Edges } from "../edges.ts";
import type { Monotonic } from "../lib/clock.ts";
import { configDigests } from "../runtime/decide/config-digest.ts";
import type { Volumes } from "../volume/volume-manager.ts";

/** The ConfigMaps and Secrets of this node's pods. */
export interface PodObjects {
  /** Another number after every change of a local object. */
  version(): number;
  /** Brings the volumes of a running pod in line with its objects; returns what failed, as sentences. */
  refreshVolumes(pod: Pod): readonly string[];
  /** Container → digest of what it would read if it started now; absent = nothing, or it could not. */
  digests(desired: DesiredPod): Readonly<Record<string, string>>;
}

/** The digests of one pod, valid until an object or the pod itself changes. */
export interface KnownConfig {
  readonly version: number;
  readonly desired: DesiredPod;
  readonly digests: Readonly<Record<string, string>>;
}

interface ConfigLook {
  /** undefined = its volumes are not up to date, so nothing may restart to read them. */
  readonly known: KnownConfig | undefined;
  /** When to retry although nothing has changed. */
  readonly again: Monotonic | undefined;
}

/** A full disk may have room again; an object that is added causes a look by itself. */
const AGAIN_MS = 60_000;

interface LookOptions extends Pick<Edges, "clock"> {
  readonly objects: PodObjects;
  readonly record: RecordEvent;
  readonly before: KnownConfig | undefined;
  /** Something may run that sees them. */
  readonly hasVolumes: boolean;
}

export function lookAtConfig(desired: DesiredPod, options: LookOptions): ConfigLook {
  const { objects, clock, record, before, hasVolumes } = options;
  const version = objects.version();
  if (before?.version === version && before.desired === desired)
    return { known: before, again: undefined };
  const { pod } = desired;
  const problems = hasVolumes ? objects.refreshVolumes(pod) : [];
  for (const message of problems)
    record(podEvent(pod.metadata, { type: "Warning", reason: "FailedMount", message }));
  if (problems.length > 0) return { known: undefined, again: clock.monotonic() + AGAIN_MS };
  return { known: { version, desired, digests: objects.digests(desired) }, again: undefined };
}

interface PodObjectsOptions {
  readonly edges: Pick<Edges, "store">;
  readonly desired: Pick<DesiredPods, "objectVersion" | "objectsFor">;
  readonly written: Pick<SourceSnapshots, "isSettledFor">;
  readonly volumes: Pick<Volumes, "refresh">;
}

export function podObjects({ edges, desired, written, volumes }: PodObjectsOptions): PodObjects {
  const { secrets } = edges.store;
  return {
    version: () => desired.objectVersion,
    refreshVolumes: (pod) => volumes.refresh(pod).problems,
    digests: (wanted) =>
      configDigests(wanted.pod, {
        objects: desired.objectsFor(wanted),
        isSettled: written.isSettledFor(wanted),
        digest: (text) => secrets.configDigest(text),
      }),
  };
}
