// The half of the agent that makes pods run, in process: fake runtime, virtual time, real SQLite and files.

import { Meter } from "../../src/lib/meter.ts";
import { PodStartLatency } from "../../src/podworkers/pod-start-latency.ts";
import { CONFIG_DEFAULTS } from "../fakes/config-defaults.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { AgentConfig } from "../../src/config/config.ts";
import {
  NOTHING_DESIRED,
  type DesiredPod,
  type DesiredState,
  type SourceName,
} from "../../src/api/pod/desired-pod.ts";
import type { RecordEvent } from "../../src/api/v1/events.ts";
import { ANNOTATION, LABEL } from "../../src/api/pod/labels.ts";
import type { Pod, PodUID } from "../../src/api/v1/pod.ts";
import type { Edges } from "../../src/edges.ts";
import { buildLifecycle } from "../../src/agent/build-lifecycle.ts";
import type { Cgroups } from "../../src/host/cgroups.ts";
import { buildPods, type PodRunner, type PodsOptions } from "../../src/agent/build-pods.ts";
import { NamespaceMode } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import type { Files } from "../../src/host/files.ts";
import type { ProbeEdge } from "../../src/host/probe/probe-edge.ts";
import { realFiles } from "../../src/host/real-files.ts";
import { AgentError } from "../../src/lib/errors.ts";
import { createLogger, type Logger } from "../../src/lib/logger.ts";
import type { Random } from "../../src/lib/random.ts";
import type { PodObjects } from "../../src/podworkers/refresh-config.ts";
import type { LocalImage } from "../../src/runtime/cri-config/security-context.ts";
import type { RuntimeHelper } from "../../src/runtime/runtime-helper.ts";
import type { PodConfigs } from "../../src/runtime/pod-configs.ts";
import { addonPath } from "#sqlite-addon";
import type { Removals } from "../../src/store/pod-records.ts";
import { UNGUARDED, type WorkGuard } from "../../src/store/start-guard/start-guard.ts";
import { Store } from "../../src/store/store.ts";
import { aContainer, aDesiredPod, aPod } from "../fakes/a-pod.ts";
import { VirtualClock } from "../fakes/fake-clock.ts";
import { revocable, type RevocableRuntime } from "../fakes/fake-cri-revocable.ts";
import { RevocableClock } from "../fakes/fake-revocable-clock.ts";
import { FakeRuntime, type FakeRuntimeOptions } from "../fakes/fake-runtime.ts";
import { NO_POD_OBJECTS, PLAIN_WORLD } from "../fakes/plain-world.ts";
import type { PodLifecycle } from "../../src/pleg/pod-lifecycle.ts";
import { noPods, type Pods } from "../../src/podworkers/pods.ts";
import { withoutUndefined } from "../../src/lib/json.ts";
import type { Container } from "../../src/api/v1/container.ts";

export const IMAGE = "local/busybox:1";

export const steadyRandom: Random = { next: () => 0.5, hex: (length) => "ab".repeat(length) };

export class PodWorld implements Disposable {
  readonly clock = new VirtualClock();
  readonly runtime: FakeRuntime;
  readonly directory = mkdtempSync("/tmp/agent-world-");
  readonly lines: string[] = [];
  /** Images that ensureImage finds. */
  readonly images = new Set([IMAGE]);
  /** While it is, no removal can be written down. */
  diskFull = false;
  /** What containers and pods find on this node, where it matters. */
  readonly finds: Finds;
  /** Of all its processes. */
  readonly meter = new Meter();
  #process: PodProcess | undefined;

  constructor(options: Partial<FakeRuntimeOptions> = {}, finds: Finds = {}) {
    this.runtime = new FakeRuntime({ clock: this.clock, images: [IMAGE], ...options });
    this.finds = finds;
  }

