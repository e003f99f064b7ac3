// Performs: wires the rooms that make pods run: cache and lifecycle, runtime, syncer, terminator, workers, status.

import type { AgentConfig } from "../config/config.ts";
import type { DesiredPod, Rejection } from "../api/pod/desired-pod.ts";
import type { RecordEvent } from "../api/v1/events.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { allContainers, type Pod, type PodUID } from "../api/v1/pod.ts";
import type { PodStatus } from "../api/v1/pod-status.ts";
import { Limiter } from "../lib/limiter.ts";
import type { RuntimeEvents } from "../containerd/runtime-events.ts";
import { PodCache } from "../pleg/pod-cache.ts";
import { PodLifecycle } from "../pleg/pod-lifecycle.ts";
import { ConfigChanges, type PodObjects } from "../podworkers/config-changes.ts";
import { disruptionOf } from "../podworkers/disruption.ts";
import { GarbageCollector } from "../podworkers/garbage-collector.ts";
import { ActionPerformer } from "../podworkers/perform-actions.ts";
import { PodRemains } from "../podworkers/pod-remains.ts";
import { PodSyncer } from "../podworkers/pod-syncer.ts";
import { PodTerminator } from "../podworkers/pod-terminator.ts";
import { PodWorkers } from "../podworkers/pod-workers.ts";
import { ProbeManager } from "../prober/probe-manager.ts";
import type { RuntimeHelper, EnsureImage, PodConfigs } from "../runtime/decide/action-input.ts";
import { ContainerDrafts } from "../runtime/container-draft.ts";
import { ContainerSurroundings } from "../runtime/run-container-options.ts";
import { PodKiller } from "../runtime/kill-pod.ts";
import { LifecycleRunner } from "../runtime/lifecycle.ts";
import { PodRuntime } from "../runtime/pod-runtime.ts";
import { RuntimeReader } from "../runtime/observe/runtime-reader.ts";
import { ContainerStarter } from "../runtime/start-container.ts";
import { volumeImages } from "../runtime/cri-config/volume-images.ts";
import type { PodFacts } from "../status/facts.ts";
import { generatePodStatus } from "../status/generate.ts";
import { StatusManager } from "../status/status-manager.ts";
import type { Edges } from "../edges.ts";
import type { Pods } from "../podworkers/pods.ts";

export interface PodsOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly configs: PodConfigs;
  readonly events: RuntimeEvents;
  readonly ensureImage: EnsureImage;
  readonly record: RecordEvent;
  readonly world: RuntimeHelper;
  readonly objects: PodObjects;
  /** Before `setUpVolumes`: what of it takes long, in steps; absent = nothing does. */
  readonly shareLargeClaims?: (pod: Pod) => Iterable<void>;
  readonly setUpVolumes: (pod: Pod) => ReadonlyMap<string, string>;
  /** Throws what `setUpVolumes` would, as far as a look can tell; absent = nothing is looked at. */
  readonly checkVolumes?: (pod: Pod) => void;
  /** Before `tearDownVolumes`, likewise. */
  readonly emptyLargeVolumes?: (uid: PodUID) => Iterable<void>;
  readonly tearDownVolumes: (uid: PodUID) => void;
  readonly removeCgroup: (uid: PodUID) => void;
  /** Somebody keeps the pod from taking its predecessor's place; absent = nobody does. */
  readonly isHeld?: (desired: DesiredPod) => boolean;
  /** Throws AgentError `CreateContainerConfigError` for what it reads and nobody has; absent = it needs nothing. */
  readonly requireConfig?: (desired: DesiredPod) => void;
  readonly requireNetwork: () => Promise<void>;
  readonly hostIPs: () => readonly string[];
  /** What of the desired state cannot be. */
  readonly rejected: () => readonly Rejection[];
  /** The runtime shows something new of a pod. */
  readonly onPodChanged: (uid: PodUID) => void;
  /** A status, or what a name waits for, changed. */
  readonly onStatusChanged: (uid: PodUID) => void;
  /** A worker has ended, nothing of its pod is left; or a pod has come to its end and needs no room any more. */
  readonly onPodGone: () => void;
  readonly signal: AbortSignal;
}

/** containerd does not get faster by more calls that create something at once, only slower for everybody. */
const CREATING_AT_ONCE = 4;

