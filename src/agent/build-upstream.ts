// Performs: wires the agent's rooms to the broker: what is reported, what is obeyed, and who is told.

import type { AgentConfig } from "../config/config.ts";
import type { DocumentState } from "../protocol/desired-document.ts";
import type { MqttMessage } from "../mqtt/mqtt-link.ts";
import { NodeCommands, type CommandTrust } from "../command/node-commands.ts";
import type { Edges } from "../edges.ts";
import type { EventRecorder } from "../node/event-recorder.ts";
import type { NodeView } from "../node/node-view.ts";
import { Upstream } from "../upstream/upstream.ts";
import type { FetchImages } from "../podworkers/pod-replacement.ts";
import type { Pods } from "../podworkers/pods.ts";

export interface BuildUpstreamOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly version: string;
  readonly view: () => NodeView;
  readonly pods: Pods;
  readonly fetchImages: FetchImages;
  readonly documents: UpstreamDocuments | undefined;
  readonly trust: CommandTrust;
  readonly events: Pick<EventRecorder, "connected" | "denied">;
  /** Something went to the broker and came back. */
  readonly onReached: () => void;
  readonly signal: AbortSignal;
}

/** What arrives and is no command. */
export interface UpstreamDocuments {
  receive(topic: string, payload: Uint8Array): void;
  observed(source: DocumentState["source"], generation: number): void;
  /** Groups whose topics are wanted, and those whose topics no longer are; `onGroups` hears when they change. */
  groupNames(): { readonly wanted: readonly string[]; readonly left: readonly string[] };
  onGroups(listener: () => void): void;
}

/** undefined = no broker is configured. */
export function buildUpstream(options: BuildUpstreamOptions): Upstream | undefined {
  const { edges, config, nodeName, version, view, pods, documents, trust, signal } = options;
  const { mqtt } = config;
  if (mqtt === undefined) return undefined;
  const commands = new NodeCommands({
    edges,
    config: mqtt,
    podLogsDir: config.podLogsDir,
    nodeName,
    agentVersion: version,
    groups: () => documents?.groupNames().wanted ?? [],
    facts: view,
    pods,
    fetchImages: options.fetchImages,
    trust,
    onResponse: () => upstream.wake(),
  });
  const receive = (message: MqttMessage): void => {
    if (!commands.receive(message)) documents?.receive(message.topic, message.payload);
  };
  const upstream: Upstream = new Upstream({
    edges,
    config: mqtt,
    frequency: config.nodeStatusReportFrequencyMs,
    nodeName,
    agentVersion: version,
    truth: () => view().truth(),
    groups: () => documents?.groupNames() ?? { wanted: [], left: [] },
    onMessage: receive,
    onConverged: (source, generation) => documents?.observed(source, generation),
    onConditions: () => upstream.changed(),
    onSession: (session, number) => {
      options.events.connected();
      commands.connected(session, number);
    },
    onReached: options.onReached,
    onSetAside: (topic, why) => options.events.denied(topic, why),
  });
  documents?.onGroups(() => upstream.groupsChanged());
  commands.start();
  signal.addEventListener("abort", () => commands.stop(), { once: true });
  return upstream;
}