  get pods(): Pods {
    if (this.#process === undefined) throw new Error("the agent is not running");
    return this.#process.pods;
  }

  get runner(): PodRunner {
    if (this.#process === undefined) throw new Error("the agent is not running");
    return this.#process.runner;
  }

  /** Starts the agent's pod half: lists the runtime, then follows its events. */
  async start(): Promise<void> {
    const process = this.#boot();
    this.#process = process;
    await process.lifecycle.relist(process.stop.signal);
    process.follow();
    await this.clock.advance(0);
  }

  /** Ends it as kill -9 would: no call, timer or write of it has any effect any more. */
  async kill(): Promise<void> {
    this.#process?.kill();
    this.#process = undefined;
    await this.clock.advance(0);
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** What shall run, from one source that has spoken unless said otherwise. */
  async desire(
    pods: readonly DesiredPod[],
    ready: readonly SourceName[] = ["file"],
  ): Promise<void> {
    const desired: DesiredState = { ...NOTHING_DESIRED, pods, ready: new Set(ready) };
    this.runner.workers.apply(desired);
    await this.clock.advance(0);
  }

  /** `pod/container/attempt` of what runs, sorted. */
  running(): readonly string[] {
    return this.runtime
      .running()
      .map(({ config }) => {
        const name = config.labels[LABEL.podName] ?? "?";
        return `${name}/${config.metadata?.name}/${config.metadata?.attempt}`;
      })
      .toSorted();
  }

  /** Ids of running containers. */
  ids(): readonly string[] {
    return this.runtime.running().map(({ id }) => id);
  }

  [Symbol.dispose](): void {
    this.#process?.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #boot(): PodProcess {
    const process: PodProcess = bootPods({
      clock: new RevocableClock(this.clock),
      random: steadyRandom,
      runtime: revocable(this.runtime, this.runtime.events),
      files: realFiles(),
      directory: this.directory,
      write: (line) => this.lines.push(line),
      meter: this.meter,
      ensureImage: (_pod, container) => this.#image(container),
      requireNetwork: () => this.#network(),
      // The agent's loop catches what this throws on a full disk.
      onPodChanged: (uid) => {
        if (!this.diskFull) process.runner.workers.notify(uid);
      },
      removals: (removals) => this.#onDisk(removals),
      ...this.finds,
    });
    return process;
  }

  #onDisk(removals: Removals): Removals {
    const begin = (wanted: Parameters<Removals["begin"]>[0]): void => {
      if (this.diskFull)
        throw new AgentError({ reason: "DatabaseFull", message: "the disk is full" });
      removals.begin(wanted);
    };
    const own: Pick<Removals, "begin" | "settle" | "all"> = {
      begin,
      settle: (...args) => removals.settle(...args),
      all: () => removals.all(),
    };
    return own as Removals;
  }

  async #image({ image }: Container): Promise<LocalImage> {
    await Promise.resolve();
    if (this.images.has(image)) return { ref: image, username: "" };
    throw new AgentError({ reason: "ErrImagePull", message: `${image}: not found` });
  }

  async #network(): Promise<void> {
    await Promise.resolve();
    if (!this.runtime.networkReady)
      throw new AgentError({ reason: "NetworkNotReady", message: "cni plugin not initialized" });
  }
}

export type Finds = Pick<
  PodProcessOptions,
  | "world"
  | "objects"
  | "record"
  | "oomKills"
  | "setUpVolumes"
  | "shareLargeClaims"
  | "emptyLargeVolumes"
  | "guard"
  | "graceByNode"
  | "endedByNode"
>;

/** One process of the agent: how it is made of its edges, and how it dies. */
export interface PodProcessOptions {
  readonly clock: RevocableClock;
  readonly random: Random;
  readonly runtime: RevocableRuntime;
  readonly files: Files;
  /** Survives the process. */
  readonly directory: string;
  readonly write: (line: string) => void;
  readonly meter?: Meter;
  readonly ensureImage: PodsOptions["ensureImage"];
  readonly requireNetwork: () => Promise<void>;
  readonly onPodChanged: (uid: PodUID) => void;
  readonly onStatusChanged?: (uid: PodUID) => void;
  readonly record?: RecordEvent;
  /** Of the cgroup at this path. */
  readonly oomKills?: Cgroups["oomKills"];
  readonly world?: Partial<RuntimeHelper>;
  readonly objects?: Partial<PodObjects>;
  readonly setUpVolumes?: PodsOptions["volumes"]["setUp"];
  readonly shareLargeClaims?: (pod: Pod) => Iterable<void>;
  readonly emptyLargeVolumes?: (uid: PodUID) => Iterable<void>;
  readonly guard?: WorkGuard;
  /** Of pods that the node itself ends. */
  readonly graceByNode?: (uid: PodUID) => number | undefined;
  readonly endedByNode?: PodsOptions["endedByNode"];
  /** Puts something between the rooms and the table of removals. */
  readonly removals?: (removals: Removals) => Removals;
}

export interface PodProcess {
  readonly stop: AbortController;
  readonly store: Store;
  readonly pods: Pods;
  readonly lifecycle: PodLifecycle;
  readonly runner: PodRunner;
  readonly log: Logger;
  /** After the first list: events, and lists now and then. */
  follow(): void;
  /** kill -9: from here on nothing that it does has an effect. */
  kill(): void;
}

