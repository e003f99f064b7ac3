// Performs: `agent run`: the real edges, one agent, until a signal comes. Stopping the agent stops no pod.

import { writeSync } from "node:fs";
import type { AgentConfig, ConfigFields } from "../config/config.ts";
import { configWith, settingsError } from "../config/remote-settings.ts";
import { listenAddress } from "../config/listen-config.ts";
import { containerdEvents } from "../containerd/containerd-events.ts";
import { archiveBytes } from "../containerd/archive/archive-bytes.ts";
import { containerdImages } from "../containerd/archive/containerd-images.ts";
import { criEvents } from "../containerd/cri-events.ts";
import { containerdPulls } from "../containerd/pull-edge.ts";
import { strayTaskClient } from "../containerd/remove-stray-task.ts";
import { isContainerd } from "../containerd/containerd.ts";
import { bringPauseImage, importPauseImage } from "../containerd/pause-image.ts";
import type { CriClient } from "../cri/cri-client.ts";
import { GrpcChannel } from "../cri/grpc-connection.ts";
import { NodeKeys, type NodeKeysOptions } from "../trust/node-keys.ts";
import { verifyEd25519 } from "../host/crypto/ed25519.ts";
import { clockSynchronised, setSystemClock, sinceBoot } from "../host/libc.ts";
import { findBoard } from "../host/board.ts";
import { lockStateDir } from "../host/agent-lock.ts";
import { bootId, readDiskFacts, readMachineFacts, readNodeAddresses } from "../host/machine.ts";
import { realExecProcesses } from "../host/process/exec-processes.ts";
import { trimMemory } from "../host/trim-memory.ts";
import { lightChecks } from "../host/process/light-check.ts";
import { isRunning, ownIdentity } from "../host/process/process-identity.ts";
import { compressFile } from "../host/tree/compress-file.ts";
import { helperProcesses } from "../host/helper-process.ts";
import { runPrograms } from "../host/run-program.ts";
import { realKernelLog } from "../host/oom/kernel-log.ts";
import { realMounts } from "../host/mounts.ts";
import { downloads } from "../host/http/download.ts";
import { CNI_STATE, removeTornFiles } from "../host/power-cut/cni-leftovers.ts";
import { fileSystemSync } from "../host/power-cut/sync-file-system.ts";
import { realProbeEdge } from "../host/probe/real-probe-edge.ts";
import { realCgroups } from "../host/cgroups.ts";
import { protectFromOom } from "../host/oom/oom-score.ts";
import { MANAGER_VARIABLES, serviceManager } from "../host/service-manager.ts";
import { tunnelServer } from "../host/tunnel/serve-tunnel.ts";
import { realReadings } from "../host/resource-readings.ts";
import { systemdLogind } from "../host/logind/logind.ts";
import { countedFiles, storageWritten } from "../host/usage/counted-files.ts";
import { realUsage } from "../host/usage/usage-readings.ts";
import type { Files } from "../host/files.ts";
import { realFiles } from "../host/real-files.ts";
import { readRootKeys } from "../host/root-keys.ts";
import type { Clock } from "../lib/clock.ts";
import type { CountWritten } from "../lib/files/write-classes.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import { sha256 } from "../lib/system-sha256.ts";
import { Meter } from "../lib/meter.ts";
import { createLogger, JOURNAL_LIMIT, type Logger } from "../lib/logger.ts";
import { systemClock, systemRandom } from "../lib/system-clock.ts";
import { BUILT_MS, userAgent } from "../lib/version-info.ts";
import { certificateExpiries } from "../mqtt/parse-certificates.ts";
import type { RemoteSettings } from "../protocol/remote-settings.ts";
import { MqttjsLink } from "../mqtt/mqttjs-link.ts";
import { LocalServer } from "../server/local-server.ts";
import { RunMarker, type LastStop } from "../store/run-marker.ts";
import { noticesOf, provisioningConditions, type ProvisionReport } from "../provision/report.ts";
import { preparedMark } from "../provision/prepare-image.ts";
import { Store } from "../store/store.ts";
import { resolveIdentity } from "../node/identity/identity.ts";
import { Agent } from "./agent.ts";
import { askDirectory } from "./volume-helper.ts";
import { selfUpdateEdge } from "./self-update-edge.ts";
import { markClock, settleClock, type ClockAtStartOptions } from "../node/set-clock.ts";
import type { Edges } from "../edges.ts";

