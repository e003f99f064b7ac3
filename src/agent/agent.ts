// Performs: the agent as a whole: builds every room once, hands them each other's facts, and keeps their loops running.

import type { AgentConfig } from "../config/config.ts";
import type { DesiredState, SourceSnapshot } from "../api/pod/desired-pod.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import { isContainerd } from "../containerd/containerd.ts";
import type { VersionResponse } from "../cri/gen/runtime/v1/api_pb.ts";
import { Mailbox } from "../lib/mailbox.ts";
import type { FileSource } from "../source/file/file-source.ts";
import type { MqttSource } from "../source/document/mqtt-source.ts";
import type { Trust } from "../trust/trust.ts";
import { Claims } from "../volume/claims.ts";
import { Volumes } from "../volume/mount-volumes.ts";
import { awaitPauseImage } from "./await-pause-image.ts";
import { buildUpstream } from "./build-upstream.ts";
import type { DesiredPods } from "../source/desired-pods.ts";
import { buildDesiredSide, type DesiredSide } from "./build-desired-state.ts";
import type { Edges } from "../edges.ts";
import { EventRecorder } from "../node/event-recorder.ts";
import { Housekeeping } from "../node/housekeeping.ts";
import { buildNodePods } from "./build-node-pods.ts";
import { buildLifecycle, type PodRunner } from "./build-pods.ts";
import { NodeView } from "../node/node-view.ts";
import { IdleTimer } from "../lib/idle-timer.ts";
import { RuntimeWatch } from "../pleg/runtime-health.ts";
import {
  buildDocuments,
  buildFileSource,
  buildTrust,
  timeConditions,
  trustDoor,
} from "./sources.ts";
import { SyncLoop, type LoopEvent } from "./sync-loop.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { PodLifecycle } from "../pleg/pod-lifecycle.ts";
import type { PodUID } from "../api/v1/pod.ts";
import { noPods, type Pods } from "../podworkers/pods.ts";

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
  readonly #side: DesiredSide;
  readonly #desired: DesiredPods;
  readonly #sink: EventRecorder;
  readonly #watch: RuntimeWatch;
  readonly #pods: Pods;
  readonly #lifecycle: PodLifecycle;
  readonly #runner: PodRunner;
  readonly #loop: SyncLoop;
  readonly #files: FileSource;
  readonly #trust: Trust;
  readonly #documents: MqttSource | undefined;
  readonly #upstream: Upstream | undefined;
  readonly #view: NodeView;
  readonly #housekeeping: Housekeeping;
  readonly #quiet: IdleTimer;

  constructor(options: AgentOptions) {
    const { edges, config, nodeName, version } = options;
    const { clock, random, log, cri } = edges;
    this.#options = options;
    this.#quiet = new IdleTimer({ clock, after: QUIET_MS, run: () => trimMemory(edges) });
    this.#sink = new EventRecorder({
      edges,
      config,
      nodeName,
      redact: (text) => this.#view.redact(text),
      onFlushed: () => this.#upstream?.wake(),
    });
    this.#pods = noPods();
    const onPodChanged = (uid: PodUID): void => this.#mailbox.send({ type: "PodChanged", uid });
    this.#lifecycle = buildLifecycle({ edges, config, pods: this.#pods, onPodChanged });
    this.#watch = new RuntimeWatch({
      cri,
      clock,
      random,
      log,
      config,
      onFirst: (first) => this.#onRuntime(first),
      onReturn: () => this.#lifecycle.resubscribe(),
      onChange: () => this.#upstream?.changed(),
      onHealth: (problem) => this.#sink.runtimeHealth(problem),
    });
    this.#side = buildDesiredSide({
      edges,
      config,
      nodeName,
      documents: () => this.#documents,
      record: this.#sink.record,
      pods: this.#pods,
      fetchImages: (pod, signal) => this.#runner.fetchImages(pod, signal),
      upstream: () => this.#upstream?.facts(),
      onPodChanged,
      redact: (text) => this.#view.redact(text),
      onReview: () => this.#mailbox.send({ type: "Review" }),
      onReviewed: () => this.#upstream?.changed(),
    });
    this.#desired = this.#side.desired;
    this.#runner = this.#buildPods();
    this.#loop = new SyncLoop({
      clock,
      log,
      mailbox: this.#mailbox,
      onSnapshot: (snapshot) => this.#onSnapshot(snapshot),
      mayApply: this.#side.haveAllSpoken,
      apply: () => this.#apply(),
      notify: (uid) => this.#runner.workers.notify(uid),
      review: () => this.#desired.review(),
    });
    const emit = (snapshot: SourceSnapshot): void =>
      this.#mailbox.send({ type: "Snapshot", snapshot });
    const sources = { edges, config, version, nodeName, emit, hasFailed: this.#side.hasFailed };
    this.#files = buildFileSource(sources);
    const onConditions = (): void => this.#upstream?.changed();
    this.#trust = buildTrust(sources, onConditions, () => this.#documents?.judgeAgain());
    this.#documents = buildDocuments({ ...sources, trust: this.#trust, onState: onConditions });
    this.#upstream = this.#buildUpstream();
    this.#view = new NodeView({
      edges,
      config,
      version,
      nodeName,
      fleet: this.#side.fleet,
      pods: this.#pods,
      watch: this.#watch,
      desired: () => this.#desired.state,
      claims: new Claims({ ...config, files: edges.files, mounts: edges.mounts }),
      documents: () => this.#side.rollouts.withRollouts(this.#documents?.states() ?? []),
      rollouts: this.#side.rollouts,
      events: () => this.#sink.list(),
      filesDigest: () => this.#files.digest(),
      areFilesKnown: () => this.#desired.hasHeard("file"),
      arePodsKnown: () => this.#loop.hasApplied,
      problems: () => this.#problems(),
      conditions: () => [
        ...options.conditions,
        ...this.#trust.conditions(),
        ...timeConditions(edges, this.#documents),
        ...(this.#upstream?.conditions() ?? []),
      ],
      updates: this.#side.door,
      trust: trustDoor(this.#trust, this.#documents),
      linkBytes: () => this.#upstream?.bytes(),
    });
    this.#housekeeping = new Housekeeping({
      clock,
      random,
      log,
      volumes: new Volumes({ files: edges.files, mounts: edges.mounts, stateDir: config.stateDir }),
      cleanup: this.#runner.cleanup,
      killed: edges.store.killed,
      isInUse: (uid) => this.#isInUse(uid),
      isNamed: (name) => this.#desired.wantsName(name) || this.#pods.workers.hasName(name),
      isSettled: () => this.#desired.isSettled(),
    });
  }

  /** What the sources ask for by now, merged. */
  get desired(): DesiredState {
    return this.#desired.state;
  }

  /** What the local API tells. */
  get facts(): NodeView {
    return this.#view;
  }

  /** Runs until `signal` aborts; stops no pod. Rejects when a loop ends that must not: the process then ends too. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#stop.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    this.#sink.started(this.#options.version);
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
      this.#trust[Symbol.dispose]();
      this.#side.rollouts[Symbol.dispose]();
      this.#sink[Symbol.dispose]();
      this.#quiet[Symbol.dispose]();
    }
  }

  /** The runtime answers for the first time: from here on its pods can be known. */
  async #onRuntime(version: VersionResponse): Promise<void> {
    const { edges } = this.#options;
    const { signal } = this.#stop;
    const events = edges.runtimeEvents(version);
    const untilStopped = (loop: Promise<void>): void => this.#untilStopped(loop);
    const brought = isContainerd(version)
      ? awaitPauseImage(edges, { signal, untilStopped })
      : undefined;
    await this.#lifecycle.relist(signal);
    await brought;
    edges.log.info("the runtime is known", {
      runtime: `${version.runtimeName} ${version.runtimeVersion}`,
      pods: this.#pods.cache.all().size,
    });
    this.#mailbox.send({ type: "RuntimeKnown" });
    this.#untilStopped(this.#lifecycle.runEvents(events, signal));
    this.#untilStopped(this.#lifecycle.runRelist(signal));
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
    this.#desired.hear(snapshot);
    this.#upstream?.changed();
  }

  #apply(): void {
    const desired = this.#desired.merge();
    this.#sink.rejected(desired.rejected);
    this.#runner.workers.apply(desired);
    this.#upstream?.changed();
  }

  #problems(): readonly string[] {
    const all = [this.#watch.unhealthy(), this.#lifecycle.unhealthy(), this.#loop.unhealthy()];
    return all.filter((problem) => problem !== undefined);
  }

  #isInUse(uid: string): boolean {
    const { workers, cache } = this.#pods;
    return this.#desired.wants(uid) || workers.has(uid) || cache.get(uid) !== undefined;
  }

  #buildPods(): PodRunner {
    const { edges, config, nodeName } = this.#options;
    return buildNodePods({
      edges,
      config,
      nodeName,
      pods: this.#pods,
      lifecycle: this.#lifecycle,
      desired: this.#desired,
      images: this.#side.images,
      rollouts: this.#side.rollouts,
      record: this.#sink.record,
      runtime: this.#watch,
      addresses: { hostIPs: () => this.#view.hostIPs() },
      onPodChanged: (uid) => this.#mailbox.send({ type: "PodChanged", uid }),
      onPodGone: () => {
        if (this.#loop.hasApplied) this.#side.rollouts.forgetGone();
        if (this.#desired.state.held.size > 0) this.#mailbox.send({ type: "RoomChanged" });
      },
      onStatusChanged: (uid) => {
        this.#quiet.touch();
        if (this.#side.rollouts.concerns(uid)) this.#mailbox.send({ type: "Review" });
        this.#upstream?.changed();
      },
      signal: this.#stop.signal,
    });
  }

  #buildUpstream(): Upstream | undefined {
    return buildUpstream({
      ...this.#options,
      view: () => this.#view,
      pods: this.#pods,
      fetchImages: this.#runner.fetchImages,
      documents: this.#documents,
      trust: this.#trust,
      events: this.#sink,
      onReached: () => this.#side.rollouts.reached(),
      signal: this.#stop.signal,
    });
  }
}

/** Gives free memory back to the system. */
function trimMemory(edges: Pick<Edges, "store" | "trimMemory">): void {
  edges.store.database.releaseMemory();
  edges.trimMemory();
}
