// Performs: builds the connection to the broker, in the order of dependence: commands, then reports.

import type { RecordEvent } from "../api/v1/events.ts";
import { NodeCommands, type NodeCommandsOptions } from "../command/mqtt-commands.ts";
import type { MqttMessage } from "../mqtt/mqtt-link.ts";
import type { EventRecorder } from "../node/event-recorder.ts";
import type { NodeView } from "../node/node-view.ts";
import type { NodeViewOptions } from "../node/node-view-options.ts";
import type { Rollouts } from "../rollout/rollouts.ts";
import type { MqttSource } from "../source/document/mqtt-source.ts";
import type { StartGuard } from "../store/start-guard/start-guard.ts";
import type { GroupMember } from "../protocol/groups.ts";
import { LinkMeter } from "../upstream/link/link-bytes.ts";
import { LinkInForce } from "../upstream/settings/link-in-force.ts";
import {
  linkOf,
  RemoteSettingsKeeper,
  settingsAtStart,
} from "../upstream/settings/remote-settings.ts";
import { Upstream, type UpstreamPort } from "../upstream/upstream.ts";

interface BuildUpstreamOptions
  extends
    Pick<NodeViewOptions, "edges" | "config" | "version" | "nodeName">,
    Pick<NodeCommandsOptions, "pods" | "redactor" | "fetchImages" | "trust" | "record"> {
  readonly view: NodeView;
  readonly documents: MqttSource | undefined;
  readonly events: Pick<EventRecorder, "connected" | "denied">;
  readonly rollouts: Pick<Rollouts, "reached">;
  readonly port: UpstreamPort;
  readonly guard: Pick<StartGuard, "subscribed">;
  /** undefined = no broker is configured. */
  readonly link: LinkInForce | undefined;
  readonly signal: AbortSignal;
}

const NO_GROUPS = { wanted: [], left: [] };

/** undefined = no broker is configured. */
export function buildUpstream(
  options: BuildUpstreamOptions,
): { run(signal: AbortSignal): Promise<void> } | undefined {
  const { edges, config, nodeName, version, view, documents, events, rollouts, port } = options;
  const { link } = options;
  if (link === undefined) return undefined;
  const { mqtt } = link.get();
  const groups = () => documents?.groupNames() ?? NO_GROUPS;
  const commands = new NodeCommands({
    ...options,
    config: mqtt,
    isMetered: isMetered(link),
    podLogsDir: config.podLogsDir,
    agentVersion: version,
    groups: () => groups().wanted,
    facts: view,
    onResponse: port.wake,
    onTopics: port.groupsChanged,
  });
  const meter = new LinkMeter(mqtt.topicRoot);
  const build = (): Upstream =>
    new Upstream({
      edges,
      meter,
      config: link.get().mqtt,
      frequency: link.get().frequency,
      nodeName,
      agentVersion: version,
      truth: () => view.truth(),
      groups,
      topics: () => commands.topics(),
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
  const first = link.attach({ build, port });
  documents?.onGroups(port.groupsChanged);
  commands.start();
  options.signal.addEventListener("abort", () => commands.stop(), { once: true });
  return { run: (signal) => link.run(first, { build, port }, signal) };
}

/** Whether every byte of the connection counts. */
export function isMetered(link: LinkInForce | undefined): () => boolean {
  return () => link?.get().mqtt.profile === "metered";
}

/** What is used of settings of documents until the first decision. */
export function linkAtStart({
  edges,
  config,
}: Pick<NodeViewOptions, "edges" | "config">): LinkAtStart {
  const { device, store } = edges;
  const own = { link: linkOf(config), groups: config.mqtt?.groups ?? [] };
  const { link, groups } =
    device === undefined ? own : settingsAtStart(store.settings.read(), device);
  return { link: link === undefined ? undefined : new LinkInForce(link), groups };
}

interface LinkAtStart {
  /** undefined = no broker is configured. */
  readonly link: LinkInForce | undefined;
  readonly groups: readonly GroupMember[];
}

interface SettingsOptions
  extends
    Pick<NodeViewOptions, "edges" | "nodeName">,
    Pick<BuildUpstreamOptions, "documents" | "link" | "port"> {
  readonly record: RecordEvent;
}

/** undefined = documents change no settings. */
export function buildRemoteSettings({
  edges,
  nodeName,
  documents,
  link,
  port,
  record,
}: SettingsOptions): RemoteSettingsKeeper | undefined {
  const { device } = edges;
  if (device === undefined || link === undefined || documents === undefined) return undefined;
  const keeper = new RemoteSettingsKeeper({
    edges,
    nodeName,
    device,
    link,
    port,
    record,
    documents: () => documents.states(),
    groupsWith: (groups) => documents.groupNamesWith(groups),
    onGroups: (groups) => documents.configure(groups),
    onChange: port.changed,
  });
  port.follow(() => keeper.look());
  return keeper;
}
