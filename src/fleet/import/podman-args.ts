// Options of `podman run` in the key PodmanArgs → the keys of Quadlet that mean the same.

import { shellWords } from "./words.ts";

/** Those without a key of Quadlet have one of ours, in lower case. */
const KEYS: Readonly<Record<string, string>> = {
  "--env": "Environment",
  "-e": "Environment",
  "--env-file": "EnvironmentFile",
  "--volume": "Volume",
  "-v": "Volume",
  "--tmpfs": "Tmpfs",
  "--mount": "Mount",
  "--publish": "PublishPort",
  "-p": "PublishPort",
  "--device": "AddDevice",
  "--cap-add": "AddCapability",
  "--cap-drop": "DropCapability",
  "--memory": "Memory",
  "-m": "Memory",
  "--cpus": "cpus",
  "--restart": "restart",
  "--privileged": "privileged",
  "--shm-size": "ShmSize",
  "--user": "User",
  "-u": "User",
  "--hostname": "HostName",
  "--network": "Network",
  "--pid": "pid",
  "--network-alias": "NetworkAlias",
  "--add-host": "AddHost",
  "--dns": "DNS",
  "--group-add": "GroupAdd",
  "--sysctl": "Sysctl",
  "--read-only": "ReadOnly",
  "--stop-timeout": "StopTimeout",
  "--health-cmd": "HealthCmd",
  "--health-interval": "HealthInterval",
  "--health-timeout": "HealthTimeout",
  "--health-retries": "HealthRetries",
  "--pull": "Pull",
  "--workdir": "WorkingDir",
  "-w": "WorkingDir",
};
/** They have no word after them. */
const FLAGS = ["--privileged", "--read-only"];

export interface PodmanArgs {
  readonly keys: readonly (readonly [key: string, value: string])[];
  /** As written: options without a counterpart. */
  readonly others: readonly string[];
}

export function readPodmanArgs(written: readonly string[]): PodmanArgs {
  const words = written.flatMap(shellWords);
  const keys: (readonly [string, string])[] = [];
  const others: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? "";
    const [, option = word, joined] = /^(-[^=]*)=([^]*)$/.exec(word) ?? [];
    const key = KEYS[option];
    const isAlone = key === undefined || joined !== undefined || FLAGS.includes(option);
    if (!isAlone) at += 1;
    const value = isAlone ? (joined ?? "true") : (words[at] ?? "");
    const entry = key === undefined ? undefined : entryOf(key, value);
    if (entry !== undefined) keys.push(entry);
    else others.push(isAlone ? word : `${option} ${value}`);
  }
  return { keys, others };
}

/** undefined = Quadlet has no such form. */
function entryOf(key: string, value: string): readonly [string, string] | undefined {
  if (key === "Mount") return readMount(value);
  return [key, key === "Environment" ? quoted(value) : value];
}

/** As one word of a key that is split into words. */
function quoted(value: string): string {
  return `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

const SOURCE = ["source", "src"];
const TARGET = ["target", "destination", "dst"];
const READ_ONLY = ["ro", "readonly"];
const SIZE = "tmpfs-size";

/** `type=bind,source=/a,target=/b,ro` as Volume or Tmpfs; undefined = it has no such form. */
export function readMount(written: string): readonly [key: string, value: string] | undefined {
  const options = written.split(",").map((one): readonly [string, string] => {
    const [, name = one, value = "true"] = /^([^=]+)=([^]*)$/.exec(one) ?? [];
    return [name, value];
  });
  const of = (names: readonly string[]): string | undefined =>
    options.find(([name]) => names.includes(name))?.[1];
  const known = ["type", ...SOURCE, ...TARGET, ...READ_ONLY, SIZE];
  const [type, source, target] = [of(["type"]) ?? "volume", of(SOURCE), of(TARGET)];
  if (target === undefined || options.some(([name]) => !known.includes(name))) return undefined;
  const size = of([SIZE]);
  if (type === "tmpfs") return ["Tmpfs", size === undefined ? target : `${target}:size=${size}`];
  if ((type !== "bind" && type !== "volume") || source === undefined) return undefined;
  return ["Volume", `${source}:${target}${of(READ_ONLY) === "true" ? ":ro" : ""}`];
}
