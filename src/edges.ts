// Performs: names everything outside the process that the agent uses; the simulation provides its own. Types only.

import type { RuntimeEvents } from "./containerd/runtime-events.ts";
import type { CriClient } from "./cri/cri-client.ts";
import type { VersionResponse } from "./cri/gen/runtime/v1/api_pb.ts";
import type { Files } from "./host/files.ts";
import type { Cgroups } from "./host/cgroups.ts";
import type { MachineFacts, NodeAddress } from "./host/machine.ts";
import type { RunHelper } from "./host/helper-process.ts";
import type { Mounts } from "./host/mounts.ts";
import type { ProbeEdge } from "./host/probe/probe-edge.ts";
import type { Clock, ClockFloor } from "./lib/clock.ts";
import type { Logger } from "./lib/logger.ts";
import type { Random } from "./lib/random.ts";
import type { MqttLink } from "./mqtt/mqtt-link.ts";
import type { Store } from "./store/store.ts";
import type { RootKeys, VerifySignature } from "./protocol/trust-bundle.ts";
import type { Sha256 } from "./lib/system-sha256.ts";

export interface Edges {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly files: Files;
  readonly mounts: Mounts;
  /** For calls on file systems that may hang. */
  readonly runHelper: RunHelper;
  readonly cgroups: Cgroups;
  readonly cri: CriClient;
  /** containerd's own stream, or CRI's for another runtime. */
  readonly runtimeEvents: (version: VersionResponse) => RuntimeEvents;
  /** Loads or pulls the pause image if containerd lacks it, and logs it; never rejects. */
  readonly bringPauseImage: (signal: AbortSignal) => Promise<void>;
  /** Network access of probes and hooks. */
  readonly probes: ProbeEdge;
  readonly mqtt: MqttLink;
  readonly store: Store;
  readonly machine: MachineFacts;
  readonly bootId: string;
  readonly addresses: () => readonly NodeAddress[];
  readonly clockSynchronised: () => boolean;
  readonly clockFloor: ClockFloor;
  readonly sha256: Sha256;
  readonly verifySignature: VerifySignature;
  /** The keys in `trustPath` now; never throws. */
  readonly rootKeys: () => RootKeys;
  /** Collects garbage and returns free memory to the system; takes tens of milliseconds. */
  readonly trimMemory: () => void;
}