interface RunAgentOptions {
  readonly config: AgentConfig;
  /** The same as the device has it, before defaults that depend on other fields. */
  readonly fields: ConfigFields;
  readonly version: string;
  /** What became of the provisioning directory; absent = there is none. */
  readonly provisioned?: ProvisionReport | undefined;
}

/** EX_TEMPFAIL: the service manager shall start the launcher again, which starts another version. */
const RESTART_CODE = 75;

/**
 * Resolves to the exit code: 0 after SIGTERM or SIGINT, 1 when the agent cannot start or a loop ends, 75 to be started again as
 * another version.
 */
export async function runAgent(options: RunAgentOptions): Promise<number> {
  // The MQTT library calls deprecated functions; the warnings are not JSON and no concern of an operator.
  process.noDeprecation = true;
  const clock = systemClock(sinceBoot);
  const { logLevel: level } = options.config;
  const meter = new Meter();
  const count: CountWritten = (kind, bytes) =>
    meter.count("agent_written_bytes_total", { class: kind }, bytes);
  const write = (line: string): void => {
    writeLine(line);
    count("journal", Buffer.byteLength(line));
  };
  const log = createLogger({ clock, level, write, limit: JOURNAL_LIMIT });
  try {
    logProvisioning(options.provisioned, log);
    const wantsRestart = await live(options, { clock, log, meter, count });
    log.info("stopped; the pods run on");
    return wantsRestart ? RESTART_CODE : 0;
  } catch (error) {
    log.error("the agent cannot continue", {
      reason: reasonOf(error, "AgentError"),
      error: messageOf(error),
    });
    return 1;
  }
}

/** Before anything makes a sandbox. */
function removeTornNetworks(lastStop: LastStop, log: Logger): void {
  if (lastStop !== "PowerCut") return;
  const removed = removeTornFiles();
  if (removed.length > 0)
    log.warn("removed what a power cut had left torn of the network of pods", { removed });
}

/** Where the runtime unpacks images, and where CNI keeps its state. */
async function imagePlaces(cri: Pick<CriClient, "imageFsInfo">): Promise<readonly string[]> {
  const { imageFilesystems } = await cri.imageFsInfo();
  return [...imageFilesystems.map(({ fsId }) => fsId?.mountpoint ?? ""), CNI_STATE];
}

interface Surroundings {
  readonly clock: Clock;
  readonly log: Logger;
  readonly meter: Meter;
  readonly count: CountWritten;
}

