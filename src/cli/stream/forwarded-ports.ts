// The ports and addresses of `agent port-forward`. kubectl: portforward.parsePorts, parseAddresses

import { UsageError } from "../exit-codes.ts";
import type { ContainerView } from "./pod-target.ts";

export interface ForwardedPort {
  /** 0 = a free one. */
  readonly local: number;
  readonly remote: number;
}

const PORT = /^\d{1,5}$/;

/** `8080`, `8080:80`, `8080:http`, `:80`, `0:80`. Throws UsageError. */
export function forwardedPort(
  written: string,
  containers: readonly ContainerView[],
): ForwardedPort {
  const parts = written.split(":");
  if (parts.length > 2) throw new UsageError(`invalid port format '${written}'`);
  const [first = "", second] = parts;
  const remote = remotePort(second ?? first, containers);
  if (remote === undefined)
    throw new UsageError(
      `error parsing remote port in '${written}': it must be a port from 1 to 65535, or the name of a container's port`,
    );
  if (second === undefined) return { local: remote, remote };
  const local = first === "" ? 0 : portOf(first);
  if (local === undefined)
    throw new UsageError(`error parsing local port in '${written}': it must be 0 to 65535`);
  return { local, remote };
}

function remotePort(written: string, containers: readonly ContainerView[]): number | undefined {
  const named = containers
    .flatMap(({ ports = [] }) => ports)
    .find(({ name }) => name !== undefined && name === written);
  const port = named?.containerPort ?? portOf(written);
  return port === 0 ? undefined : port;
}

function portOf(written: string): number | undefined {
  const port = PORT.test(written) ? Number(written) : Number.NaN;
  return port <= 65_535 ? port : undefined;
}

export interface ListenAddress {
  readonly host: string;
  /** A machine without IPv6 lacks it, and that is no error. */
  readonly isOptional: boolean;
}

/** `localhost` is both loopback addresses. Throws UsageError. */
export function listenAddresses(
  written: string,
  isIP: (text: string) => boolean,
): readonly ListenAddress[] {
  const names = written.split(",").map((name) => name.trim());
  const all = names.flatMap((name): readonly ListenAddress[] => {
    if (name === "localhost")
      return [
        { host: "127.0.0.1", isOptional: true },
        { host: "::1", isOptional: true },
      ];
    if (isIP(name)) return [{ host: name, isOptional: false }];
    throw new UsageError(`${JSON.stringify(name)} is not a valid IP address, nor localhost`);
  });
  return all.filter(({ host }, index) => all.findIndex((one) => one.host === host) === index);
}

/** `127.0.0.1:8080`, `[::1]:8080` */
export function hostPort(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
