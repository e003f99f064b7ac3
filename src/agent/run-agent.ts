// Performs: `agent run`: the real edges, one agent, until a signal comes. Stopping the agent stops no pod.

import { writeSync } from "node:fs";
import type { AgentConfig } from "../config/config.ts";
import { containerdEvents } from "../containerd/containerd-events.ts";
import { archiveBytes } from "../containerd/archive/archive-bytes.ts";
import { containerdImages } from "../containerd/archive/containerd-images.ts";
import { criEvents } from "../containerd/cri-events.ts";
import { containerdPulls } from "../containerd/pull-edge.ts";
import { strayTaskClient } from "../containerd/remove-stray-task.ts";
import { isContainerd } from "../containerd/containerd.ts";
import { bringPauseImage, importPauseImage } from "../containerd/pause-image.ts";
import { GrpcChannel } from "../cri/grpc-connection.ts";
import { verifyEd25519 } from "../host/ed25519.ts";
import { clockSynchronised, setSystemClock, sinceBoot } from "../host/libc.ts";
import { findBoard } from "../host/board.ts";
import { lockStateDir } from "../host/agent-lock.ts";
import { bootId, readDiskFacts, readMachineFacts, readNodeAddresses } from "../host/machine.ts";
import { trimMemory } from "../host/trim-memory.ts";
import { isRunning, ownIdentity } from "../host/process-identity.ts";
import { compressFile } from "../host/tree/compress-file.ts";
import { helperProcesses } from "../host/helper-process.ts";
import { runPrograms } from "../host/run-program.ts";
import { realKernelLog } from "../host/oom/kernel-log.ts";
import { realMounts } from "../host/mounts.ts";
import { downloads } from "../host/http/download.ts";
import { realProbeEdge } from "../host/probe/real-probe-edge.ts";
import { realCgroups } from "../host/cgroups.ts";
import { protectFromOom } from "../host/oom/oom-score.ts";
import { realReadings } from "../host/resource-readings.ts";
import { systemdLogind } from "../host/logind/logind.ts";
import { realUsage } from "../host/usage/usage-readings.ts";
import { realFiles } from "../host/real-files.ts";
import { readRootKeys } from "../host/root-keys.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import { sha256 } from "../lib/system-sha256.ts";
import { createLogger, JOURNAL_LIMIT, type Logger } from "../lib/logger.ts";
import { systemClock, systemRandom } from "../lib/system-clock.ts";
import { MqttjsLink } from "../mqtt/mqttjs-link.ts";
import { LocalServer } from "../server/local-server.ts";
import { Store } from "../store/store.ts";
import { resolveIdentity } from "../node/identity.ts";
import { Agent } from "./agent.ts";
import { markClock, settleClock, type ClockAtStartOptions } from "../node/set-clock.ts";
import type { Edges } from "../edges.ts";

/** Set by the build: seconds since 1970 of its sources. */
declare const AGENT_BUILD_TIME: number | undefined;

interface RunAgentOptions {
  readonly config: AgentConfig;
  readonly version: string;
}

/** Resolves to the exit code: 0 after SIGTERM or SIGINT, 1 when the agent cannot start or a loop ends. */
export async function runAgent({ config, version }: RunAgentOptions): Promise<number> {
  // The MQTT library calls deprecated functions; the warnings are not JSON and no concern of an operator.
  process.noDeprecation = true;
  const clock = systemClock(sinceBoot);
  const { logLevel: level } = config;
  const log = createLogger({ clock, level, write: writeLine, limit: JOURNAL_LIMIT });
  try {
    await live({ config, version }, clock, log);
    log.info("stopped; the pods run on");
    return 0;
  } catch (error) {
    log.error("the agent cannot continue", {
      reason: reasonOf(error, "AgentError"),
      error: messageOf(error),
    });
    return 1;
  }
}

