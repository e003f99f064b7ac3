// Performs: builds what keeps the logs of containers within their limits.

import { nodeLogsLimit } from "../config/log-config.ts";
import type { AgentConfig } from "../config/config.ts";
import type { Edges } from "../edges.ts";
import { LogManager } from "../runtime/logs/log-manager.ts";
import type { Pods } from "../podworkers/pods.ts";

interface BuildLogsOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly pods: Pick<Pods, "cache">;
  readonly isSettled: () => boolean;
}

export function buildLogs({ edges, config, pods, isSettled }: BuildLogsOptions): LogManager {
  return new LogManager({
    ...edges,
    podLogsDir: config.podLogsDir,
    maxSize: config.containerLogMaxSize,
    maxFiles: config.containerLogMaxFiles,
    workers: config.containerLogMaxWorkers,
    intervalMs: config.containerLogMonitorInterval,
    limits: {
      pod: config.podLogsMaxSize ?? Number.POSITIVE_INFINITY,
      node: nodeLogsLimit(config.nodeLogsMaxSize, edges.machine.storageBytes),
    },
    observed: () => pods.cache.all(),
    isSettled,
  });
}
