// Fields of a compose service that have fields of their own.

import { isJsonObject } from "../../lib/json.ts";
import { amounts, probeTimes } from "./service-fields.ts";
import { objectNameOf, type Service, type ServiceProbe, type Tell } from "./service.ts";
import { plain } from "./words.ts";

/** Docker only reports the health of a container; a pod whose probe fails is not Ready. */
export function probeOf(check: unknown, tell: Tell): { readonly probe?: ServiceProbe } {
  if (!isJsonObject(check) || check["disable"] === true) return {};
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
  const { interval, timeout, retries, start_period: startPeriod } = check;
  return { probe: { command, ...probeTimes({ interval, timeout, retries, startPeriod }) } };
}

/** `written`: the older fields of the service, which those of `deploy` come before. */
export function resourcesOf(
  written: { readonly cpus: unknown; readonly memory: unknown; readonly reserved: unknown },
  deploy: unknown,
): Pick<Service, "limits" | "requests"> {
  const resources =
    isJsonObject(deploy) && isJsonObject(deploy["resources"]) ? deploy["resources"] : {};
  const { limits, reservations } = resources;
  return {
    limits: amounts({ cpus: written.cpus, memory: written.memory, ...objectOf(limits) }),
    requests: amounts({ memory: written.reserved, ...objectOf(reservations) }),
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
    if (ip !== "host-gateway" && host !== "") return [[host, ip.replaceAll(/[[\]]/g, "")]];
    tell(
      "extra_hosts",
      `${line}: write the address of the node, or use status.hostIP in a variable`,
    );
    return [];
  });
  return Object.fromEntries(all);
}

export function dependenciesOf(value: unknown): Service["dependsOn"] {
  if (Array.isArray(value))
    return Object.fromEntries(
      value.map((name: unknown) => [objectNameOf(plain(name)), "Running" as const]),
    );
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, how]) => {
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
