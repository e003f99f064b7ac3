// Performs: implements ProbeEdge on the real network.

import type { Clock } from "../../lib/clock.ts";
import type { ProbeEdge, Address, ProbeCall } from "./probe-edge.ts";
import { grpcHealth } from "./probe-grpc.ts";
import { httpGet } from "./probe-http.ts";
import { connect } from "node:net";
import { hostAndPort } from "./probe-http-request.ts";
import { exchange, socketError, timedOut } from "./probe-connection.ts";

export function realProbeEdge(clock: Clock): ProbeEdge {
  return {
    httpGet: (request, call) => httpGet(clock, request, call),
    tcpConnect: (address, call) => tcpConnect(clock, address, call),
    grpcHealth: (address, call) => grpcHealth(clock, address, call),
  };
}

/** kubelet: pkg/probe/tcp */
export function tcpConnect(clock: Clock, address: Address, call: ProbeCall): Promise<void> {
  const late = () => timedOut(`dial tcp ${hostAndPort(address)}: i/o timeout`);
  return exchange<void>({ clock, call, late }, ({ answer, fail }) => {
    const socket = connect({ host: address.host, port: address.port });
    socket.on("connect", () => answer());
    socket.on("error", (error) => fail(socketError(error, address, false)));
    return () => void socket.destroy();
  });
}