async function live(
  { config, version }: RunAgentOptions,
  clock: Clock,
  log: Logger,
): Promise<void> {
  const files = realFiles();
  files.makeDirectory(config.stateDir, 0o700);
  using _lock = lockStateDir(config.stateDir);
  using store = openStore(config, log);
  const time: ClockAtStartOptions = {
    clock,
    log,
    mark: store.clockMark,
    mayStep: config.setClock,
    built: typeof AGENT_BUILD_TIME === "number" ? AGENT_BUILD_TIME * 1000 : 0,
    synchronised: clockSynchronised,
    set: setSystemClock,
  };
  const clockFloor = settleClock(time);
  using channel = new GrpcChannel({ endpoint: config.containerRuntimeEndpoint, clock });
  // Of its own: an archive's bytes must not delay the events.
  using images = new GrpcChannel({ endpoint: config.imageServiceEndpoint, clock });
  using cri = strayTaskClient({
    endpoint: config.containerRuntimeEndpoint,
    imageEndpoint: config.imageServiceEndpoint,
    clock,
    channel,
    importPause: async (image, own) => {
      const { architecture } = machine;
      await importPauseImage(image, { cri, channel, clock, architecture, ...own });
      log.info("imported the pause image", { image });
    },
  });
  const storageBytes = readDiskFacts(config.stateDir).capacityBytes;
  const machine = { ...readMachineFacts(), storageBytes };
  const { stateDir, nodeName: template } = config;
  const identity = resolveIdentity({ files, log, stateDir, template, facts: machine });
  const edges: Edges = {
    clock,
    random: systemRandom,
    log,
    files,
    mounts: realMounts(),
    runHelper: helperProcesses({ clock }),
    runProgram: runPrograms(clock),
    cgroups: realCgroups(),
    readings: realReadings(),
    counters: realUsage(),
    logind: systemdLogind({ clock, runProgram: runPrograms(clock) }),
    cri,
    pulls: containerdPulls({ channel: images, clock, sha256 }),
    runtimeEvents: (runtime) =>
      isContainerd(runtime) ? containerdEvents({ channel, clock }) : criEvents({ cri, clock }),
    bringPauseImage: (signal) => {
      const { architecture } = machine;
      return bringPauseImage({
        cri,
        channel,
        clock,
        random: systemRandom,
        log,
        architecture,
        signal,
      });
    },
    archives: {
      store: containerdImages({
        channel: images,
        cri,
        owner: ownIdentity(),
        isRunning,
        freeBytes: (path) => readDiskFacts(path).availableBytes,
      }),
      read: archiveBytes,
    },
    probes: realProbeEdge(clock),
    download: downloads(clock),
    mqtt: new MqttjsLink(clock),
    store,
    machine,
    bootId: bootId(),
    board: findBoard(),
    diskSpace: readDiskFacts,
    addresses: () => readNodeAddresses(),
    clockSynchronised,
    clockFloor,
    kernelLog: realKernelLog(),
    trimMemory,
    compressFile,
    sha256,
    verifySignature: verifyEd25519,
    rootKeys: () => readRootKeys(files, config.trustPath),
  };
  const { nodeName } = identity;
  const conditions = [...identity.conditions, ...protectFromOom(log)];
  const agent = new Agent({ edges, config, version, nodeName, conditions });
  const server = new LocalServer({ socket: config.socket, facts: agent.facts, files, clock, log });
  const stop = stopSignal();
  log.info("started", { version, node: nodeName, instance: config.instance, pid: process.pid });
  try {
    await agent.run(stop);
    markClock(time);
  } finally {
    await server.stop();
  }
}

function openStore({ stateDir }: AgentConfig, log: Logger): Store {
  const store = Store.open({ stateDir, files: realFiles(), random: systemRandom });
  if (store.recovered !== undefined)
    log.error("the database was damaged; it was moved aside and is rebuilt", {
      ...store.recovered,
    });
  if (store.secrets.trouble !== undefined)
    log.error("the key of Secrets cannot be used; what was encrypted with it cannot be read", {
      why: store.secrets.trouble,
    });
  if (store.secrets.warning !== undefined)
    log.warn("the key of Secrets is not safe", { why: store.secrets.warning });
  if (store.trust.trouble !== undefined)
    log.error("the trust record was damaged", { why: store.trust.trouble });
  for (const repair of store.documents.repairs)
    log.warn("desired document repaired", { ...repair });
  return store;
}

function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => controller.abort());
  return controller.signal;
}

/** Synchronous: the last line before the process ends must not be lost. */
function writeLine(line: string): void {
  try {
    writeSync(2, line);
  } catch {
    // A closed or full pipe must not stop the agent.
  }
}
