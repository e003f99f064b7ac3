// What the view of a node is made of, and the shapes of what it shows. Types only.

import type { AgentConfig } from "../config/config.ts";
import type { FleetFacts } from "../protocol/groups.ts";
import type { NodeCondition, NodeStatus } from "../api/v1/pod-status.ts";
import type { LocalObject } from "../api/v1/object/local-object.ts";
import type { Pod } from "../api/v1/pod.ts";
import type { BoardWatch } from "./board-watch.ts";
import type { NodeOnlyStatus } from "./node-only-status.ts";
import type { NotAdmitted } from "./not-admitted.ts";
import type { NodeShutdown } from "./shutdown/node-shutdown.ts";
import type { ShutdownState } from "./shutdown/shutdown-state.ts";
import type { ImageOrders } from "../image/gc/image-orders.ts";
import type { RemoteSettingsKeeper } from "../upstream/settings/remote-settings.ts";
import type { UpstreamPort } from "../upstream/upstream.ts";
import type { ClaimRemover } from "../volume/claim-remover.ts";
import type { NodeSummary } from "../stats/node-summary.ts";
import type { Edges } from "../edges.ts";
import type { EventRecorder } from "./event-recorder.ts";
import type { Redactor } from "./redact.ts";
import type { NodeAddresses } from "./node-facts.ts";
import type { Rollouts } from "../rollout/rollouts.ts";
import type { SelfUpdater } from "../self-update/self-updater.ts";
import type { NodeCgroups } from "../runtime/cgroup/node-cgroups.ts";
import type { RuntimeWatch } from "../pleg/runtime-watch.ts";
import type { HoldRequests } from "../rollout/update-holds.ts";
import type { DesiredPods } from "../source/desired-pods.ts";
import type { ImageLedger } from "../image/pull-results.ts";
import type { MqttSource } from "../source/document/mqtt-source.ts";
import type { FileSource } from "../source/file/file-source.ts";
import type { SourceSnapshots } from "../source/source-snapshots.ts";
import type { Trust } from "../trust/trust.ts";
import type { Pods } from "../podworkers/pods.ts";
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
  readonly redactor: Pick<Redactor, "forStatuses" | "secrets">;
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
  readonly upstream: Pick<UpstreamPort, "announce" | "bytes" | "conditions" | "facts">;
  readonly guard: Pick<StartGuard, "conditions">;
  readonly storage: { conditions(): readonly NodeCondition[] };
  readonly cgroups: Pick<NodeCgroups, "conditions">;
  readonly eviction: { conditions(): readonly NodeCondition[] };
  readonly shutdown: Pick<NodeShutdown, "view" | "begin" | "cancel">;
  readonly shutdownState: Pick<ShutdownState, "problems">;
  /** undefined = the launcher has not started the agent. */
  readonly selfUpdate: SelfUpdater | undefined;
  /** undefined = documents change no settings. */
  readonly settings: RemoteSettingsKeeper | undefined;
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

/** An object as its source declares it, whether or not the node has room for it. */
export interface Declared {
  /** `agent` = built in. */
  readonly source: SourceName | "agent";
  readonly sourceRef: string;
  readonly object: Pod | LocalObject;
}

export interface NodeEntry {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Address ranges of pods; absent = the runtime's own. */
  readonly podCIDRs?: readonly string[];
  readonly status: NodeStatus & Partial<NodeOnlyStatus>;
  /** Wall-clock milliseconds of the agent's first start on this node, if known. */
  readonly createdAt?: number;
  /** Absent = the machine has no swap. */
  readonly swapBytes?: number;
  /** Of the CPU, in degrees Celsius; absent = no sensor. */
  readonly cpuCelsius?: number;
  /** MQTT packet bytes since the agent started, by purpose; absent = no MQTT. */
  readonly mqttBytes?: Readonly<Record<string, { readonly in: number; readonly out: number }>>;
}

export interface LinkFacts {
  readonly isConnected: boolean;
  /** By purpose, since the agent started. */
  readonly bytes: Readonly<Record<string, { readonly in: number; readonly out: number }>>;
  /** Messages in the outbox. */
  readonly waiting: number;
  /** Messages dropped since the agent started, by kind, because too many waited. */
  readonly dropped: Readonly<Record<string, number>>;
}
