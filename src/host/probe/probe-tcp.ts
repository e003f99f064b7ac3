// Performs: whether somebody takes a connection. kubelet: pkg/probe/tcp

import { connect } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import type { Address, ProbeCall } from "./probe-edge.ts";
import { hostAndPort } from "./http-request.ts";
import { question, socketError, timedOut } from "./probe-question.ts";

export function tcpConnect(clock: Clock, address: Address, call: ProbeCall): Promise<void> {
  const late = () => timedOut(`dial tcp ${hostAndPort(address)}: i/o timeout`);
  return question<void>({ clock, call, late }, ({ answer, fail }) => {
    const socket = connect({ host: address.host, port: address.port });
    socket.on("connect", () => answer());
    socket.on("error", (error) => fail(socketError(error, address, false)));
    return () => void socket.destroy();
  });
}
