// Performs: collects the current state of this node for the local API, commands and reports.

import type { AgentConfig } from "../config/config.ts";
import { podCIDRs } from "../config/pod-cidr.ts";
import { manifestPath, type DesiredPod, type Rejection } from "../api/pod/desired-pod.ts";
import type { NodeStatus, PodCondition, PodStatus } from "../api/v1/pod-status.ts";
import type { LocalObject } from "../api/v1/object/local-object.ts";
import { podName, type NamedPod, type Pod } from "../api/v1/pod.ts";
import { updateCondition, withUpdateConditions } from "../api/pod/update-condition.ts";
import { nameOf } from "../podworkers/plan-workers.ts";
import type { EventEntry } from "./events-list.ts";
import type { PodNotes } from "./explain/pod-notes.ts";
import { readNotes } from "./explain/read-notes.ts";
import { type ObjectEntry, objectEntries } from "./object-list.ts";
import { nodeOnlyStatus } from "./node-only-status.ts";
import { restartPod, type RestartOutcome } from "./restart-pod.ts";
import type { ShutdownView } from "./shutdown/node-shutdown.ts";
import type { PodEntry } from "./pod-list.ts";
import type { SelfUpdateView } from "../self-update/self-update-view.ts";
import type { UpdateOrder } from "../self-update/update-order.ts";
import type { ImageOrders } from "../image/gc/image-orders.ts";
import { nodeStatus, type NodeRuntime } from "../status/node-status.ts";
import type { ClaimName } from "../volume/claim-directory.ts";
import type { ClaimUsers } from "../volume/claim-users.ts";
import type { ClaimOutcome } from "../volume/claim-remover.ts";
import { withoutUndefined, type JsonObject } from "../lib/json.ts";
import type { Meter } from "../lib/meter.ts";
import { timeConditions } from "./clock-behind.ts";
import { givenLabels, nodeIdentity, nodeLabels, nodeRoom } from "./node-facts.ts";
import type { RuntimeWatch } from "../pleg/runtime-watch.ts";
import type { HoldOutcome, HoldVerb } from "../rollout/update-holds.ts";
import { withPulls } from "../status/pull-shown.ts";
import { resetTrust } from "../trust/trust.ts";
import { trustView, type TrustView } from "../trust/trust-view.ts";
import type { Ack } from "../protocol/reported-state.ts";
import {
  Acknowledgements,
  type NodeTruth,
  type ReportedPod,
} from "../upstream/report/acknowledge.ts";
import { strangersTo, type WorkerEntry } from "../podworkers/pods.ts";
import type {
  NodeViewOptions,
  GraceOutcome,
  Declared,
  NodeEntry,
  LinkFacts,
} from "./node-view-options.ts";

const NO_LAUNCHER =
  "this agent was not started by agent-launch, so it could not go back from a version that fails; run agent install";

export class NodeView {
  readonly #options: NodeViewOptions;
  readonly #acknowledgements = new Acknowledgements();
  /** Follows from facts that do not change while the agent runs. */
  #room: Pick<NodeStatus, "capacity" | "allocatable"> | undefined;
  #status: NodeStatus | undefined;

  constructor(options: NodeViewOptions) {
    this.#options = options;
  }

  /** Problems as sentences; empty = healthy. */
  healthProblems(): readonly string[] {
    return this.#options.health.flatMap((one) => one.unhealthy() ?? []);
  }

  /** Whether the sources and the runtime are known, and each pod has a status; before that, what is absent may still come. */
  hasSynced(): boolean {
    const { loop, pods } = this.#options;
    const { workers, statuses } = pods;
    return (
      loop.hasApplied &&
      workers.entries().every(({ desired }) => statuses.status(desired.uid) !== undefined)
    );
  }

