// Performs: names everything outside the process that the agent uses; the simulation provides its own. Types only.

import type { AgentConfig } from "./config/config.ts";
import type { ArchiveEdge } from "./containerd/archive/image-store.ts";
import type { PullEdge } from "./containerd/pull-edge.ts";
import type { RuntimeEvents } from "./containerd/runtime-events.ts";
import type { CriClient } from "./cri/cri-client.ts";
import type { VersionResponse } from "./cri/gen/runtime/v1/api_pb.ts";
import type { CompressFile } from "./host/tree/compress-file.ts";
import type { Files } from "./host/files.ts";
import type { BoardReadings } from "./host/board.ts";
import type { Cgroups } from "./host/cgroups.ts";
import type { KernelLog } from "./host/oom/kernel-log.ts";
import type { DiskFacts, MachineFacts, NodeAddress } from "./host/machine.ts";
import type { RunHelper } from "./host/helper-process.ts";
import type { RunProgram } from "./host/run-program.ts";
import type { ResourceReadings } from "./host/resource-readings.ts";
import type { Logind } from "./host/logind/logind.ts";
import type { UsageReadings } from "./host/usage/usage-readings.ts";
import type { Mounts } from "./host/mounts.ts";
import type { Download } from "./host/http/download-edge.ts";
import type { DownloadFile } from "./host/http/download-file.ts";
import type { ServeTunnel } from "./host/tunnel/serve-tunnel.ts";
import type { ServiceManager } from "./host/service-manager.ts";
import type { Versions } from "./host/versions/versions.ts";
import type { ProbeEdge } from "./host/probe/probe-edge.ts";
import type { Clock, ClockFloor } from "./lib/clock.ts";
import type { Logger } from "./lib/logger.ts";
import type { Meter } from "./lib/meter.ts";
import type { Random } from "./lib/random.ts";
import type { MqttLink } from "./mqtt/mqtt-link.ts";
import type { LastStop } from "./store/run-marker.ts";
import type { Store } from "./store/store.ts";
import type { RemoteSettings } from "./protocol/remote-settings.ts";
import type { NodeKeysView, OpenedFacts, PublishedKeys } from "./protocol/node-keys.ts";
import type { Unseal } from "./protocol/sealed-secret.ts";
import type { RootKeys, VerifySignature } from "./protocol/trust-bundle.ts";
import type { Sha256 } from "./lib/system-sha256.ts";

/** What an update of the agent itself needs. */
export interface SelfUpdateEdge {
  readonly versions: Versions;
  readonly downloadFile: DownloadFile;
  /**
   * Lets a binary load all that it needs, and open a copy of the database in `directory`; resolves to its version. Rejects
   * with AgentError `SelfTestFailed`.
   */
  readonly selfTest: (path: string, directory: string, signal: AbortSignal) => Promise<string>;
}

/** The configuration of the device, over which settings of documents are laid. */
export interface DeviceConfig {
  /** With these settings over it; they fit. */
  readonly configWith: (settings: RemoteSettings) => AgentConfig;
  /** What of them does not fit the device: a sentence; undefined = they fit. */
  readonly settingsError: (settings: RemoteSettings) => string | undefined;
}

/** How the last agent ended, and what is asked of the disk. */
export interface StorageEdge {
  readonly lastStop: LastStop;
  /** `agent fsck --light` in a process of its own; resolves to its report as JSON. */
  readonly check: (signal: AbortSignal) => Promise<string>;
  /** Bytes that this process has sent to the disk; undefined = the kernel does not count them. */
  readonly written: () => number | undefined;
}

/** The node's own keys. */
export interface NodeKeysEdge {
  /** What a birth holds. */
  readonly published: () => PublishedKeys;
  readonly view: () => NodeKeysView;
  readonly unseal: Unseal;
  /** Signs with the key whose fingerprint operators know. */
  readonly sign: (message: Uint8Array) => Uint8Array;
  readonly signOpened: (facts: Omit<OpenedFacts, "node">) => Uint8Array;
  /** Throws when the new ones cannot be stored; then the present ones stay. */
  readonly rotate: () => void;
}

export interface Edges {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Absent = nothing is counted. */
  readonly meter?: Meter;
  readonly files: Files;
  readonly mounts: Mounts;
  /** For calls on file systems that may hang. */
  readonly runHelper: RunHelper;
  /** For credentials of registries: helpers and plugins of the operator. */
  readonly runProgram: RunProgram;
  readonly cgroups: Cgroups;
  /** How much is left of memory, file systems and process ids. */
  readonly readings: ResourceReadings;
  /** What processes, pods and interfaces have used. */
  readonly counters: UsageReadings;
  /** systemd-logind, where it is. */
  readonly logind: Logind;
  readonly cri: CriClient;
  /** How far pulls are, and keeping what has arrived. */
  readonly pulls: PullEdge;
  /** containerd's own stream, or CRI's for another runtime. */
  readonly runtimeEvents: (version: VersionResponse) => RuntimeEvents;
  /** Loads or pulls the pause image if containerd lacks it, and logs it; never rejects. */
  readonly bringPauseImage: (signal: AbortSignal) => Promise<void>;
  /** containerd's images, and the files from which they are imported. */
  readonly archives: ArchiveEdge;
  /** Network access of probes and hooks. */
  readonly probes: ProbeEdge;
  /** Of manifests from an HTTP server. */
  readonly download: Download;
  readonly mqtt: MqttLink;
  readonly store: Store;
  readonly machine: MachineFacts;
  readonly bootId: string;
  /** The board's sensors now; never throws. */
  readonly board: () => BoardReadings;
  /** Of the file system that holds a path; throws when there is none. */
  readonly diskSpace: (path: string) => DiskFacts;
  readonly addresses: () => readonly NodeAddress[];
  readonly clockSynchronised: () => boolean;
  readonly clockFloor: ClockFloor;
  readonly sha256: Sha256;
  readonly verifySignature: VerifySignature;
  /** The keys in `trustPath` now; never throws. */
  readonly rootKeys: () => RootKeys;
  readonly kernelLog: KernelLog;
  /** Collects garbage and returns free memory to the system; takes tens of milliseconds. */
  readonly trimMemory: () => void;
  readonly compressFile: CompressFile;
  /** Absent = the launcher has not started the agent, so that it cannot go back from another version. */
  readonly selfUpdate?: SelfUpdateEdge;
  /** Of the node itself; absent = no Secret can be sealed to it. */
  readonly nodeKeys?: NodeKeysEdge;
  /** Absent = there are no sessions of operators over the broker. */
  readonly serveTunnel?: ServeTunnel;
  /** Absent = documents change no settings. */
  readonly device?: DeviceConfig;
  /** Absent = nothing is checked or counted. */
  readonly storage?: StorageEdge;
  /** Absent = no service manager waits for reports of this process. */
  readonly serviceManager?: ServiceManager;
}
