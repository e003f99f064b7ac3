// Performs: builds what makes pods run, in the order of dependence: probes, status, runtime, syncer, terminator, workers.

import type { AgentConfig } from "../config/config.ts";
import type { RecordEvent } from "../api/v1/events.ts";
import type { Container } from "../api/v1/container.ts";
import { allContainers, type PodUID, type Pod } from "../api/v1/pod.ts";
import type { Edges } from "../edges.ts";
import { FairPlaces } from "../lib/fair-places.ts";
import type { PodLifecycle } from "../pleg/pod-lifecycle.ts";
import { type PodObjects, podObjects } from "../podworkers/refresh-config.ts";
import { requireConfig } from "../podworkers/require-config.ts";
import { PodStartLatency } from "../podworkers/pod-start-latency.ts";
import { ActionPerformer, type ActionPerformerOptions } from "../podworkers/perform-actions.ts";
import { GarbageCollector } from "../podworkers/garbage-collector.ts";
import { PodCleanup } from "../podworkers/pod-cleanup.ts";
import type { FetchImages, PodReplacementOptions } from "../podworkers/pod-replacement.ts";
import { PodSyncer } from "../podworkers/pod-syncer.ts";
import { PodTerminator } from "../podworkers/pod-terminator.ts";
import { PodWorkers, type PodWorkersOptions } from "../podworkers/pod-workers.ts";
import { type Pods, strangersTo } from "../podworkers/pods.ts";
import { StatusPublisher, type StatusPublisherOptions } from "../podworkers/publish-status.ts";
import type { ProbeExec } from "../prober/run-probe.ts";
import { ProbeManager } from "../prober/probe-manager.ts";
import type { HostsFiles } from "../runtime/names/hosts-files.ts";
import { ContainerDrafts } from "../runtime/container-draft.ts";
import type { EnsureImage } from "../runtime/decide/action-input.ts";
import { type RuntimeHelper, nodeAllocatable, runtimeHelper } from "../runtime/runtime-helper.ts";
import type { NodeCgroups } from "../runtime/cgroup/node-cgroups.ts";
import { PodKiller } from "../runtime/kill-pod.ts";
import { LifecycleRunner, type LifecycleRunnerOptions } from "../runtime/lifecycle-hooks.ts";
import { type PodConfigs, podConfigs } from "../runtime/pod-configs.ts";
import { CreatingPlaces, startUrgency } from "../runtime/creating-places.ts";
import { PodRuntime } from "../runtime/pod-runtime.ts";
import { RunOptionsGenerator } from "../runtime/run-container-options.ts";
import { ContainerStarter } from "../runtime/start-container.ts";
import { Volumes } from "../volume/volume-manager.ts";
import { volumeImages } from "../runtime/cri-config/container-mounts.ts";
import { NO_OBJECTS, type LocalObjects } from "../api/v1/object/local-object.ts";
import type { DesiredService } from "../api/v1/object/service.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { ImageArchives } from "../image/archive/image-archives.ts";
import { imagePulls, type ImagePulls } from "../image/container-image.ts";
import type { LookForImages } from "../image/images-here.ts";
import type { ImageUsage } from "../image/gc/image-usage.ts";
import type { ImageLedger } from "../image/pull-results.ts";
import type { RuntimeWatch } from "../pleg/runtime-watch.ts";
import { AwaitedDevices } from "../podworkers/awaited-devices.ts";
import type { Rollouts } from "../rollout/rollouts.ts";
import type { DesiredPods } from "../source/desired-pods.ts";
import type { SourceSnapshots } from "../source/source-snapshots.ts";
import { buildHostsFiles } from "./build-names.ts";
import { askVolumeHelper } from "./volume-helper.ts";
import { isStatic } from "../api/pod/labels.ts";
import { hostPathError, isOfDocument } from "../source/policy/host-path-links.ts";
import type { ClaimName, ClaimUser } from "../volume/claim-directory.ts";
import { usersOf } from "../volume/claim-users.ts";
import { downwardFiles } from "../volume/projection.ts";
import { podHand } from "../store/start-guard/hand.ts";
import { withoutUndefined } from "../lib/json.ts";
import { UNGUARDED, type WorkGuard } from "../store/start-guard/start-guard.ts";

