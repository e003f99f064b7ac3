// Performs: builds the agent in the order of dependence, and keeps its loops running.
//
// What is built first needs nothing: the loop, the upstream's port, the redactor, which pods there are. Every room may
// ask or notify these. Then, each from what stands above it: the events, the runtime, the desired state, the sources,
// what runs the pods, the node's view, the upstream, housekeeping. Three routes through the rooms:
//
// a file      source/file/file-source ─▶ sync-loop ─▶ source/desired-pods ─▶ podworkers/pod-workers ─▶ pod-worker
// a message   upstream/link/connection ─▶ build-upstream ─▶ command/mqtt-commands, or
//             source/document/mqtt-source ─▶ document-source ─▶ sync-loop, and on as a file
// an exit     pleg/pod-lifecycle ─▶ sync-loop ─▶ podworkers/pod-workers ─▶ pod-worker ─▶ pod-syncer
//             ─▶ publish-status ─▶ status/status-manager ─▶ upstream/upstream

import type { DesiredState } from "../api/pod/desired-pod.ts";
import { ImageUsage } from "../image/gc/image-usage.ts";
import { Latest } from "../lib/mailbox.ts";
import { BoardWatch } from "../node/board-watch.ts";
import { EventRecorder } from "../node/event-recorder.ts";
import { Housekeeping } from "../node/housekeeping.ts";
import { IdleMemory } from "../node/idle-memory.ts";
import { NodeAddresses, nodeInfo } from "../node/node-facts.ts";
import { NodeView } from "../node/node-view.ts";
import type { NodeViewOptions } from "../node/node-view-options.ts";
import { NotAdmitted } from "../node/not-admitted.ts";
import { NodeShutdown } from "../node/shutdown/node-shutdown.ts";
import { ShutdownInhibitor } from "../node/shutdown/shutdown-inhibitor.ts";
import { ShutdownState } from "../node/shutdown/shutdown-state.ts";
import { Redactor } from "../node/redact.ts";
import { StorageWatch } from "../node/storage/storage-watch.ts";
import { SystemOom } from "../node/system-oom.ts";
import { RuntimeWatch } from "../pleg/runtime-watch.ts";
import { activePods, noPods } from "../podworkers/pods.ts";
import { NO_FLEET_FACTS } from "../protocol/groups.ts";
import type { ProvisionReport } from "../provision/report.ts";
import { StartGuard } from "../store/start-guard/start-guard.ts";
import { NodeCgroups } from "../runtime/cgroup/node-cgroups.ts";
import { UpstreamPort } from "../upstream/upstream.ts";
import { Claims } from "../volume/claim-directory.ts";
import { ClaimRemover } from "../volume/claim-remover.ts";
import { Volumes } from "../volume/volume-manager.ts";
import { buildStats } from "./build-stats.ts";
import { buildEviction, buildPressure, endedByNode } from "./build-eviction.ts";
import { buildArchives } from "./build-archives.ts";
import { buildDesiredState, type NodeDesiredState } from "./build-desired-state.ts";
import { buildImageGC, imageOrders } from "./build-image-gc.ts";
import { buildLifecycle } from "./build-lifecycle.ts";
import { buildLogs } from "./build-logs.ts";
import { buildNodePods } from "./build-pods.ts";
import { buildSelfUpdate } from "./build-self-update.ts";
import { buildSources, type Sources } from "./build-sources.ts";
import { buildRemoteSettings, buildUpstream, isMetered, linkAtStart } from "./build-upstream.ts";
import { startRuntime } from "./start-runtime.ts";
import { ServiceReports } from "./service-reports.ts";
import { documentsHad, syncHandler } from "./sync-handler.ts";
import { SyncLoop } from "./sync-loop.ts";

export type AgentOptions = Pick<
  NodeViewOptions,
  "edges" | "config" | "version" | "nodeName" | "conditions"
> & {
  /** What became of the provisioning directory; absent = there is none. */
  readonly provisioned?: ProvisionReport | undefined;
};

interface Loop {
  run(signal: AbortSignal): Promise<void>;
}

export class Agent {
  readonly #version: string;
  readonly #provisioned: ProvisionReport | undefined;
  readonly #stop = new AbortController();
  readonly #state: NodeDesiredState;
  readonly #events: EventRecorder;
  readonly #sources: Sources;
  readonly #view: NodeView;
  readonly #idle: IdleMemory;
  readonly #guard: StartGuard;
  readonly #loops: readonly Loop[];
  readonly #onChange: UpstreamPort["follow"];
  #wantsRestart = false;

