// Performs: what is true on this node right now, as its doors tell it: the local API and the report upstream.

import type { AgentConfig } from "../config/config.ts";
import type { DocumentState } from "../protocol/desired-document.ts";
import type { DesiredPod, DesiredState, Rejection } from "../api/pod/desired-pod.ts";
import type { RecordedEvent } from "../api/v1/events.ts";
import type { FleetFacts } from "../protocol/groups.ts";
import type { NodeCondition, NodeStatus, PodCondition, PodStatus } from "../api/v1/pod-status.ts";
import { podName, type NamedPod } from "../api/v1/pod.ts";
import { updateCondition, withUpdateConditions } from "../api/pod/update-condition.ts";
import { nameOf } from "../podworkers/plan.ts";
import type { EventEntry } from "./events-list.ts";
import type { ObjectEntry } from "./object-list.ts";
import type { PodEntry } from "./pod-list.ts";
import { nodeStatus, type NodeRuntime } from "../status/node-status.ts";
import type { LinkBytes } from "../upstream/link/link-bytes.ts";
import type { Claims } from "../volume/claims.ts";
import {
  removeClaimData,
  type ClaimUsers,
  type ClaimOutcome,
  type NamedClaim,
} from "../volume/claim-data.ts";
import type { Edges } from "../edges.ts";
import { redact, redactStatus, secretTexts, SecretMemory } from "./redact.ts";
import { nodeIdentity, nodeLabels, nodeRoom } from "./node-facts.ts";
import { objectEntries } from "./object-entries.ts";
import type { Rollouts } from "../rollout/rollouts.ts";
import type { RuntimeWatch } from "../pleg/runtime-health.ts";
import type { HoldRequests, HoldOutcome, HoldVerb } from "../rollout/update-holds.ts";
import { trustView, type TrustDoor, type TrustView } from "../trust/trust-view.ts";
import type { NodeTruth, ReportedPod } from "../upstream/report/node-truth.ts";
import type { GraceOutcome, NodeEntry, ServerFacts, VersionInfo } from "./node-api.ts";
import type { Pods, WorkerEntry } from "../podworkers/pods.ts";

export interface NodeViewOptions {
  /** What the node is to the fleet by now. */
  readonly fleet: () => FleetFacts;
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly version: string;
  readonly nodeName: string;
  readonly pods: Pods;
  readonly watch: RuntimeWatch;
  readonly desired: () => DesiredState;
  readonly claims: Pick<Claims, "list" | "removeData">;
  readonly documents: () => readonly DocumentState[];
  readonly rollouts: Pick<Rollouts, "statuses" | "pinnedObjects" | "health">;
  /** Oldest occurrence first. */
  readonly events: () => readonly RecordedEvent[];
  readonly filesDigest: () => string;
  /** The directory of manifests was read. */
  readonly areFilesKnown: () => boolean;
  /** Every source has said something, and the runtime has told which pods it has. */
  readonly arePodsKnown: () => boolean;
  readonly problems: () => readonly string[];
  readonly conditions: () => readonly NodeCondition[];
  readonly trust: TrustDoor;
  readonly updates: Pick<HoldRequests, "change">;
  /** Of the line to the broker; undefined = there is none. */
  readonly linkBytes: () => LinkBytes | undefined;
}

/** Addresses change seldom, asking the kernel is not free. */
const ADDRESSES_MS = 60_000;

export class NodeView implements ServerFacts {
  readonly #options: NodeViewOptions;
  readonly #former = new SecretMemory();
  #addresses: readonly string[] = [];
  #addressesAt: number | undefined;
  #status: NodeStatus | undefined;

  constructor(options: NodeViewOptions) {
    this.#options = options;
  }

  /** The node's main address of each family, as the kubelet has it; bridges of pods are not the node's. */
  hostIPs(): readonly string[] {
    const { clock, addresses } = this.#options.edges;
    const now = clock.monotonic();
    if (this.#addressesAt === undefined || now - this.#addressesAt > ADDRESSES_MS) {
      const all = addresses();
      const main = ([4, 6] as const).map((family) => all.find((one) => one.family === family));
      this.#addresses = main.flatMap((one) => one?.address ?? []);
      this.#addressesAt = now;
    }
    return this.#addresses;
  }

  healthProblems(): readonly string[] {
    return this.#options.problems();
  }