interface CommonOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly pods: Pods;
  /** The runtime shows a change of the pod, or a probe's verdict of it has changed. */
  readonly onPodChanged: (uid: PodUID) => void;
}

export interface PodsOptions
  extends
    CommonOptions,
    Pick<PodReplacementOptions, "requireConfig" | "isHeld" | "room">,
    Pick<PodWorkersOptions, "onPreempted" | "graceByNode">,
    Pick<ActionPerformerOptions, "network">,
    Pick<
      StatusPublisherOptions,
      "addresses" | "desired" | "onStatusChanged" | "onPodGone" | "endedByNode"
    > {
  readonly lifecycle: PodLifecycle;
  readonly configs: PodConfigs;
  readonly helper: RuntimeHelper;
  readonly objects: PodObjects;
  readonly volumes: Pick<
    Volumes,
    "check" | "shareLargeClaims" | "setUp" | "setUpRemote" | "emptyLargeVolumes" | "tearDown"
  >;
  readonly ensureImage: EnsureImage;
  readonly startLatency: PodStartLatency;
  readonly record: RecordEvent;
  readonly redact: LifecycleRunnerOptions["redact"];
  /** Absent = nothing waits. */
  readonly guard?: WorkGuard;
  /** Whether every pod of the node has its worker; absent = yes. */
  readonly areAllKnown?: () => boolean;
  /** In order of precedence; absent = there are none. */
  readonly services?: () => readonly DesiredService[];
  readonly signal: AbortSignal;
}

/** Of commands of hooks, for pods of files and for others. */
const HOOK_PLACES = { places: 32, perOwner: 16 };

export interface PodRunner {
  readonly workers: PodWorkers;
  readonly cleanup: PodCleanup;
  readonly garbage: GarbageCollector;
  readonly fetchImages: FetchImages;
  readonly hosts: HostsFiles;
}

export function buildPods(options: PodsOptions): PodRunner {
  const { edges, config, pods, configs, volumes, record, lifecycle, signal } = options;
  const { guard = UNGUARDED, startLatency } = options;
  const { clock, files, store } = edges;
  const { cache, statuses, workers } = pods;
  const { onPodGone } = options;
  const hosts = buildHostsFiles(options);
  const onStatusChanged = (uid: PodUID): void => {
    hosts.changed();
    startLatency.changed(uid);
    options.onStatusChanged(uid);
  };
  const prober = buildProber(options);
  signal.addEventListener("abort", () => prober[Symbol.dispose](), { once: true });
  const publisher = new StatusPublisher({ ...options, ...pods, prober, clock, onStatusChanged });
  const { performer, killer } = buildRuntime(options, hosts);
  const observing = { cache, lifecycle, publisher, guard };
  const garbage = new GarbageCollector({ ...edges, ...pods, config, configs });
  const syncer = new PodSyncer({
    ...edges,
    ...observing,
    performer,
    garbage,
    record,
    prober,
    failures: store.failures,
    objects: options.objects,
  });
  const { podLogsDir } = config;
  const cleanup = new PodCleanup({ files, podLogsDir, volumes, cgroups: configs, statuses });
  const terminator = new PodTerminator({ ...edges, ...observing, killer, volumes, cleanup });
  const fetchImages = imageFetcher(options);
  const podWorkers = new PodWorkers({
    ...edges,
    removals: store.removals,
    killed: store.killed,
    pods,
    syncer,
    terminator,
    publisher,
    guard,
    record,
    startLatency,
    maxBackoffMs: config.maxContainerRestartPeriodMs,
    urgencyOf: (desired) => startUrgency(desired, config.priorityClasses),
    fetchImages,
    isHeld: options.isHeld,
    requireConfig: options.requireConfig,
    room: options.room,
    onPreempted: options.onPreempted,
    ...withoutUndefined({ graceByNode: options.graceByNode }),
    cleanup,
    onChange: (uid) => {
      const isGone = !workers.has(uid);
      if (isGone) startLatency.forget(uid);
      if (isGone) publisher.forget(uid);
      onStatusChanged(uid);
      if (isGone) onPodGone();
    },
    signal,
  });
  return { workers: podWorkers, cleanup, garbage, fetchImages, hosts };
}

