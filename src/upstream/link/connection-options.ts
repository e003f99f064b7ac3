// Performs: what the connection to the broker is built of: its edges, its configuration, and whom it tells.

import type { MqttConfig } from "../../config/config.ts";
import type { NodeCondition } from "../../api/v1/pod-status.ts";
import type { Files } from "../../host/files.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Random } from "../../lib/random.ts";
import type { MqttLink, MqttMessage, MqttSession } from "../../mqtt/mqtt-link.ts";
import type { NodeAbout } from "../../protocol/state-message.ts";

export interface UpstreamConnectionOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly link: MqttLink;
  readonly files: Files;
  readonly config: MqttConfig;
  readonly nodeName: string;
  readonly incarnation: string;
  /** Whether the kernel says that the clock is synchronised. */
  readonly clockTrusted: () => boolean;
  /** Groups of the node, read at each connect and after `groupsChanged()`. */
  readonly groups: () => readonly string[];
  /** Groups that it has left: the broker is told to forget their subscriptions. Absent = none. */
  readonly leftGroups?: () => readonly string[];
  /** The number of the next session; never twice in one incarnation. */
  readonly nextSession: () => number;
  readonly about: () => NodeAbout;
  /** Everything that arrives, also before birth; what it throws is logged, and the message forgotten. */
  readonly onMessage: (message: MqttMessage) => void;
  /** The broker knows nothing of us: everything retained is to be published again. */
  readonly onFreshSession: () => void;
  /** All conditions of the connection that are true; called when they change. */
  readonly onConditions: (conditions: readonly NodeCondition[]) => void;
  /** Publishes until its signal aborts; the session is then over, or about to be ended. */
  readonly publisher: SessionPublisher;
}

export interface SessionPublisher {
  run(session: MqttSession, number: number, signal: AbortSignal): Promise<void>;
}
