// Fields of a compose service that have fields of their own.

import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";
import { amounts, flagOf, probeTimes, tellOthers } from "./service-fields.ts";
import { objectNameOf, type Service, type ServiceProbe, type Tell } from "./service.ts";
import { plain } from "./words.ts";

/** Docker only reports the health of a container; a pod whose probe fails is not Ready. */
export function probeOf(check: unknown, tell: Tell): { readonly probe?: ServiceProbe } {
  const place = { field: "healthcheck", tell };
  if (!isJsonObject(check) || flagOf(check["disable"], place)) return {};
  tellOthers(check, HEALTH_KEYS, place);
  const { test } = check;
  const words: readonly string[] = Array.isArray(test) ? test.map(plain) : [];
  if (words[0] === "NONE") return {};
  const command =
    typeof test === "string"
      ? ["sh", "-c", test]
      : words[0] === "CMD-SHELL"
        ? ["sh", "-c", words.slice(1).join(" ")]
        : words.slice(words[0] === "CMD" ? 1 : 0);
  if (command.length === 0) {
    tell("healthcheck", "the check of the image is not taken over; write its test");
    return {};
  }
  const { interval, timeout, retries } = check;
  return { probe: { command, ...probeTimes({ interval, timeout, retries }, place) } };
}

const HEALTH_KEYS = [
  "test",
  "interval",
  "timeout",
  "retries",
  "disable",
  "start_period",
  "start_interval",
];

/** `written`: the older fields of the service, which those of `deploy` come before. */
export function resourcesOf(
  written: { readonly cpus: unknown; readonly memory: unknown; readonly reserved: unknown },
  deploy: unknown,
  tell: Tell,
): Pick<Service, "limits" | "requests"> {
  const resources =
    isJsonObject(deploy) && isJsonObject(deploy["resources"]) ? deploy["resources"] : {};
  const { limits, reservations } = resources;
  const place = { field: "resources", tell };
  tellOthers(resources, ["limits", "reservations"], place);
  for (const one of [limits, reservations]) tellOthers(one, ["cpus", "memory"], place);
  return {
    limits: amounts({ cpus: written.cpus, memory: written.memory, ...objectOf(limits) }, place),
    requests: amounts({ memory: written.reserved, ...objectOf(reservations) }, place),
  };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isJsonObject(value) ? value : {};
}

export function hostsOf(value: unknown, tell: Tell): Readonly<Record<string, string>> {
  const lines: readonly string[] = isJsonObject(value)
    ? Object.entries(value).map(([host, ip]) => `${host}=${plain(ip)}`)
    : Array.isArray(value)
      ? value.map(plain)
      : [];
  const all = lines.flatMap((line): [string, string][] => {
    const [, host = "", ip = ""] = /^([^:=]+)[:=](.+)$/.exec(line) ?? [];
    if (host === "") {
      tell("extra_hosts", `${line} is no name with an address`);
      return [];
    }
    if (ip !== "host-gateway") return [[host, ip.replaceAll(/[[\]]/g, "")]];
    tell(
      "extra_hosts",
      `${line}: write the address of the node, or use status.hostIP in a variable`,
    );
    return [];
  });
  return Object.fromEntries(all);
}

export function dependenciesOf(value: unknown, tell: Tell): Service["dependsOn"] {
  if (Array.isArray(value))
    return Object.fromEntries(
      value.map((name: unknown) => [objectNameOf(plain(name)), "Running" as const]),
    );
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, how]) => {
      tellOthers(how, ["condition", "required"], { field: `depends_on.${name}`, tell });
      const condition = isJsonObject(how) ? plain(how["condition"]) : "";
      const stage =
        condition === "service_healthy"
          ? ("Ready" as const)
          : condition === "service_completed_successfully"
            ? ("Succeeded" as const)
            : ("Running" as const);
      return [objectNameOf(name), stage];
    }),
  );
}

export interface Link {
  /** As it is written. */
  readonly service: string;
  /** The name under which it is found; absent = its own. */
  readonly alias?: string;
}

/** `db`, or `db:mysql`. */
export function linksOf(value: unknown): readonly Link[] {
  const written: readonly unknown[] = Array.isArray(value) ? value : [];
  return written.map((one) => {
    const [service = "", alias] = plain(one).split(":");
    return { service, ...(alias === undefined || alias === service ? {} : { alias }) };
  });
}

type Shape = "list" | "map" | "list or a map";

/** Of what a service has; Compose refuses any other one. */
const SHAPES: Readonly<Record<string, Shape>> = {
  deploy: "map",
  "deploy.resources": "map",
  "deploy.resources.limits": "map",
  "deploy.resources.reservations": "map",
  "deploy.restart_policy": "map",
  healthcheck: "map",
  ports: "list",
  expose: "list",
  devices: "list",
  links: "list",
  volumes: "list",
  environment: "list or a map",
  labels: "list or a map",
  networks: "list or a map",
  sysctls: "list or a map",
  depends_on: "list or a map",
  extra_hosts: "list or a map",
};

/** Names what has another shape than Compose reads; the readers of fields pass over it. */
export function tellShapes(service: JsonObject, tell: Tell): void {
  for (const [path, shape] of Object.entries(SHAPES)) {
    const value = path.split(".").reduce<unknown>(memberOf, service) ?? undefined;
    const isList = shape.startsWith("list") && Array.isArray(value);
    const isMap = shape.endsWith("map") && isJsonObject(value);
    if (value !== undefined && !isList && !isMap)
      tell(path, `must be a ${shape}, and is left out`, true);
  }
}
