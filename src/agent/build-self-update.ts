// Performs: builds what updates the agent itself.

import type { RecordEvent } from "../api/v1/events.ts";
import type { NodeViewOptions } from "../node/node-view-options.ts";
import type { ShutdownState } from "../node/shutdown/shutdown-state.ts";
import { platformOf } from "../protocol/agent-release.ts";
import { SelfUpdater } from "../self-update/self-updater.ts";
import type { UpstreamPort } from "../upstream/upstream.ts";
import type { Sources } from "./build-sources.ts";
import type { SyncLoop } from "./sync-loop.ts";

interface SelfUpdateOptions
  extends
    Pick<NodeViewOptions, "edges" | "config" | "version" | "nodeName">,
    Pick<Sources, "trust" | "documents"> {
  readonly record: RecordEvent;
  readonly loop: Pick<SyncLoop, "hasApplied" | "unhealthy">;
  readonly upstream: Pick<UpstreamPort, "facts" | "changed" | "follow">;
  readonly shutdown: Pick<ShutdownState, "isActive">;
  readonly restart: () => void;
}

/** undefined = the launcher has not started the agent. */
export function buildSelfUpdate(options: SelfUpdateOptions): SelfUpdater | undefined {
  const { edges, loop, upstream, shutdown, documents } = options;
  const edge = edges.selfUpdate;
  if (edge === undefined) return undefined;
  const updater = new SelfUpdater({
    ...options,
    ...options.config,
    edge,
    platform: platformOf(edges.machine.architecture),
    proofs: {
      isReady: () => loop.hasApplied && loop.unhealthy() === undefined,
      hasBroker: () => upstream.facts().hasAcknowledged === true,
    },
    isConnected: () => upstream.facts().isConnected,
    isShuttingDown: () => shutdown.isActive,
    documents: () => documents?.states() ?? [],
    onChange: upstream.changed,
  });
  upstream.follow(() => updater.look());
  return updater;
}
