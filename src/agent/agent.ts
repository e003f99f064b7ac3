// The agent as a whole: builds every room once, hands them each other's facts, and keeps their loops running.

import type { AgentConfig } from "../api/config.ts";
import {
  NOTHING_DESIRED,
  type DesiredState,
  type SourceName,
  type SourceSnapshot,
} from "../api/desired-pod.ts";
import type { Container } from "../api/pod.ts";
import type { NodeCondition } from "../api/pod-status.ts";
import { isContainerd } from "../containerd/is-containerd.ts";
import type { VersionResponse } from "../cri/gen/runtime/v1/api_pb.ts";
import { ImagePuller } from "../image/image-puller.ts";
import type { CgroupDriver } from "../runtime/cgroup-parent.ts";
import { Mailbox } from "../lib/mailbox.ts";
import type { ServerFacts } from "../server/routes.ts";
import { FileSource } from "../source/file-source.ts";
import { MqttSource } from "../source/mqtt-source.ts";
import { mergeSnapshots } from "../source/pod-config.ts";
import { Volumes } from "../volume/mount-volumes.ts";
import { findCgroupDriver } from "./cgroup-driver.ts";
import type { Edges } from "./edges.ts";
import { Housekeeping } from "./housekeeping.ts";
import { NodeView } from "./node-view.ts";
import { podConfigs } from "./pod-configs.ts";
import { Quiet } from "./quiet.ts";
import { buildPods, type Pods } from "./pods.ts";
import { RuntimeWatch } from "./runtime-watch.ts";
import { standingOf } from "./standing.ts";
import { SyncLoop, type LoopEvent } from "./sync-loop.ts";
import { Upstream } from "./upstream.ts";

export interface AgentOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly version: string;
  readonly nodeName: string;
  /** Known at the start, e.g. `BoardChanged`. */
  readonly conditions: readonly NodeCondition[];
}

/** A burst (the start, many pods at once) leaves free memory behind; it is over when nothing has changed for so long. */
const QUIET_MS = 15_000;

export class Agent {
  readonly #options: AgentOptions;
  readonly #stop = new AbortController();
  readonly #mailbox = new Mailbox<LoopEvent>();
  readonly #snapshots = new Map<SourceName, SourceSnapshot>();
  #desired: DesiredState = NOTHING_DESIRED;
  readonly #watch: RuntimeWatch;
  readonly #pods: Pods;
  readonly #loop: SyncLoop;
  readonly #files: FileSource;
  readonly #documents: MqttSource | undefined;
  readonly #upstream: Upstream | undefined;
  readonly #view: NodeView;
  readonly #housekeeping: Housekeeping;
  readonly #quiet: Quiet;
  #events: ReturnType<Edges["runtimeEvents"]> | undefined;
  #cgroupDriver: CgroupDriver = "cgroupfs";