  /** One per namespace/name: the running pod while a replacement waits, or has no room. */
  pods(): readonly PodEntry[] {
    const { nodeName, notAdmitted, pods, redactor, images } = this.#options;
    const { workers, statuses } = pods;
    const redacted = redactor.forStatuses();
    const shown = workers.entries().flatMap(({ desired, ...more }) => {
      const known = statuses.status(desired.uid);
      if (known === undefined) return [];
      const { pulls } = images;
      const status = withPulls(redacted(known), desired.pod, pulls.textOf);
      const { pod, source, sourceRef, specHash } = desired;
      const update = withoutUndefined({ updateCondition: this.#updateCondition(desired) });
      return { ...update, pod, status, source, sourceRef, specHash, nodeName, ...more };
    });
    return [...shown, ...notAdmitted.beside(shown).map((entry) => ({ ...entry, nodeName }))];
  }

  /** The effective objects of one namespace, or of all; the node's own ConfigMap is in each. */
  objects(namespace: string | undefined): readonly ObjectEntry[] {
    const { desired, pods } = this.#options;
    const running = pods.workers.desiredPods().map(({ pod }) => pod);
    const node = nodeIdentity(this.#options);
    return objectEntries(namespace, { desired: desired.state, running, node }).map((entry) => ({
      ...entry,
      ...withoutUndefined({ createdAt: this.#createdAt(entry) }),
    }));
  }

  #createdAt({ source, sourceRef }: ObjectEntry): number | undefined {
    const { edges, config, documents } = this.#options;
    if (source === "file") return edges.files.info(manifestPath(sourceRef))?.mtimeMs;
    if (source === "agent") return edges.files.info(`${config.stateDir}/identity.json`)?.mtimeMs;
    return documents?.states().find((state) => state.source === source)?.acceptedAt;
  }

  /** What counts under this name; undefined = no source declares it. */
  declared(kind: string, { namespace, name }: NamedPod): Declared | undefined {
    const { desired } = this.#options;
    const isNamed = ({ metadata }: Pod | LocalObject): boolean =>
      metadata.namespace === namespace && metadata.name === name;
    if (kind === "Pod") {
      const unfit = desired.state.notAdmitted.map((one) => one.desired);
      const found = [...desired.state.pods, ...unfit].find(({ pod }) => isNamed(pod));
      return found === undefined ? undefined : { ...found, object: found.pod };
    }
    return this.objects(namespace).find(({ object }) => object.kind === kind && isNamed(object));
  }

  /** Removes the data of a claim that no pod uses. */
  removeClaimData(claim: ClaimName): ClaimOutcome {
    return this.#options.claims.remove(claim, this.#claimUsers());
  }

  #claimUsers(): ClaimUsers {
    const { desired, pods, loop } = this.#options;
    const known = [...desired.state.pods, ...pods.workers.desiredPods()];
    return { pods: known, strangers: strangersTo(known, pods), areKnown: loop.hasApplied };
  }

  /** How far the files and each document are, as the reports acknowledge them. */
  desired(): readonly Ack[] {
    const { clock } = this.#options.edges;
    const time = { now: clock.monotonic(), wall: clock.now() };
    return this.#acknowledgements.next(this.truth(), time).acks;
  }

  rejected(): readonly Rejection[] {
    return this.#options.desired.state.rejected;
  }

  /** What explains a pod beside its status. */
  notes(entry: PodEntry): PodNotes {
    return readNotes(entry, this.#options);
  }

  /** Oldest occurrence first. */
  events(): readonly EventEntry[] {
    const { events, nodeName } = this.#options;
    return events.list().map((event) => ({ ...event, host: nodeName }));
  }

  node(): NodeEntry {
    const { nodeName, config, edges, upstream, board, pods, runtime } = this.#options;
    const running = pods.workers.desiredPods().map(({ pod }) => pod);
    const identity = edges.files.info(`${config.stateDir}/identity.json`);
    return {
      name: nodeName,
      labels: nodeLabels(this.#options),
      ...(config.podCIDR === undefined ? {} : { podCIDRs: podCIDRs(config.podCIDR) }),
      status: { ...this.#nodeStatus(), ...nodeOnlyStatus(runtime.features, running) },
      ...withoutUndefined({
        cpuCelsius: board.celsius(),
        mqttBytes: upstream.bytes(),
        createdAt: identity?.mtimeMs,
        swapBytes: edges.machine.swapBytes,
      }),
    };
  }

  /** Of its images. */
  get imageOrders(): ImageOrders {
    return this.#options.imageOrders;
  }

  /** k8s: stats Summary; `isShort`: processor and memory only. Rejects when the runtime does not answer. */
  summary(isShort: boolean): Promise<JsonObject> {
    return this.#options.summary.get(isShort);
  }

  /** The line to the broker; undefined = none is configured. */
  linkFacts(): LinkFacts | undefined {
    const { upstream, edges } = this.#options;
    const { outbox, responses } = edges.store;
    const bytes = upstream.bytes();
    if (bytes === undefined) return undefined;
    const dropped = {
      event_normal: outbox.events.lost("Normal"),
      event_warning: outbox.events.lost("Warning"),
      response: responses.lost,
    };
    return { bytes, isConnected: upstream.facts().isConnected, waiting: outbox.size, dropped };
  }

  /** Bytes that the database has written since the agent started; undefined = the kernel does not count them. */
  databaseBytes(): number | undefined {
    return this.#options.edges.store.database.writtenBytes;
  }

  /** The configuration in force. */
  config(): AgentConfig {
    return this.#options.config;
  }

  /** Counted since the agent started. */
  meter(): Meter | undefined {
    return this.#options.edges.meter;
  }

  version(): { readonly version: string } {
    return { version: this.#options.version };
  }

  /** Shortens the grace period of a pod that is being stopped. */
  shortenGrace(pod: NamedPod, seconds: number): GraceOutcome {
    const { pods, desired, edges } = this.#options;
    const name = nameOf(pod);
    const leaving = pods.workers.leaving().filter((removal) => nameOf(removal) === name);
    for (const { uid } of leaving) {
      edges.log.info("ShortenGrace", { pod: name, uid, seconds });
      pods.workers.get(uid)?.shortenGrace(seconds);
    }
    if (leaving.length > 0) return { type: "Shortened" };
    // A pod that lacks room is declared as well, and may run on.
    const unfit = desired.state.notAdmitted.map((one) => one.desired);
    const all = [...desired.state.pods, ...pods.workers.desiredPods(), ...unfit];
    const wanted = all.find((one) => podName(one.pod) === name);
    if (wanted === undefined) return { type: "NotFound" };
    return { type: "Wanted", source: wanted.source, sourceRef: wanted.sourceRef };
  }

  trust(): TrustView {
    const { edges, config, trust } = this.#options;
    return trustView({ ...edges, config, trust });
  }

  /** Throws if the change cannot be stored: then signatures are required as before. */
  resetTrust(): void {
    resetTrust(this.#options.trust, this.#options.documents);
  }

  /** Gives the node new keys. Throws if they cannot be stored. */
  rotateNodeKeys(): void {
    const { edges, upstream } = this.#options;
    edges.nodeKeys?.rotate();
    upstream.announce();
  }

  /** `pod` undefined = the whole node. Throws if the change cannot be stored. */
  changeHold(verb: HoldVerb, pod: NamedPod | undefined): HoldOutcome {
    return this.#options.holds.change(verb, pod);
  }

  /** Restarts the running containers of a pod, or one of them; undefined = there is no such pod. */
  async restart(
    { namespace, name }: NamedPod,
    container: string | undefined,
    signal: AbortSignal,
  ): Promise<RestartOutcome | undefined> {
    const { pods, edges } = this.#options;
    const desired = pods.workers.shown(`${namespace}/${name}`);
    if (desired === undefined) return undefined;
    const onBegin = (): void => undefined;
    return restartPod(desired, { pods, clock: edges.clock, container, signal, onBegin });
  }

  /** How far an update of the agent itself is. */
  selfUpdate(): SelfUpdateView {
    const { selfUpdate, version } = this.#options;
    if (selfUpdate !== undefined) return selfUpdate.view();
    return { version, phase: "Idle", failed: [], unsupported: NO_LAUNCHER };
  }

  /** Begins an update of the agent itself, or goes back from one; the result is why not. */
  orderSelfUpdate(order: UpdateOrder | "Back"): string | undefined {
    const { selfUpdate } = this.#options;
    if (selfUpdate === undefined) return NO_LAUNCHER;
    return order === "Back" ? selfUpdate.back() : selfUpdate.order(order);
  }

  shutdown(): ShutdownView {
    return this.#options.shutdown.view();
  }

  /** Stops all pods, and starts none until it is cancelled or the machine has booted again. */
  beginShutdown(): ShutdownView {
    return this.#options.shutdown.begin();
  }

  /** Throws if the change cannot be stored. */
  cancelShutdown(): ShutdownView {
    return this.#options.shutdown.cancel();
  }

  truth(): NodeTruth {
    const { pods, written, desired, documents, rollouts, files, redactor, loop } = this.#options;
    const redacted = redactor.forStatuses();
    return {
      pods: this.reportedPods(),
      health: rollouts.health(),
      shown: pods.workers.entries().map((entry) => this.#reported(entry, redacted)),
      files: {
        digest: files.digest(),
        pods: desired.state.pods.filter(({ source }) => source === "file"),
        isKnown: written.hasSynced("file"),
      },
      documents: rollouts.withRollouts(documents?.states() ?? []),
      rejected: desired.state.rejected,
      held: desired.state.held,
      status: this.#nodeStatus(),
      labels: givenLabels(this.#options),
      ...withoutUndefined({ settings: this.#options.settings?.reported() }),
      arePodsKnown: loop.hasApplied,
    };
  }

  /** Every pod that has a worker. */
  reportedPods(): readonly ReportedPod[] {
    const { pods, redactor } = this.#options;
    const redacted = redactor.forStatuses();
    return pods.workers.all().map((entry) => this.#reported(entry, redacted));
  }

  #reported(entry: WorkerEntry, redacted: (status: PodStatus) => PodStatus): ReportedPod {
    const { desired, pendingUpdate } = entry;
    const known = this.#options.pods.statuses.status(desired.uid);
    if (known === undefined) return { desired, status: undefined };
    const status = redacted(known);
    const update = this.#updateCondition(desired);
    // The same status as before is the same object: most pods have not changed since the last report.
    if (pendingUpdate === undefined && update === undefined) return { desired, status };
    const conditions = withUpdateConditions(status.conditions, pendingUpdate, update);
    return { desired, status: { ...status, conditions } };
  }

  #updateCondition({ pod, source }: DesiredPod): PodCondition | undefined {
    const statuses = this.#options.rollouts.statuses(source);
    const own = statuses.find(({ name }) => name === podName(pod));
    return own === undefined ? undefined : updateCondition(own);
  }

  #nodeStatus(): NodeStatus {
    const { edges, version, runtime, addresses } = this.#options;
    const { conditions, board, trust, documents, upstream, guard } = this.#options;
    const { cgroups, eviction } = this.#options;
    const { machine, bootId } = edges;
    this.#status = nodeStatus({
      machine,
      bootId,
      addresses: addresses.hostIPs(),
      runtime: runtimeOf(runtime),
      agentVersion: version,
      ...(this.#room ??= nodeRoom(this.#options)),
      problems: [...this.healthProblems(), ...this.#options.shutdownState.problems()],
      extraConditions: [
        ...eviction.conditions(),
        ...conditions,
        ...board.conditions(),
        ...guard.conditions(),
        ...this.#options.storage.conditions(),
        ...cgroups.conditions(),
        ...trust.conditions(),
        ...timeConditions(edges, documents?.states() ?? []),
        ...upstream.conditions(),
        ...(this.#options.selfUpdate?.conditions() ?? []),
        ...(this.#options.settings?.conditions() ?? []),
      ],
      previous: this.#status,
      now: edges.clock.now(),
    });
    return this.#status;
  }
}

function runtimeOf({ version, conditions }: RuntimeWatch): NodeRuntime | undefined {
  if (version === undefined || conditions === undefined) return undefined;
  return { name: version.runtimeName, version: version.runtimeVersion, ...conditions };
}
