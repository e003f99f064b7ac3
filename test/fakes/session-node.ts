// A node that begins sessions: what obeys `exec`, in front of an API of the test.

import type { NewEvent } from "../../src/api/v1/events.ts";
import { TunnelCommands } from "../../src/command/tunnel-commands.ts";
import { ed25519Key } from "../../src/host/crypto/ed25519.ts";
import { tunnelServer } from "../../src/host/tunnel/serve-tunnel.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { Logger } from "../../src/lib/logger.ts";
import { systemRandom } from "../../src/lib/system-clock.ts";
import { aDesiredPod, aPod } from "./a-pod.ts";

export const SESSION_NODE_KEY = ed25519Key(new Uint8Array(32).fill(7));

interface SessionNodeOptions {
  readonly clock: Clock;
  /** Socket of the node's own API. */
  readonly api: string;
  readonly isAllowed?: boolean;
  /** What the node sends, with QoS 0. */
  readonly publish: (topic: string, payload: Uint8Array) => void;
  readonly onTopics?: () => void;
}

/** Has the pod default/web. */
export class SessionNode {
  readonly events: NewEvent[] = [];
  readonly commands: TunnelCommands;

  constructor({ clock, api, isAllowed = true, publish, onTopics = noop }: SessionNodeOptions) {
    const log: Logger = { debug: noop, info: noop, warn: noop, error: noop, with: () => log };
    this.commands = new TunnelCommands({
      clock,
      log,
      random: systemRandom,
      serve: tunnelServer(clock, api),
      keys: SESSION_NODE_KEY,
      node: "pi-1",
      topicRoot: "agent/v1",
      isAllowed,
      podOf: (namespace, name) =>
        `${namespace}/${name}` === "default/web" ? aDesiredPod(aPod()) : undefined,
      publish,
      onTopics,
      record: (event) => void this.events.push(event),
    });
  }
}

function noop(): void {
  // Nothing to see.
}