export function bootPods(options: PodProcessOptions): PodProcess {
  const { clock, random, runtime, files, directory } = options;
  const stop = new AbortController();
  const store = Store.open({
    stateDir: directory,
    files: realFiles(),
    random: steadyRandom,
    nativeBinding: addonPath,
  });
  const log = createLogger({ clock, level: "debug", write: options.write });
  const removals = options.removals?.(store.removals) ?? store.removals;
  const { failures, killed } = store;
  const bootId = "boot";
  const probes = noNetwork;
  const { cri } = runtime;
  const rows = { removals, failures, killed };
  const cgroups = { oomKills: options.oomKills ?? (() => undefined) };
  const counting = withoutUndefined({ meter: options.meter });
  const edges = {
    clock,
    random,
    log,
    files,
    cri,
    probes,
    bootId,
    cgroups,
    store: rows,
    ...counting,
  };
  const logs = join(directory, "logs");
  const pods = noPods();
  const common = {
    edges: edges as unknown as Edges,
    config: plainConfig(logs),
    pods,
    record: options.record ?? (() => undefined),
    onPodChanged: options.onPodChanged,
  };
  const lifecycle = buildLifecycle({ ...common, cgroupDriver: () => "cgroupfs" });
  const runner = buildPods({
    ...common,
    lifecycle,
    guard: options.guard ?? UNGUARDED,
    configs: plainConfigs(logs),
    ensureImage: options.ensureImage,
    startLatency: new PodStartLatency({ ...edges, ...pods }),
    redact: (text) => text,
    helper: { ...PLAIN_WORLD, ...options.world },
    objects: { ...NO_POD_OBJECTS, ...options.objects },
    volumes: {
      check: () => undefined,
      setUpRemote: () => undefined,
      shareLargeClaims: options.shareLargeClaims ?? (() => []),
      emptyLargeVolumes: options.emptyLargeVolumes ?? (() => []),
      setUp: options.setUpVolumes ?? (() => new Map([["-", "/"]])),
      tearDown: () => undefined,
    },
    network: { requireNetwork: options.requireNetwork },
    addresses: { hostIPs: () => ["192.0.2.1"] },
    desired: { state: NOTHING_DESIRED },
    onStatusChanged: options.onStatusChanged ?? (() => undefined),
    onPodGone: () => undefined,
    onPreempted: () => undefined,
    ...withoutUndefined({
      graceByNode: options.graceByNode,
      endedByNode: options.endedByNode,
    }),
    signal: stop.signal,
  });
  const kill = (): void => {
    runtime.revoke();
    clock.revoke();
    store[Symbol.dispose]();
    // Only for the streams, that they let go of what they hold.
    stop.abort();
  };
  const follow = (): void => {
    void lifecycle.runEvents(runtime.events, stop.signal);
    void lifecycle.runRelist(stop.signal);
  };
  return { stop, store, pods, lifecycle, runner, log, follow, kill };
}

/** Nobody answers. */
const noNetwork: ProbeEdge = {
  httpGet: () => Promise.reject(new Error("no network")),
  tcpConnect: () => Promise.reject(new Error("no network")),
  grpcHealth: () => Promise.reject(new Error("no network")),
};

function plainConfig(podLogsDir: string): AgentConfig {
  return { ...CONFIG_DEFAULTS, podLogsDir };
}

/** A pod named `name` whose UID follows from `spec`. */
export function pod(
  name: string,
  version = "1",
  spec: Parameters<typeof aPod>[0] = {},
): DesiredPod {
  const containers = [aContainer("a")];
  return aDesiredPod(aPod({ containers, ...spec }, { name, uid: `${name}-${version}` }));
}

/** As little of CRI's configuration as identity needs. */
function plainConfigs(logs: string): PodConfigs {
  const labels = ({ uid, pod: { metadata } }: DesiredPod): Record<string, string> => ({
    [LABEL.managed]: "true",
    [LABEL.instance]: "default",
    [LABEL.podUID]: uid,
    [LABEL.podName]: metadata.name,
    [LABEL.podNamespace]: metadata.namespace,
  });
  return {
    runtimeHandler: () => "",
    prepareCgroup: () => undefined,
    settleCgroup: () => undefined,
    removeCgroup: () => undefined,
    sandbox: (desired, { attempt, startTime = "" }) => ({
      metadata: {
        name: desired.pod.metadata.name,
        namespace: desired.pod.metadata.namespace,
        uid: desired.uid,
        attempt,
      },
      labels: labels(desired),
      annotations: {
        [ANNOTATION.source]: desired.source,
        [ANNOTATION.startTime]: startTime,
      },
      linux: {
        securityContext: {
          namespaceOptions: {
            network: desired.pod.spec.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
          },
        },
      },
    }),
    etcHosts: ({ uid }) => join(logs, "..", "pods", uid, "etc-hosts"),
    container: (desired, container, { attempt, configDigest, podRestarts = 0 }) => ({
      metadata: { name: container.name, attempt },
      image: { image: container.image },
      labels: { ...labels(desired), [LABEL.containerName]: container.name },
      annotations: {
        [ANNOTATION.gracePeriod]: String(desired.pod.spec.terminationGracePeriodSeconds),
        ...(configDigest === undefined ? {} : { [ANNOTATION.configDigest]: configDigest }),
        ...(podRestarts === 0 ? {} : { [ANNOTATION.podRestarts]: String(podRestarts) }),
      },
    }),
    terminationLog: ({ uid }, container, attempt) =>
      join(logs, "..", "pods", uid, container, String(attempt)),
    containerLogDirectory: ({ uid, pod: { metadata } }, container) =>
      join(logs, `${metadata.namespace}_${metadata.name}_${uid}`, container),
  };
}
