// What the load program and the processes with its nodes say to each other, over Bun's channel between processes.

import type { Deed } from "./load-node.ts";

export interface NodesOrder {
  /** `build`: nodes without a connection; `start`: all connect; `look`: answers with what has happened since the last one. */
  readonly order: "build" | "start" | "look" | "stop";
  readonly url: string;
  readonly directory: string;
  readonly from: number;
  readonly count: number;
  /** Ms since the machines booted: in the first five minutes they spread their connections. */
  readonly uptime: number;
}

export interface NodesFacts {
  readonly deeds: readonly Deed[];
  /** MQTT bytes since the start, by direction. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Longest time that the process has not looked at its sockets since the last look, ms. */
  readonly stalled: number;
}
