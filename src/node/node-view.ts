// Performs: collects the current state of this node for the local API, commands and reports.

import type { AgentConfig } from "../config/config.ts";
import { podCIDRs } from "../config/pod-cidr.ts";
import type { DesiredPod, Rejection } from "../api/pod/desired-pod.ts";
import type { FleetFacts } from "../protocol/groups.ts";
import type { NodeCondition, NodeStatus, PodCondition } from "../api/v1/pod-status.ts";
import { podName, type NamedPod } from "../api/v1/pod.ts";
import { updateCondition, withUpdateConditions } from "../api/pod/update-condition.ts";
import { nameOf } from "../podworkers/plan-workers.ts";
import type { BoardWatch } from "./board-watch.ts";
import type { EventEntry } from "./events-list.ts";
import { type ObjectEntry, objectEntries } from "./object-list.ts";
import { type NodeOnlyStatus, nodeOnlyStatus } from "./node-only-status.ts";
import type { NotAdmitted } from "./not-admitted.ts";
import type { NodeShutdown, ShutdownView } from "./shutdown/node-shutdown.ts";
import type { ShutdownState } from "./shutdown/shutdown-state.ts";
import type { PodEntry } from "./pod-list.ts";
import type { ImageOrders } from "../image/gc/image-orders.ts";
import { nodeStatus, type NodeRuntime } from "../status/node-status.ts";
import type { UpstreamPort } from "../upstream/upstream.ts";
import type { ClaimName } from "../volume/claim-directory.ts";
import type { ClaimUsers } from "../volume/claim-users.ts";
import type { ClaimOutcome, ClaimRemover } from "../volume/claim-remover.ts";
import { withoutUndefined, type JsonObject } from "../lib/json.ts";
import type { NodeSummary } from "../stats/node-summary.ts";
import type { Edges } from "../edges.ts";
import { timeConditions } from "./clock-behind.ts";
import type { EventRecorder } from "./event-recorder.ts";
import { redactStatus, type Redactor } from "./redact.ts";
import { nodeIdentity, nodeLabels, nodeRoom, type NodeAddresses } from "./node-facts.ts";
import type { Rollouts } from "../rollout/rollouts.ts";
import type { NodeCgroups } from "../runtime/cgroup/node-cgroups.ts";
import type { RuntimeWatch } from "../pleg/runtime-watch.ts";
import type { HoldRequests, HoldOutcome, HoldVerb } from "../rollout/update-holds.ts";
import type { DesiredPods } from "../source/desired-pods.ts";
import { withPulls } from "../status/pull-shown.ts";
import type { ImageLedger } from "../image/pull-results.ts";
import type { MqttSource } from "../source/document/mqtt-source.ts";
import type { FileSource } from "../source/file/file-source.ts";
import type { SourceSnapshots } from "../source/source-snapshots.ts";
import { type Trust, resetTrust } from "../trust/trust.ts";
import { trustView, type TrustView } from "../trust/trust-view.ts";
import type { NodeTruth, ReportedPod } from "../upstream/report/acknowledge.ts";
import { strangersTo, type Pods, type WorkerEntry } from "../podworkers/pods.ts";
import type { SourceName } from "../api/pod/labels.ts";
import type { StartGuard } from "../store/start-guard/start-guard.ts";

export interface NodeViewOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly version: string;
  readonly nodeName: string;
  /** Known at the start, e.g. `BoardChanged`. */
  readonly conditions: readonly NodeCondition[];
  /** The labels and groups that the fleet currently assigns. */
  readonly fleet: () => FleetFacts;
  readonly addresses: Pick<NodeAddresses, "hostIPs">;
  readonly board: Pick<BoardWatch, "conditions" | "celsius">;
  readonly redactor: Pick<Redactor, "secrets">;
  readonly pods: Pods;
  readonly notAdmitted: Pick<NotAdmitted, "beside">;
  readonly runtime: RuntimeWatch;
  readonly written: Pick<SourceSnapshots, "hasSynced">;
  readonly desired: Pick<DesiredPods, "state">;
  readonly rollouts: Pick<Rollouts, "statuses" | "withRollouts" | "health">;
  readonly holds: Pick<HoldRequests, "change">;
  readonly images: Pick<ImageLedger, "pulls">;
  readonly claims: Pick<ClaimRemover, "remove">;
  readonly events: Pick<EventRecorder, "list">;
  readonly files: Pick<FileSource, "digest">;
  /** undefined = no broker is configured. */
  readonly documents: Pick<MqttSource, "states" | "forgetVersion" | "judgeAgain"> | undefined;
  readonly trust: Pick<Trust, "conditions" | "look" | "lastRejected" | "reset">;
  readonly upstream: Pick<UpstreamPort, "bytes" | "conditions">;
  readonly guard: Pick<StartGuard, "conditions">;
  readonly cgroups: Pick<NodeCgroups, "conditions">;
  readonly eviction: { conditions(): readonly NodeCondition[] };
  readonly shutdown: Pick<NodeShutdown, "view" | "begin" | "cancel">;
  readonly shutdownState: Pick<ShutdownState, "problems">;
  readonly imageOrders: ImageOrders;
  readonly summary: Pick<NodeSummary, "get">;
  /** `hasApplied`: every desired pod, and every pod of the runtime, has its worker. */
  readonly loop: { readonly hasApplied: boolean };
  /** Each returns the sentence for /healthz; undefined = healthy. */
  readonly health: readonly { unhealthy(): string | undefined }[];
}