export function buildPods(options: PodsOptions): Pods {
  const { edges, config } = options;
  const { cri, clock, random, log, files, store, bootId } = edges;
  const { record, ensureImage } = options;
  const cache = new PodCache();
  const reader = new RuntimeReader({ cri, files, instance: config.instance });
  const statuses = new StatusManager({
    onChange: (uid) => {
      options.onStatusChanged(uid);
      workers.onStatusChanged();
      if (statuses.isOver(uid)) options.onPodGone();
    },
  });
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
  const prober = buildProber(options, (uid) => {
    workers.say(uid);
    options.onPodChanged(uid);
  });
  options.signal.addEventListener("abort", () => prober[Symbol.dispose](), { once: true });
  const publish = publisher(options, { statuses, prober });
  const cached = (uid: PodUID): ObservedPod | undefined => cache.get(uid);
  const look = (uid: PodUID): Promise<ObservedPod | undefined> => lifecycle.look(uid);
  const doers = buildRuntime(options);
  const syncer = new PodSyncer({
    performer: doers.performer,
    garbage: new GarbageCollector({ cri, files, configs: options.configs, clock, log }),
    clock,
    bootId,
    record,
    cached,
    look,
    verdicts: (uid) => prober.verdicts(uid),
    failures: store.failures,
    config: new ConfigChanges({ objects: options.objects, clock, record }),
    publish,
  });
  const remains = buildRemains(options, statuses);
  const terminator = new PodTerminator({
    cri,
    killer: doers.killer,
    clock,
    log,
    cached,
    look,
    emptyLargeVolumes: options.emptyLargeVolumes ?? (() => []),
    cleanUp: (removal) => remains.cleanUp(removal),
    settle: (uid) => {
      store.failures.forget(uid);
      store.killed.forget(uid);
      store.removals.settle(uid);
    },
    publishTerminating: (desired, observed) => {
      const disruption = disruptionOf(desired, options.rejected());
      const facts = { waiting: {}, terminating: true };
      publish(desired, observed, disruption === undefined ? facts : { ...facts, disruption });
    },
  });
  const fetchImages: Pods["fetchImages"] = async (pod, signal) => {
    const canMount = options.world.mountsImages();
    for (const container of allContainers(pod.spec)) {
      await ensureImage(pod, container, signal);
      const mounted = canMount ? [...volumeImages(pod, container).values()] : [];
      for (const wanted of mounted) await ensureImage(pod, wanted, signal);
    }
  };
  const workers = new PodWorkers(
    {
      syncer,
      terminator,
      clock,
      random,
      log,
      bootId,
      record,
      removals: store.removals,
      killed: store.killed,
      maxBackoffMs: config.maxContainerRestartPeriodMs,
      cached,
      observed: () => cache.all(),
      status: (uid) => statuses.status(uid),
      fetchImages,
      isHeld: options.isHeld,
      requireConfig: options.requireConfig,
      beginLife: (desired) => remains.beginLife(desired),
      onChange: (uid) => {
        const isGone = !workers.has(uid);
        if (isGone) {
          prober.forget(uid);
          statuses.forget(uid);
        }
        options.onStatusChanged(uid);
        if (isGone) options.onPodGone();
      },
    },
    options.signal,
  );
  return { cache, lifecycle, workers, statuses, remains, fetchImages };
}

interface Doers {
  readonly performer: ActionPerformer;
  readonly killer: PodKiller;
}

function buildRuntime(options: PodsOptions): Doers {
  const { configs, record, world, ensureImage, setUpVolumes, requireNetwork } = options;
  const { shareLargeClaims = () => [], checkVolumes = () => undefined } = options;
  const { cri, clock, log, files, probes } = options.edges;
  const creating = new Limiter(CREATING_AT_ONCE);
  const lifecycle = new LifecycleRunner({ cri, edge: probes, clock });
  const killer = new PodKiller({ cri, lifecycle, clock, log, record });
  const common = { cri, configs, ensureImage, creating, record };
  const surroundings = new ContainerSurroundings({ world, configs, files });
  const drafts = new ContainerDrafts({ files, configs, ensureImage, world, surroundings });
  const starter = new ContainerStarter({ ...common, log, lifecycle, drafts, surroundings });
  const runtime = new PodRuntime({ ...common, clock, log, starter, killer });
  const volumes = { checkVolumes, shareLargeClaims, setUpVolumes };
  const performer = new ActionPerformer({ runtime, ...volumes, requireNetwork, clock, record });
  return { performer, killer };
}

function buildProber(
  { edges, hostIPs, record }: PodsOptions,
  onChange: (uid: PodUID) => void,
): ProbeManager {
  const { cri, clock, random, log, probes } = edges;
  return new ProbeManager({
    clock,
    random,
    log,
    edge: probes,
    exec: async (id, command, { timeoutSeconds, signal }) => {
      const answer = await cri.execSync(id, { cmd: command, timeoutSeconds }, { signal });
      const output = Buffer.concat([answer.stdout, answer.stderr]).toString();
      return { exitCode: answer.exitCode, output };
    },
    hostIP: () => hostIPs()[0],
    onChange,
    record,
  });
}

function buildRemains(options: PodsOptions, statuses: StatusManager): PodRemains {
  const { edges, config, tearDownVolumes, removeCgroup } = options;
  return new PodRemains({
    files: edges.files,
    podLogsDir: config.podLogsDir,
    tearDownVolumes,
    removeCgroup,
    lastWords: (uid) => lastWords(statuses, uid),
  });
}

function publisher(
  { edges, hostIPs }: PodsOptions,
  { statuses, prober }: { readonly statuses: StatusManager; readonly prober: ProbeManager },
): (desired: DesiredPod, observed: ObservedPod | undefined, facts: PodFacts) => void {
  return ({ uid, pod }, observed, facts) => {
    prober.update(pod, observed, { terminating: facts.terminating === true });
    const previous: PodStatus | undefined = statuses.status(uid);
    const now = edges.clock.now();
    const said = { ...facts, probes: prober.verdicts(uid) };
    const all = { pod, observed, hostIPs: hostIPs(), facts: said, previous, now };
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