  constructor(options: AgentOptions) {
    const { edges, config, nodeName, version } = options;
    const { clock, random, log, cri } = edges;
    this.#options = options;
    this.#quiet = new Quiet({ clock, after: QUIET_MS, run: () => edges.trimMemory() });
    this.#watch = new RuntimeWatch({
      cri,
      clock,
      random,
      log,
      endpoint: config.containerRuntimeEndpoint,
      onFirst: (first) => this.#onRuntime(first),
      onReturn: () => this.#pods.lifecycle.resubscribe(),
    });
    this.#pods = this.#buildPods();
    this.#loop = new SyncLoop({
      clock,
      log,
      mailbox: this.#mailbox,
      onSnapshot: (snapshot) => this.#onSnapshot(snapshot),
      mayApply: () => this.#allHaveSpoken(),
      apply: () => this.#apply(),
      notify: (uid) => this.#pods.workers.notify(uid),
    });
    this.#files = this.#buildFileSource();
    this.#documents = this.#buildDocuments();
    this.#upstream = this.#buildUpstream();
    this.#view = new NodeView({
      edges,
      config,
      version,
      nodeName,
      pods: this.#pods,
      watch: this.#watch,
      desired: () => this.#desired,
      documents: () => this.#documents?.states() ?? [],
      filesDigest: () => this.#files.digest(),
      problems: () => this.#problems(),
      conditions: () => [...options.conditions, ...(this.#upstream?.conditions() ?? [])],
    });
    this.#housekeeping = new Housekeeping({
      clock,
      random,
      log,
      volumes: new Volumes({ files: edges.files, mounts: edges.mounts, stateDir: config.stateDir }),
      isInUse: (uid) => this.#isInUse(uid),
      isSettled: () => [...this.#snapshots.values()].every(({ ready }) => ready),
    });
  }

  /** What the local API tells. */
  get facts(): ServerFacts {
    return this.#view;
  }

  /** Runs until `signal` aborts; stops no pod. Rejects when a loop ends that must not: the process then ends too. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#stop.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    this.#documents?.start();
    this.#quiet.touch();
    const loops = [
      this.#loop.run(this.#stop.signal),
      this.#watch.run(this.#stop.signal),
      this.#files.run(this.#stop.signal),
      this.#housekeeping.run(this.#stop.signal),
      this.#upstream?.run(this.#stop.signal) ?? Promise.resolve(),
    ];
    try {
      await Promise.all(loops);
    } finally {
      stop();
      this.#documents?.[Symbol.dispose]();
      this.#quiet[Symbol.dispose]();
    }
  }

  /** The runtime answers for the first time: from here on its pods can be known. */
  async #onRuntime(version: VersionResponse): Promise<void> {
    const { edges, config } = this.#options;
    const { signal } = this.#stop;
    this.#events = edges.runtimeEvents(version);
    this.#cgroupDriver = await findCgroupDriver(edges.cri, config.cgroupDriver);
    await this.#pods.lifecycle.relist(signal);
    edges.log.info("the runtime is known", {
      runtime: `${version.runtimeName} ${version.runtimeVersion}`,
      pods: this.#pods.cache.all().size,
    });
    this.#mailbox.send({ type: "RuntimeKnown" });
    this.#untilStopped(this.#pods.lifecycle.runEvents(signal));
    this.#untilStopped(this.#pods.lifecycle.runRelist(signal));
    if (isContainerd(version)) this.#untilStopped(edges.bringPauseImage(signal));
  }

  /** A loop that throws ends the agent: systemd starts it again, the pods run on. */
  #untilStopped(loop: Promise<void>): void {
    loop.catch((error: unknown) => {
      queueMicrotask(() => {
        throw error;
      });
    });
  }

  #onSnapshot(snapshot: SourceSnapshot): void {
    this.#snapshots.set(snapshot.source, snapshot);
    this.#merge();
    this.#upstream?.changed();
  }

  /** Merged anew: what runs by now has a claim to its place. */
  #apply(): void {
    this.#merge();
    this.#pods.workers.apply(this.#desired);
    this.#upstream?.changed();
  }

  #merge(): void {
    this.#desired = mergeSnapshots([...this.#snapshots.values()], {
      groupPriorities: new Map(),
      maxPods: this.#options.config.maxPods,
      standing: (pod) => standingOf(this.#pods.cache, pod),
      occupants: this.#pods.workers.all().map(({ desired }) => desired),
    });
  }

  #problems(): readonly string[] {
    const all = [this.#watch.unhealthy(), this.#pods.lifecycle.unhealthy(), this.#loop.unhealthy()];
    return all.filter((problem) => problem !== undefined);
  }

  #isInUse(uid: string): boolean {
    const { workers, cache } = this.#pods;
    const isWanted = this.#desired.pods.some((pod) => pod.uid === uid);
    return isWanted || workers.has(uid) || cache.get(uid) !== undefined;
  }

  /** Every local source has said something, be it that it knows nothing: before that, precedence is a guess. */
  #allHaveSpoken(): boolean {
    const hasDocuments = this.#documents === undefined || this.#snapshots.has("mqtt:node");
    return hasDocuments && this.#snapshots.has("file");
  }

  #buildPods(): Pods {
    const { edges, config } = this.#options;
    const { files, mounts, clock, random, log, cri } = edges;
    const volumes = new Volumes({ files, mounts, stateDir: config.stateDir });
    const puller = new ImagePuller({ cri, clock, random, log });
    const configs = podConfigs({ edges, config, cgroupDriver: () => this.#cgroupDriver });
    return buildPods({
      edges,
      config,
      configs,
      events: { subscribe: (signal) => this.#subscribe(signal) },
      ensureImage: async ({ image, imagePullPolicy }: Container, signal) =>
        (await puller.ensure(image, imagePullPolicy, signal)).imageRef,
      setUpVolumes: (pod) => volumes.setUp(pod),
      tearDownVolumes: (uid) => volumes.tearDown(uid),
      removeCgroup: (uid) => configs.removeCgroup(uid),
      requireNetwork: () => this.#watch.requireNetwork(),
      hostIPs: () => this.#view.hostIPs(),
      onPodChanged: (uid) => this.#mailbox.send({ type: "PodChanged", uid }),
      onPodGone: () => {
        if (this.#desired.held.size > 0) this.#mailbox.send({ type: "RoomChanged" });
      },
      onStatusChanged: () => {
        this.#quiet.touch();
        this.#upstream?.changed();
      },
      signal: this.#stop.signal,
    });
  }

  #subscribe(signal: AbortSignal): ReturnType<ReturnType<Edges["runtimeEvents"]>["subscribe"]> {
    if (this.#events === undefined) throw new Error("the runtime has not answered yet");
    return this.#events.subscribe(signal);
  }

  #buildFileSource(): FileSource {
    const { edges, config, nodeName } = this.#options;
    const { files, clock, random, log, store, sha256 } = edges;
    return new FileSource({
      files,
      clock,
      random,
      log,
      directory: config.staticPodPath,
      lastGood: store.lastGood,
      nodeName,
      sha256,
      emit: (snapshot) => this.#mailbox.send({ type: "Snapshot", snapshot }),
    });
  }

  #buildDocuments(): MqttSource | undefined {
    const { edges, config, nodeName, version } = this.#options;
    if (config.mqtt === undefined) return undefined;
    const { fleet, topicRoot } = config.mqtt;
    const { clock, log, store, sha256, machine, clockSynchronised } = edges;
    return new MqttSource({
      documents: store.documents,
      clock,
      log,
      sha256,
      node: nodeName,
      topicRoot,
      ...(fleet === undefined ? {} : { fleet }),
      facts: { agentVersion: version, arch: machine.architecture, features: new Set() },
      clockTrusted: clockSynchronised,
      emit: (snapshot) => this.#mailbox.send({ type: "Snapshot", snapshot }),
      onState: () => this.#upstream?.changed(),
    });
  }

  #buildUpstream(): Upstream | undefined {
    const { edges, config, nodeName, version } = this.#options;
    if (config.mqtt === undefined) return undefined;
    return new Upstream({
      edges,
      config: config.mqtt,
      frequency: config.nodeStatusReportFrequencyMs,
      nodeName,
      agentVersion: version,
      truth: () => this.#view.truth(),
      onMessage: (topic, payload) => this.#documents?.receive(topic, payload),
      onConverged: (source, generation) => this.#documents?.observed(source, generation),
      onConditions: () => this.#upstream?.changed(),
    });
  }
}