function buildRuntime(options: PodsOptions, hosts: HostsFiles) {
  const { configs, record, redact, helper, ensureImage, volumes, network, pods } = options;
  const { edges } = options;
  const { cri, clock, log, files, probes } = edges;
  const creating = new CreatingPlaces(options.config);
  const [ofFiles, ofOthers] = [new FairPlaces(HOOK_PLACES), new FairPlaces(HOOK_PLACES)];
  const lifecycle = new LifecycleRunner({
    cri,
    edge: probes,
    clock,
    redact,
    takePlace: (uid, signal) => (isOfFile(uid, pods) ? ofFiles : ofOthers).take(uid, signal),
  });
  const killer = new PodKiller({ cri, lifecycle, clock, log, record });
  const common = { ...edges, configs, ensureImage, creating, record };
  const runOptions = new RunOptionsGenerator({ helper, configs, files, hosts });
  const drafts = new ContainerDrafts({ files, configs, ensureImage, helper, runOptions });
  const starter = new ContainerStarter({ ...common, lifecycle, drafts, runOptions });
  const runtime = new PodRuntime({ ...common, starter, killer });
  return { performer: new ActionPerformer({ runtime, volumes, network, clock, record }), killer };
}

function buildProber({ edges, pods, addresses, record, onPodChanged }: PodsOptions): ProbeManager {
  const { cri, probes } = edges;
  const exec: ProbeExec = async (id, command, { timeoutSeconds, signal }) => {
    const args = { cmd: command, timeoutSeconds };
    const answer = await cri.execSync(id, args, { signal });
    const output = Buffer.concat([answer.stdout, answer.stderr]).toString();
    return { exitCode: answer.exitCode, output };
  };
  return new ProbeManager({
    ...edges,
    edge: probes,
    exec,
    isStatic: (uid) => isOfFile(uid, pods),
    hostIP: () => addresses.hostIPs()[0],
    onChange: (uid) => {
      // The status shows the verdict at once; the worker acts on it when it is its turn.
      pods.workers.get(uid)?.publishStatus();
      onPodChanged(uid);
    },
    record,
  });
}

function isOfFile(uid: PodUID, { workers }: Pods): boolean {
  const source = workers.get(uid)?.desired?.source;
  return source !== undefined && isStatic(source);
}

function imageFetcher({ helper, ensureImage }: PodsOptions): FetchImages {
  return async (pod, signal) => {
    for (const wanted of imagesOf(pod, helper)) await ensureImage(pod, wanted, signal);
  };
}

/** Of its containers, and those that they mount. */
function imagesOf(pod: Pod, helper: Pick<RuntimeHelper, "mountsImages">): readonly Container[] {
  const canMount = helper.mountsImages();
  return allContainers(pod.spec).flatMap((container) => [
    container,
    ...(canMount ? volumeImages(pod, container).values() : []),
  ]);
}

function imageLooker(
  helper: Pick<RuntimeHelper, "mountsImages">,
  isHere: ImagePulls["isHere"],
): LookForImages {
  return async (pod, signal) => {
    for (const wanted of imagesOf(pod, helper))
      if (!(await isHere(pod, wanted, signal))) return false;
    return true;
  };
}

type GivenByNode =
  "configs" | "ensureImage" | "helper" | "objects" | "volumes" | "network" | "startLatency";

interface NodePodsOptions extends Omit<PodsOptions, GivenByNode | "isHeld" | "requireConfig"> {
  readonly nodeName: string;
  readonly written: SourceSnapshots;
  readonly desired: DesiredPods;
  readonly images: ImageLedger;
  /** Learns of every image that is pulled. */
  readonly usage: Pick<ImageUsage, "watch">;
  readonly rollouts: Pick<Rollouts, "imageOf" | "isHeld">;
  readonly runtime: RuntimeWatch;
  readonly nodeCgroups: NodeCgroups;
  readonly archives: Pick<ImageArchives, "bring">;
}

interface NodePodRunner extends PodRunner {
  readonly pullImage: ImagePulls["pull"];
  readonly lookForImages: LookForImages;
}

