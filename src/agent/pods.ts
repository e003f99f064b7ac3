// Wires the rooms that make pods run: cache and lifecycle, runtime, syncer, terminator, workers, status.

import type { AgentConfig } from "../api/config.ts";
import type { DesiredPod } from "../api/desired-pod.ts";
import type { ObservedPod } from "../api/observed-pod.ts";
import type { Container, Pod, PodUID } from "../api/pod.ts";
import type { PodStatus } from "../api/pod-status.ts";
import { Limiter } from "../lib/limiter.ts";
import type { RuntimeEvents } from "../containerd/runtime-events.ts";
import { PodCache } from "../pleg/pod-cache.ts";
import { PodLifecycle } from "../pleg/pod-lifecycle.ts";
import { PodRemains } from "../podworkers/pod-remains.ts";
import { PodSyncer } from "../podworkers/pod-syncer.ts";
import { PodTerminator } from "../podworkers/pod-terminator.ts";
import { PodWorkers } from "../podworkers/pod-workers.ts";
import { crashLoopPolicy } from "../runtime/container-restart.ts";
import { PodRuntime, type PodConfigs } from "../runtime/pod-runtime.ts";
import { RuntimeReader } from "../runtime/runtime-reader.ts";
import type { PodFacts } from "../status/facts.ts";
import { generatePodStatus } from "../status/generate.ts";
import { StatusManager } from "../status/status-manager.ts";
import type { Edges } from "./edges.ts";

export interface PodsOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly configs: PodConfigs;
  readonly events: RuntimeEvents;
  readonly ensureImage: (container: Container, signal: AbortSignal) => Promise<string>;
  readonly setUpVolumes: (pod: Pod) => ReadonlyMap<string, string>;
  readonly tearDownVolumes: (uid: PodUID) => void;
  readonly removeCgroup: (uid: PodUID) => void;
  readonly requireNetwork: () => Promise<void>;
  readonly hostIPs: () => readonly string[];
  /** The runtime shows something new of a pod. */
  readonly onPodChanged: (uid: PodUID) => void;
  /** A status, or what a name waits for, changed. */
  readonly onStatusChanged: (uid: PodUID) => void;
  /** A worker has ended: nothing of its pod is left. */
  readonly onPodGone: () => void;
  readonly signal: AbortSignal;
}

export interface Pods {
  readonly cache: PodCache;
  readonly lifecycle: PodLifecycle;
  readonly workers: PodWorkers;
  readonly statuses: StatusManager;
}

/** containerd does not get faster by more calls that create something at once, only slower for everybody. */
const CREATING_AT_ONCE = 4;

export function buildPods(options: PodsOptions): Pods {
  const { edges, config, configs } = options;
  const { cri, clock, random, log, files, store } = edges;
  const cache = new PodCache();
  const reader = new RuntimeReader({ cri, instance: config.instance });
  const statuses = new StatusManager({ onChange: options.onStatusChanged });
  const lifecycle = new PodLifecycle({
    reader,
    events: options.events,
    cache,
    clock,
    random,
    log,
    onChange: options.onPodChanged,
    isBusy: (uid) => workers.isBusy(uid),
  });
  const publish = publisher(options, statuses);
  const cached = (uid: PodUID): ObservedPod | undefined => cache.get(uid);
  const look = (uid: PodUID): Promise<ObservedPod | undefined> => lifecycle.look(uid);
  const creating = new Limiter(CREATING_AT_ONCE);
  const { ensureImage, setUpVolumes, requireNetwork, tearDownVolumes, removeCgroup } = options;
  const runtime = new PodRuntime({ cri, files, log, configs, ensureImage, creating });
  const syncer = new PodSyncer({
    cri,
    runtime,
    clock,
    log,
    cached,
    look,
    setUpVolumes,
    requireNetwork,
    publish,
  });
  const remains = new PodRemains({
    files,
    podLogsDir: config.podLogsDir,
    tearDownVolumes,
    removeCgroup,
    lastWords: (uid) => lastWords(statuses, uid),
  });
  const terminator = new PodTerminator({
    cri,
    clock,
    log,
    look,
    cleanUp: (removal) => remains.cleanUp(removal),
    settle: (uid) => store.removals.settle(uid),
    publishTerminating: (desired, observed) =>
      publish(desired, observed, { waiting: {}, terminating: true }),
  });
  const workers = new PodWorkers(
    {
      syncer,
      terminator,
      clock,
      random,
      log,
      removals: store.removals,
      restartPolicy: crashLoopPolicy(config.maxContainerRestartPeriodMs),
      cached,
      observed: () => cache.all(),
      ensureImage,
      beginLife: (desired) => remains.beginLife(desired),
      onChange: (uid) => {
        const isGone = !workers.has(uid);
        if (isGone) statuses.forget(uid);
        options.onStatusChanged(uid);
        if (isGone) options.onPodGone();
      },
    },
    options.signal,
  );
  return { cache, lifecycle, workers, statuses };
}

function publisher(
  { edges, hostIPs }: PodsOptions,
  statuses: StatusManager,
): (desired: DesiredPod, observed: ObservedPod | undefined, facts: PodFacts) => void {
  return ({ uid, pod }, observed, facts) => {
    const previous: PodStatus | undefined = statuses.status(uid);
    const now = edges.clock.now();
    const all = { pod, observed, hostIPs: hostIPs(), facts, previous, now };
    statuses.set(uid, pod, generatePodStatus(all));
  };
}

/** What a replaced pod was and how it stood, for whoever asks why the change failed. */
function lastWords(statuses: StatusManager, uid: PodUID): string | undefined {
  const entry = statuses.get(uid);
  return entry === undefined
    ? undefined
    : `${JSON.stringify({ ...entry.pod, status: entry.status }, null, 2)}\n`;
}
