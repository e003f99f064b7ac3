// Performs: the network itself: the implementation of ProbeEdge outside of simulations.

import type { Clock } from "../../lib/clock.ts";
import type { ProbeEdge } from "./probe-edge.ts";
import { grpcHealth } from "./probe-grpc.ts";
import { httpGet } from "./probe-http.ts";
import { tcpConnect } from "./probe-tcp.ts";

export function realProbeEdge(clock: Clock): ProbeEdge {
  return {
    httpGet: (request, call) => httpGet(clock, request, call),
    tcpConnect: (address, call) => tcpConnect(clock, address, call),
    grpcHealth: (address, call) => grpcHealth(clock, address, call),
  };
}