/** The result of shortening a grace period. */
export type GraceOutcome =
  | { readonly type: "Shortened" }
  /** The pod is not being stopped, because this source declares it. */
  | { readonly type: "Wanted"; readonly source: SourceName; readonly sourceRef: string }
  | { readonly type: "NotFound" };

export interface NodeEntry {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Address ranges of pods; absent = the runtime's own. */
  readonly podCIDRs?: readonly string[];
  readonly status: NodeStatus & Partial<NodeOnlyStatus>;
  /** Wall-clock milliseconds of the agent's first start on this node, if known. */
  readonly createdAt?: number;
  /** Of the CPU, in degrees Celsius; absent = no sensor. */
  readonly cpuCelsius?: number;
  /** MQTT packet bytes since the agent started, by purpose; absent = no MQTT. */
  readonly mqttBytes?: Readonly<Record<string, { readonly in: number; readonly out: number }>>;
}

export class NodeView {
  readonly #options: NodeViewOptions;
  #status: NodeStatus | undefined;

  constructor(options: NodeViewOptions) {
    this.#options = options;
  }

  /** Problems as sentences; empty = healthy. */
  healthProblems(): readonly string[] {
    return this.#options.health.flatMap((one) => one.unhealthy() ?? []);
  }

  /** One per namespace/name: the running pod while a replacement waits, or has no room. */
  pods(): readonly PodEntry[] {
    const { nodeName, notAdmitted, pods, redactor, images } = this.#options;
    const { workers, statuses } = pods;
    const secrets = redactor.secrets();
    const shown = workers.entries().flatMap(({ desired, ...more }) => {
      const known = statuses.status(desired.uid);
      if (known === undefined) return [];
      const { pulls } = images;
      const status = withPulls(redactStatus(known, secrets), desired.pod, pulls.textOf);
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
    return objectEntries(namespace, { desired: desired.state, running, node });
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

  rejected(): readonly Rejection[] {
    return this.#options.desired.state.rejected;
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

  /** `pod` undefined = the whole node. Throws if the change cannot be stored. */
  changeHold(verb: HoldVerb, pod: NamedPod | undefined): HoldOutcome {
    return this.#options.holds.change(verb, pod);
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
    const secrets = redactor.secrets();
    return {
      pods: pods.workers.all().map((entry) => this.#reported(entry, secrets)),
      health: rollouts.health(),
      shown: pods.workers.entries().map((entry) => this.#reported(entry, secrets)),
      files: {
        digest: files.digest(),
        pods: desired.state.pods.filter(({ source }) => source === "file"),
        isKnown: written.hasSynced("file"),
      },
      documents: rollouts.withRollouts(documents?.states() ?? []),
      rejected: desired.state.rejected,
      status: this.#nodeStatus(),
      arePodsKnown: loop.hasApplied,
    };
  }

  #reported(entry: WorkerEntry, secrets: ReadonlySet<string>): ReportedPod {
    const { desired, pendingUpdate } = entry;
    const known = this.#options.pods.statuses.status(desired.uid);
    if (known === undefined) return { desired, status: undefined };
    const status = redactStatus(known, secrets);
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
    const { edges, version, config, runtime, addresses } = this.#options;
    const { conditions, board, trust, documents, upstream, guard } = this.#options;
    const { cgroups, eviction } = this.#options;
    const { machine, bootId } = edges;
    this.#status = nodeStatus({
      machine,
      bootId,
      addresses: addresses.hostIPs(),
      runtime: runtimeOf(runtime),
      agentVersion: version,
      ...nodeRoom({ edges, config }),
      problems: [...this.healthProblems(), ...this.#options.shutdownState.problems()],
      extraConditions: [
        ...eviction.conditions(),
        ...conditions,
        ...board.conditions(),
        ...guard.conditions(),
        ...cgroups.conditions(),
        ...trust.conditions(),
        ...timeConditions(edges, documents?.states() ?? []),
        ...upstream.conditions(),
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