  constructor(options: AgentOptions) {
    const { edges, config, nodeName, version } = options;
    const { signal } = this.#stop;
    const node = { edges, config, nodeName, version };
    this.#version = version;
    this.#provisioned = options.provisioned;
    const loop = new SyncLoop(edges);
    const upstream = new UpstreamPort();
    this.#onChange = upstream.follow;
    const redactor = new Redactor();
    const addresses = new NodeAddresses(edges);
    const fleet = new Latest(NO_FLEET_FACTS);
    const pods = noPods();
    const notAdmitted = new NotAdmitted(edges);
    const usage = new ImageUsage({ ...edges, rows: edges.store.images });
    const archives = buildArchives({
      ...node,
      others: options.provisioned?.archives ?? [],
      usage,
      pods,
      onPodChanged: loop.podChanged,
    });
    this.#idle = new IdleMemory(edges);

    const { redact } = redactor;
    const { link, groups } = linkAtStart(node);
    const events = new EventRecorder({
      ...node,
      redact,
      isMetered: isMetered(link),
      onFlushed: upstream.wake,
    });
    this.#events = events;
    const { record } = events;
    const guard = new StartGuard({
      ...edges,
      hands: edges.store.hands,
      onWait: (hand, message) => events.waits(hand, message),
      onChange: upstream.changed,
    });
    this.#guard = guard;

    const lifecycle = buildLifecycle({
      ...node,
      pods,
      record,
      cgroupDriver: () => runtime.cgroupDriver,
      onPodChanged: loop.podChanged,
    });
    const runtime = new RuntimeWatch({
      ...edges,
      config,
      onFirst: (first) => {
        cgroups.start();
        return startRuntime(first, { edges, lifecycle, pods, loop, archives, signal });
      },
      onReturn: () => lifecycle.resubscribe(),
      onChange: upstream.changed,
      onHealth: (problem) => events.runtimeHealth(problem),
    });

    const cgroups = new NodeCgroups({
      ...node,
      runtime,
      activePods: () => activePods(pods),
      onChange: upstream.changed,
    });
    const pressure = buildPressure(node);
    const shutdown = new ShutdownState(edges);
    const common = { ...node, pods, upstream, loop, record, redact, fleet: fleet.get };
    const own = { ...common, pressure, shutdown };
    const state = buildDesiredState(own);
    this.#state = state;
    const { written, desired, rollouts } = state;
    redactor.follow({
      objects: () => [
        ...desired.state.objects.map(({ object }) => object),
        ...rollouts.pinnedObjects(),
      ],
      pods: () => [...desired.state.pods, ...pods.workers.desiredPods()].map(({ pod }) => pod),
    });
    const sources = buildSources({
      ...node,
      groups,
      rollouts,
      guard,
      emit: loop.snapshot,
      onState: upstream.changed,
      onFleet: fleet.set,
    });
    this.#sources = sources;
    const { files, url, trust, documents } = sources;
    const selfUpdate = buildSelfUpdate({
      ...node,
      ...sources,
      record,
      loop,
      upstream,
      shutdown,
      restart: () => {
        this.#wantsRestart = true;
        this.#stop.abort();
      },
    });

    const settings = buildRemoteSettings({ ...node, documents, link, port: upstream, record });

    const runner = buildNodePods({
      ...node,
      usage,
      ...state,
      pods,
      addresses,
      lifecycle,
      runtime,
      nodeCgroups: cgroups,
      archives,
      record,
      redact,
      guard,
      areAllKnown: () => loop.hasApplied,
      services: () => desired.state.services ?? [],
      onPodChanged: loop.podChanged,
      room: () => ({ node: nodeInfo(own), desired: desired.state }),
      onPreempted: loop.roomChanged,
      ...endedByNode(pressure, shutdown),
      onPodGone: () => {
        cgroups.update();
        if (loop.hasApplied) rollouts.forgetGone();
        if (desired.state.held.size > 0) loop.roomChanged();
      },
      onStatusChanged: (uid) => {
        this.#idle.changed();
        if (rollouts.concerns(uid)) loop.review();
        if (state.runs.concerns(uid)) loop.roomChanged();
        upstream.changed();
      },
      signal,
    });
    state.prefetch.start(runner.fetchImages);
    state.imagesHere.start(runner.lookForImages);

    const imageGC = buildImageGC({ ...node, ...state, archives, usage, pods, loop, record });
    const measuring = buildStats({ ...node, pods, runtime });
    const eviction = buildEviction({
      ...node,
      ...state,
      ...runner,
      record,
      pods,
      measuring,
      pressure,
      imageGC,
      isSettled: () => loop.hasApplied,
      onChange: loop.roomChanged,
    });
    const shuttingDown = new NodeShutdown({
      ...node,
      record,
      pods,
      state: shutdown,
      stop: (removals) => runner.workers.shutDown(removals),
      isSettled: () => loop.hasApplied,
      onChange: loop.roomChanged,
    });
    const claims = new ClaimRemover({
      ...edges,
      guard,
      claims: new Claims({ ...config, ...edges }),
    });
    const board = new BoardWatch({
      edges,
      onChange: upstream.changed,
      onTrouble: (condition) => events.board(condition),
    });
    const storage = new StorageWatch({
      ...node,
      record,
      isSettled: () => loop.hasApplied,
      onChange: upstream.changed,
    });
    this.#view = new NodeView({
      ...options,
      selfUpdate,
      settings,
      board,
      storage,
      ...state,
      ...sources,
      fleet: fleet.get,
      addresses,
      redactor,
      pods,
      notAdmitted,
      runtime,
      cgroups,
      events,
      upstream,
      guard,
      eviction,
      shutdown: shuttingDown,
      shutdownState: shutdown,
      imageOrders: imageOrders(imageGC, {
        pull: runner.pullImage,
        progress: state.images.pulls.textOf,
      }),
      ...measuring,
      loop,
      claims,
      health: [runtime, lifecycle, loop],
    });
    const reports = buildUpstream({
      ...node,
      view: this.#view,
      pods,
      redactor,
      fetchImages: runner.fetchImages,
      documents,
      trust,
      events,
      rollouts,
      guard,
      record,
      port: upstream,
      link,
      signal,
    });

    const handler = syncHandler({ state, runner, events, notAdmitted, upstream, guard });
    const housekeeping = new Housekeeping({
      ...edges,
      volumes: new Volumes({ ...edges, stateDir: config.stateDir }),
      cleanup: runner.cleanup,
      guard,
      killed: edges.store.killed,
      failures: edges.store.failures,
      isInUse: (uid) =>
        desired.wants(uid) || pods.workers.has(uid) || pods.cache.get(uid) !== undefined,
      isNamed: (name) => desired.wantsName(name) || pods.workers.hasName(name),
      isSettled: () => loop.hasApplied && written.haveSpoken(documentsHad(edges.store)),
    });
    const logs = buildLogs({ edges, config, pods, isSettled: () => written.sourcesReady() });
    const sync: Loop = { run: (until) => loop.run(handler, until) };
    this.#loops = [
      sync,
      runtime,
      files,
      ...(url === undefined ? [] : [url]),
      ...[selfUpdate, settings].flatMap((loop) => loop ?? []),
      housekeeping,
      imageGC,
      eviction,
      logs,
      shuttingDown,
      new ShutdownInhibitor({ ...node, shutdown: shuttingDown }),
      claims,
      board,
      storage,
      new SystemOom({ edges, nodeName, record }),
      new ServiceReports({ edges, loop, lifecycle, runtime, pods }),
      ...(reports === undefined ? [] : [reports]),
    ];
  }

  /** What the sources ask for now, merged. */
  get desired(): DesiredState {
    return this.#state.desired.state;
  }

  /** What the local API shows. */
  get facts(): NodeView {
    return this.#view;
  }

  /** The agent has ended so that the service manager starts another version of it. */
  get wantsRestart(): boolean {
    return this.#wantsRestart;
  }

  /** Calls back whenever something that the local API shows may have changed. */
  get onChange(): (run: () => void) => Disposable {
    return this.#onChange;
  }

  /** Runs until `signal` aborts; stops no pod. Rejects when a loop ends that must not: the process then ends too. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#stop.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const { trust, documents } = this.#sources;
    this.#events.started(this.#version);
    if (this.#provisioned !== undefined) this.#events.provisioned(this.#provisioned);
    documents?.start();
    this.#idle.changed();
    try {
      await Promise.all(this.#loops.map((loop) => loop.run(this.#stop.signal)));
      this.#guard.stopped();
    } finally {
      stop();
      documents?.[Symbol.dispose]();
      trust[Symbol.dispose]();
      this.#state.rollouts[Symbol.dispose]();
      this.#state.runs[Symbol.dispose]();
      this.#state.imagesHere[Symbol.dispose]();
      this.#events[Symbol.dispose]();
      this.#idle[Symbol.dispose]();
      this.#guard[Symbol.dispose]();
    }
  }
}