/** From the facts of this node: its runtime, images, volumes and objects. */
export function buildNodePods(options: NodePodsOptions): NodePodRunner {
  const { edges, config, nodeName, pods, desired, rollouts, runtime, signal } = options;
  const { cache, workers } = pods;
  const objects = (pod: Pod): LocalObjects => objectsOf(pod, options);
  const allocatable = nodeAllocatable(edges, config);
  const judge = hostPathError(edges.files, config);
  const volumes = new Volumes({
    ...edges,
    ...config,
    memoryBytes: allocatable.memoryBytes,
    objects,
    renderDownward: downwardFiles(nodeName, allocatable),
    hostPathError: (pod) => (isOfDocument(knownAs(pod, options)) ? judge : undefined),
    askHelper: askVolumeHelper(edges, config),
    claimUser: (pod) => claimUser(knownAs(pod, options)[0]),
    unsignedUsers: (claim, pod) => unsignedUsers(claim, pod, options),
  });
  const devices = new AwaitedDevices({ ...edges, desired, workers });
  signal.addEventListener("abort", () => devices[Symbol.dispose](), { once: true });
  const observed = () => cache.all().values();
  const configs = podConfigs({ ...options, devices, observed });
  const startLatency = new PodStartLatency({ ...edges, ...pods });
  const images = imagePulls({
    ...options,
    pulling: (uid) => startLatency.pulling(uid),
    edges: { ...edges, cri: options.usage.watch(edges.cri) },
    objects,
    isOfFile: (pod) => !isOfDocument(knownAs(pod, options)),
    pinned: (uid, container) => rollouts.imageOf(uid, container),
    observed: (uid) => cache.get(uid),
    ledger: options.images,
  });
  const helper = runtimeHelper({ ...options, allocatable, volumes });
  const runner = buildPods({
    ...options,
    configs: renewingPaths(configs, volumes),
    ensureImage: images.ensure,
    startLatency,
    helper,
    objects: podObjects({ edges, desired, written: options.written, volumes }),
    volumes,
    network: runtime,
    isHeld: (pod) => rollouts.isHeld(pod),
    requireConfig: (wanted) => {
      const facts = { objects: desired.objectsFor(wanted), allocatable, nodeName, volumes };
      using _ = options.guard?.hold(podHand(wanted.pod.metadata));
      requireConfig(wanted.pod, facts);
    },
  });
  return {
    ...runner,
    pullImage: images.pull,
    lookForImages: imageLooker(helper, images.isHere),
  };
}

/** A volume's path is resolved and checked again right before a container mounts it. */
function renewingPaths(configs: PodConfigs, volumes: Volumes): PodConfigs {
  return {
    ...configs,
    container: (wanted, container, found) => {
      volumes.renewPaths(wanted.pod, found.volumes);
      return configs.container(wanted, container, found);
    },
  };
}

/** An unknown pod counts as one of an unsigned document. */
export function claimUser(reader: DesiredPod | undefined): ClaimUser {
  if (reader === undefined) return "UnsignedDocument";
  if (isStatic(reader.source)) return "File";
  return reader.signed === true ? "SignedDocument" : "UnsignedDocument";
}

/** Pods that run or are being stopped; one that only waits has mounted nothing yet. */
function unsignedUsers(claim: ClaimName, taker: Pod, known: Known): readonly string[] {
  const { desired, pods } = known;
  const all = [...desired.state.pods, ...pods.workers.desiredPods()];
  const running = pods.workers.desiredPods().filter(({ pod, uid }) => {
    return uid !== taker.metadata.uid && claimUser(knownAs(pod, known)[0]) === "UnsignedDocument";
  });
  return usersOf(claim, { pods: running, strangers: strangersTo(all, pods) });
}

type Known = Pick<NodePodsOptions, "desired" | "pods">;

/** What the pod may use; of a pod that no source asks for any more, nothing. */
function objectsOf(pod: Pod, known: Known): LocalObjects {
  const [reader] = knownAs(pod, known);
  return reader === undefined ? NO_OBJECTS : known.desired.objectsFor(reader);
}

/** What is desired first, then what runs. */
function knownAs({ metadata: { uid } }: Pod, { desired, pods }: Known): readonly DesiredPod[] {
  const all = [...desired.state.pods, ...pods.workers.desiredPods()];
  return all.filter((one) => one.uid === uid);
}
