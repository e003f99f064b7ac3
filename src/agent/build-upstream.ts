// Performs: builds the connection to the broker, in the order of dependence: commands, then reports.

import { NodeCommands, type NodeCommandsOptions } from "../command/mqtt-commands.ts";
import type { MqttMessage } from "../mqtt/mqtt-link.ts";
import type { EventRecorder } from "../node/event-recorder.ts";
import type { NodeView, NodeViewOptions } from "../node/node-view.ts";
import type { Rollouts } from "../rollout/rollouts.ts";
import type { MqttSource } from "../source/document/mqtt-source.ts";
import type { StartGuard } from "../store/start-guard/start-guard.ts";
import { Upstream, type UpstreamPort } from "../upstream/upstream.ts";

interface BuildUpstreamOptions
  extends
    Pick<NodeViewOptions, "edges" | "config" | "version" | "nodeName">,
    Pick<NodeCommandsOptions, "pods" | "redactor" | "fetchImages" | "trust"> {
  readonly view: NodeView;
  readonly documents: MqttSource | undefined;
  readonly events: Pick<EventRecorder, "connected" | "denied">;
  readonly rollouts: Pick<Rollouts, "reached">;
  readonly port: UpstreamPort;
  readonly guard: Pick<StartGuard, "subscribed">;
  readonly signal: AbortSignal;
}

const NO_GROUPS = { wanted: [], left: [] };

/** undefined = no broker is configured. */
export function buildUpstream(options: BuildUpstreamOptions): Upstream | undefined {
  const { edges, config, nodeName, version, view, documents, events, rollouts, port } = options;
  const { mqtt } = config;
  if (mqtt === undefined) return undefined;
  const groups = () => documents?.groupNames() ?? NO_GROUPS;
  const commands = new NodeCommands({
    ...options,
    config: mqtt,
    podLogsDir: config.podLogsDir,
    agentVersion: version,
    groups: () => groups().wanted,
    facts: view,
    onResponse: port.wake,
  });
  const upstream = new Upstream({
    edges,
    config: mqtt,
    frequency: config.nodeStatusReportFrequencyMs,
    nodeName,
    agentVersion: version,
    truth: () => view.truth(),
    groups,
    onMessage: (message: MqttMessage) => {
      // A document or a trust bundle, unless it is a command.
      if (!commands.receive(message)) documents?.receive(message.topic, message.payload);
    },
    onConverged: (source, generation) => documents?.observed(source, generation),
    onSession: (session, number) => {
      options.guard.subscribed();
      events.connected();
      commands.connected(session, number);
    },
    onReached: () => rollouts.reached(),
    onSetAside: (topic, why) => events.denied(topic, why),
  });
  port.attach(upstream);
  documents?.onGroups(() => upstream.groupsChanged());
  commands.start();
  options.signal.addEventListener("abort", () => commands.stop(), { once: true });
  return upstream;
}
