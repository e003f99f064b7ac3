// Ports of a compose service, short and long.

import { isJsonObject } from "../../lib/json.ts";
import { tellOthers } from "./service-fields.ts";
import type { ServicePort, Tell } from "./service.ts";
import { plain } from "./words.ts";

/** Of a range. */
const MAX_RANGE = 64;
const SHORT =
  /^(?:(?:(\[[\da-f:.]+\]|[\d.]*):)?(\d+(?:-\d+)?)?:)?(\d+(?:-\d+)?)(?:\/(tcp|udp|sctp))?$/i;

const EVERY_ADDRESS = ["", "0.0.0.0", "[::]", "::"];
/** Of the long form; those after the fourth mean nothing on one node. */
const PORT_KEYS = ["target", "published", "protocol", "host_ip", "mode", "name", "app_protocol"];

export function composePorts(ports: unknown, expose: unknown, tell: Tell): readonly ServicePort[] {
  const written: readonly unknown[] = Array.isArray(ports) ? ports : [];
  const exposed: readonly unknown[] = Array.isArray(expose) ? expose : [];
  const all = [
    ...written.flatMap((one) =>
      isJsonObject(one) ? longPort(one, tell) : shortPort(plain(one), tell),
    ),
    ...exposed.flatMap((one) => exposedPort(plain(one), tell)),
  ];
  const keys = new Set<string>();
  return all.filter(({ container, protocol, host }) => {
    const key = `${container} ${protocol} ${host ?? ""}`;
    const isNew =
      !keys.has(key) &&
      !(
        host === undefined &&
        all.some(
          (one) =>
            one.container === container && one.protocol === protocol && one.host !== undefined,
        )
      );
    keys.add(key);
    return isNew;
  });
}

/** Those that a container has: in the network of the node, as under Docker, none has another number there. */
export function portsIn(
  hostNetwork: boolean,
  ports: readonly ServicePort[],
  tell: Tell,
): readonly ServicePort[] {
  if (!hostNetwork) return ports;
  const others = ports.filter(({ host, container }) => host !== undefined && host !== container);
  if (others.length > 0)
    tell("ports", "mean nothing in the network of the node, where the container has its own");
  return ports.filter(({ host, container }) => host === container);
}

/** Below it only root opens a port, unless a sysctl says otherwise. */
const FIRST_FREE_PORT = 1_024;

/** Docker lets every user of a container in a network of its own open such ports. */
export function portSysctls(
  hostNetwork: boolean,
  ports: readonly ServicePort[],
): Readonly<Record<string, string>> {
  const isLow = ports.some(({ container }) => container < FIRST_FREE_PORT);
  return isLow && !hostNetwork ? { "net.ipv4.ip_unprivileged_port_start": "0" } : {};
}

/** Other pods reach every port, so it only stands in the manifest. */
function exposedPort(text: string, tell: Tell): readonly ServicePort[] {
  if (SHORT.test(text)) return shortPort(text, () => undefined);
  tell("expose", `${text} is no port`);
  return [];
}

function shortPort(text: string, tell: Tell): readonly ServicePort[] {
  const [, ip, host, container = "", protocol = "tcp"] = SHORT.exec(text) ?? [];
  if (container === "") {
    tell("ports", `${text} is no port`, true);
    return [];
  }
  if (host === undefined)
    tell("ports", `${text} has no port of the node: write one, as 8080:${container}`);
  return pairs(host, container, { protocol, ip, tell });
}

function longPort(port: Readonly<Record<string, unknown>>, tell: Tell): readonly ServicePort[] {
  const { target, published, protocol = "tcp", host_ip: ip } = port;
  tellOthers(port, PORT_KEYS, { field: "ports", tell });
  const host = published === undefined || published === "" ? undefined : plain(published);
  if (target === undefined) {
    tell("ports", "an entry has no target", true);
    return [];
  }
  if (host === undefined)
    tell("ports", `${plain(target)} has no port of the node: write published`);
  return pairs(host, plain(target), {
    protocol: plain(protocol),
    ip: ip === undefined ? undefined : plain(ip),
    tell,
  });
}

function pairs(
  host: string | undefined,
  container: string,
  {
    protocol,
    ip,
    tell,
  }: { readonly protocol: string; readonly ip: string | undefined; readonly tell: Tell },
): readonly ServicePort[] {
  const [inside, outside] = [range(container), host === undefined ? [] : range(host)];
  if (inside.length > MAX_RANGE || (host !== undefined && outside.length !== inside.length)) {
    tell(
      "ports",
      `${host ?? ""}:${container}: both ranges must be equally long, and have at most ${MAX_RANGE} ports`,
      true,
    );
    return [];
  }
  const upper = protocol.toUpperCase();
  const known = upper === "UDP" || upper === "SCTP" ? upper : "TCP";
  const address =
    ip === undefined || EVERY_ADDRESS.includes(ip) ? undefined : ip.replaceAll(/[[\]]/g, "");
  return inside.map((port, index) => {
    const published = outside[index];
    return {
      container: port,
      protocol: known,
      ...(published === undefined ? {} : { host: published }),
      ...(published === undefined || address === undefined ? {} : { hostIP: address }),
    };
  });
}

function range(text: string): readonly number[] {
  const [first = 0, last = first] = text.split("-").map(Number);
  return Array.from(
    { length: Math.max(0, Math.min(last - first + 1, MAX_RANGE + 1)) },
    (_, index) => first + index,
  );
}