  pods(): readonly PodEntry[] {
    return this.#options.pods.workers.entries().flatMap((entry) => {
      const status = this.#statusOf(entry);
      if (status === undefined) return [];
      const { desired, ...more } = entry;
      const { pod, source, sourceRef, specHash } = desired;
      const { nodeName } = this.#options;
      const condition = this.#updateCondition(desired);
      const update = condition === undefined ? {} : { updateCondition: condition };
      return { ...update, pod, status, source, sourceRef, specHash, nodeName, ...more };
    });
  }

  objects(namespace: string | undefined): readonly ObjectEntry[] {
    const { desired, pods } = this.#options;
    const running = pods.workers.all().map((entry) => entry.desired.pod);
    const node = nodeIdentity(this.#options);
    return objectEntries(namespace, { desired: desired(), running, node });
  }

  removeClaimData(claim: NamedClaim): ClaimOutcome {
    const { claims, edges } = this.#options;
    return removeClaimData(claim, { claims, users: this.#claimUsers(), log: edges.log });
  }

  #claimUsers(): ClaimUsers {
    const { desired, pods } = this.#options;
    const known = [...desired().pods, ...pods.workers.all().map((entry) => entry.desired)];
    const uids = new Set<string>(known.map(({ uid }) => uid));
    const seen = [...pods.workers.leaving(), ...pods.cache.all().values()];
    const strangers = seen.filter(({ uid }) => !uids.has(uid));
    return { pods: known, strangers, areKnown: this.#options.arePodsKnown() };
  }

  rejected(): readonly Rejection[] {
    return this.#options.desired().rejected;
  }

  events(): readonly EventEntry[] {
    const { events, nodeName } = this.#options;
    return events().map((event) => ({ ...event, host: nodeName }));
  }

  node(): NodeEntry {
    const { nodeName, config } = this.#options;
    const identity = this.#options.edges.files.info(`${config.stateDir}/identity.json`);
    const labels = nodeLabels(this.#options);
    const mqttBytes = this.#options.linkBytes();
    const node = {
      name: nodeName,
      labels,
      status: this.#nodeStatus(),
      ...(mqttBytes === undefined ? {} : { mqttBytes }),
    };
    return identity === undefined ? node : { ...node, createdAt: identity.mtimeMs };
  }

  version(): VersionInfo {
    return { version: this.#options.version };
  }

  shortenGrace(pod: NamedPod, seconds: number): GraceOutcome {
    const { pods, desired, edges } = this.#options;
    const name = nameOf(pod);
    const leaving = pods.workers.leaving().filter((removal) => nameOf(removal) === name);
    for (const { uid } of leaving) {
      edges.log.info("ShortenGrace", { pod: name, uid, seconds });
      pods.workers.shortenGrace(uid, seconds);
    }
    if (leaving.length > 0) return { type: "Shortened" };
    // A pod whose name is held for want of room runs although it is not among the wanted.
    const all = [...desired().pods, ...pods.workers.all().map((entry) => entry.desired)];
    const wanted = all.find((one) => podName(one.pod) === name);
    if (wanted === undefined) return { type: "NotFound" };
    return { type: "Wanted", source: wanted.source, sourceRef: wanted.sourceRef };
  }

  trust(): TrustView {
    const { edges, config, trust } = this.#options;
    return trustView({ ...edges, config, trust: trust.current() });
  }

  resetTrust(): void {
    this.#options.trust.reset();
  }

  changeHold(verb: HoldVerb, pod: NamedPod | undefined): HoldOutcome {
    return this.#options.updates.change(verb, pod);
  }

  /** A text of a pod without the values of Secrets and environments. */
  redact(text: string): string {
    return redact(text, this.#secrets());
  }

  #secrets(): ReadonlySet<string> {
    const { pods, desired, rollouts } = this.#options;
    const running = pods.workers.all().map((entry) => entry.desired.pod);
    const now = secretTexts(
      [...desired().objects.map(({ object }) => object), ...rollouts.pinnedObjects()],
      [...desired().pods.map(({ pod }) => pod), ...running],
    );
    return this.#former.with(now);
  }

  truth(): NodeTruth {
    const { pods, desired, documents, rollouts, filesDigest } = this.#options;
    const wanted = desired().pods;
    const secrets = this.#secrets();
    return {
      pods: pods.workers.all().map((entry) => this.#reported(entry, secrets)),
      health: rollouts.health(),
      shown: pods.workers.entries().map((entry) => this.#reported(entry, secrets)),
      files: {
        digest: filesDigest(),
        pods: wanted.filter(({ source }) => source === "file"),
        isKnown: this.#options.areFilesKnown(),
      },
      documents: documents(),
      rejected: desired().rejected,
      status: this.#nodeStatus(),
      arePodsKnown: this.#options.arePodsKnown(),
    };
  }

  #reported(entry: WorkerEntry, secrets: ReadonlySet<string>): ReportedPod {
    const { desired, pendingUpdate } = entry;
    const known = this.#statusOf(entry);
    const status = known === undefined ? undefined : redactStatus(known, secrets);
    return {
      desired,
      status: status === undefined ? undefined : this.#withUpdate(status, desired, pendingUpdate),
    };
  }

  #updateCondition({ pod, source }: DesiredPod): PodCondition | undefined {
    const statuses = this.#options.rollouts.statuses(source);
    const own = statuses.find(({ name }) => name === podName(pod));
    return own === undefined ? undefined : updateCondition(own);
  }

  #withUpdate(
    status: PodStatus,
    desired: DesiredPod,
    pending: WorkerEntry["pendingUpdate"],
  ): PodStatus {
    const update = this.#updateCondition(desired);
    return { ...status, conditions: withUpdateConditions(status.conditions, pending, update) };
  }

  #statusOf({ desired }: WorkerEntry): PodStatus | undefined {
    return this.#options.pods.statuses.status(desired.uid);
  }

  #nodeStatus(): NodeStatus {
    const { edges, version, config, watch, problems, conditions } = this.#options;
    this.#status = nodeStatus({
      machine: { ...edges.machine, bootId: edges.bootId },
      addresses: this.hostIPs(),
      runtime: runtimeOf(watch),
      agentVersion: version,
      ...nodeRoom({ edges, config }),
      problems: problems(),
      extraConditions: conditions(),
      previous: this.#status,
      now: edges.clock.now(),
    });
    return this.#status;
  }
}

function runtimeOf({ version, conditions }: RuntimeWatch): NodeRuntime | undefined {
  if (version === undefined || conditions === undefined) return undefined;
  const { networkReady, networkMessage } = conditions;
  return {
    name: version.runtimeName,
    version: version.runtimeVersion,
    conditions: [
      {
        type: "NetworkReady",
        status: networkReady,
        reason: networkReady ? "" : "NetworkPluginNotReady",
        message: networkMessage,
      },
    ],
  };
}