async function live(
  { config, fields, version, provisioned }: RunAgentOptions,
  { clock, log, meter, count }: Surroundings,
): Promise<boolean> {
  const files = countedFiles(realFiles(), config, count);
  files.makeDirectory(config.stateDir, 0o700);
  using _lock = lockStateDir(config.stateDir);
  const marker = new RunMarker({ stateDir: config.stateDir, files, bootId: bootId() });
  if (marker.trouble !== undefined)
    log.warn("the next start cannot know how this one ended", { error: marker.trouble });
  removeTornNetworks(marker.lastStop, log);
  using store = openStore(config, files, log);
  store.database.countWith((bytes) => count("database", bytes));
  const time: ClockAtStartOptions = {
    clock,
    log,
    mark: store.clockMark,
    mayStep: config.setClock,
    built: BUILT_MS ?? 0,
    synchronised: clockSynchronised,
    set: setSystemClock,
  };
  const clockFloor = settleClock(time);
  using channel = new GrpcChannel({ endpoint: config.containerRuntimeEndpoint, clock, meter });
  const runProgram = runPrograms(clock);
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
    syncImages: fileSystemSync({ runProgram, log, directories: async () => imagePlaces(cri) }),
  });
  const storageBytes = readDiskFacts(config.stateDir).capacityBytes;
  const machine = { ...readMachineFacts(), storageBytes };
  const { stateDir, nodeName: template } = config;
  const identity = resolveIdentity({
    files,
    log,
    stateDir,
    template,
    facts: machine,
    prepared: preparedMark(files, stateDir),
    random: systemRandom,
  });
  const web = { clock, userAgent: userAgent(version, process.arch) };
  const edges: Edges = {
    clock,
    random: systemRandom,
    log,
    meter,
    files,
    mounts: realMounts(),
    runHelper: helperProcesses({ clock }),
    runProgram,
    cgroups: realCgroups(),
    readings: realReadings(),
    counters: realUsage(),
    logind: systemdLogind({ clock, runProgram }),
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
        clock,
        cri,
        owner: ownIdentity(),
        isRunning,
        freeBytes: (path) => readDiskFacts(path).availableBytes,
      }),
      read: archiveBytes,
    },
    probes: realProbeEdge(clock),
    download: downloads(web),
    mqtt: new MqttjsLink(clock, web.userAgent),
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
    compressFile: async (from, to, signal) => {
      await compressFile(from, to, signal);
      count("container_logs", files.info(to)?.size ?? 0);
    },
    storage: {
      lastStop: marker.lastStop,
      check: lightChecks(clock),
      written: storageWritten,
    },
    sha256,
    verifySignature: verifyEd25519,
    rootKeys: () => readRootKeys(files, config.trustPath),
    serveTunnel: tunnelServer(clock, config.socket),
    nodeKeys: ownKeys({ stateDir, files, random: systemRandom, node: identity.nodeName }, log),
    device: {
      configWith: (settings) => configWith(fields, settings),
      settingsError: (settings) => settingsError(fields, settings) ?? certificateError(settings),
    },
    ...selfUpdateEdge(web, count),
    ...serviceManagerEdge(),
  };
  const { nodeName } = identity;
  const conditions = [
    ...identity.conditions,
    ...(provisioned === undefined ? [] : provisioningConditions(provisioned)),
    ...protectFromOom(log),
  ];
  const agent = new Agent({ edges, config, version, nodeName, conditions, provisioned });
  const { facts, onChange } = agent;
  const server = new LocalServer({
    socket: config.socket,
    podLogsDir: config.podLogsDir,
    socketGroup: config.socketGroup,
    facts,
    files,
    cri,
    clock,
    log,
    meter,
    onChange,
    execProcesses: realExecProcesses,
    manifests: {
      directory: config.staticPodPath,
      nodeName,
      clusterDNS: config.clusterDNS.length > 0,
      sha256,
      random: systemRandom,
      askDirectory: askDirectory(edges),
    },
    secure: {
      ...secureSettings(config),
      nodeName,
      hostname: machine.hostname,
      random: systemRandom,
      addresses: () => readNodeAddresses().map(({ address }) => address),
      clockFloor: () => clockFloor.at,
      clockSynchronised,
    },
  });
  await server.listen();
  const stop = stopSignal();
  log.info("started", { version, node: nodeName, instance: config.instance, pid: process.pid });
  try {
    await agent.run(stop);
    markClock(time);
    marker.stopped();
    return agent.wantsRestart;
  } finally {
    server.stop();
  }
}

function certificateError({ mqtt: { ca } }: RemoteSettings): string | undefined {
  if (ca === undefined) return undefined;
  try {
    certificateExpiries(ca);
    return undefined;
  } catch (error) {
    return `config.mqtt.ca: ${messageOf(error)}`;
  }
}

function logProvisioning(report: ProvisionReport | undefined, log: Logger): void {
  if (report === undefined) return;
  for (const { level, message, ...facts } of noticesOf(report)) log[level](message, facts);
}

/** What the agent runs is no business of its service manager, and must not speak for it. */
function serviceManagerEdge(): Pick<Edges, "serviceManager"> {
  const manager = serviceManager(process.env);
  for (const name of MANAGER_VARIABLES) delete process.env[name];
  return manager === undefined ? {} : { serviceManager: manager };
}

function secureSettings({ stateDir, listen, tlsCertFile, tlsPrivateKeyFile }: AgentConfig) {
  const hasFiles = tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined;
  return {
    stateDir,
    listen: listen === undefined ? undefined : listenAddress(listen),
    certificateFiles: hasFiles ? { certFile: tlsCertFile, keyFile: tlsPrivateKeyFile } : undefined,
  };
}

function openStore({ stateDir }: AgentConfig, files: Files, log: Logger): Store {
  const store = Store.open({ stateDir, files, random: systemRandom });
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
  if (store.settings.trouble !== undefined)
    log.error("the settings of documents cannot be read", { why: store.settings.trouble });
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

/** What is wrong with the file is logged. */
function ownKeys(options: NodeKeysOptions, log: Logger): NodeKeys {
  const keys = new NodeKeys(options);
  const { trouble, warning } = keys;
  if (trouble !== undefined) log.error("the node's own key is not what it was", { error: trouble });
  if (warning !== undefined) log.warn("the node's own key is open to others", { error: warning });
  return keys;
}
