// The address of a container's probe.

import { resolvePort } from "../api/v1/container-ports.ts";
import type { HttpGetHandler, TcpSocketHandler } from "../api/v1/probe.ts";
import {
  httpTarget,
  NO_ADDRESS,
  noPort,
  targetHost,
  type Target,
} from "../host/probe/http-request.ts";
import type { Address, HttpRequest } from "../host/probe/probe-edge.ts";
import type { Container } from "../api/v1/container.ts";

const USER_AGENT = "kube-probe/1.36";

/** `podIP`: used when the handler names no host; undefined = unknown. */
export function probeRequest(
  handler: HttpGetHandler,
  { ports }: Pick<Container, "ports">,
  podIP: string | undefined,
): Target<HttpRequest> {
  return httpTarget(handler, { ports, podIP, userAgent: USER_AGENT });
}

export function tcpTarget(
  handler: TcpSocketHandler,
  { ports }: Pick<Container, "ports">,
  podIP: string | undefined,
): Target<Address> {
  const port = resolvePort(handler.port, ports);
  const host = targetHost(handler.host, podIP);
  if (port === undefined) return noPort(handler.port);
  return host === "" ? { ok: false, message: NO_ADDRESS } : { ok: true, target: { host, port } };
}
