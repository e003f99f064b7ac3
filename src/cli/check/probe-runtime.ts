// Performs: asks the container runtime what its checks judge, and reads its configuration and that of the pod network.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isContainerd, sandboxImageName } from "../../containerd/containerd.ts";
import { checkVersion } from "../../cri/check-version.ts";
import { grpcCriClient, type GrpcCriClient } from "../../cri/cri-client.ts";
import type { Clock } from "../../lib/clock.ts";
import { messageOf, reasonOf } from "../../lib/errors.ts";
import { isJsonObject, parseJson } from "../../lib/json.ts";
import { socketOf } from "./socket-path.ts";
import {
  configOfSocket,
  type NetworkFacts,
  type ProcessFacts,
  type RuntimeAnswer,
  type RuntimeConfigFile,
  type SandboxFacts,
} from "./judge-runtime.ts";

export interface RuntimePlace {
  readonly endpoint: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const CALL_MS = 5_000;
const CONFIG_FILE = "/etc/containerd/config.toml";
const CNI_CONFIGS = "/etc/cni/net.d";
const CNI_PLUGINS = "/opt/cni/bin";
const CNI_NAME = /\.(?:conf|conflist|json)$/;

export async function runtimeAnswer(place: RuntimePlace): Promise<RuntimeAnswer> {
  using cri = clientOf(place);
  try {
    const { endpoint, signal } = place;
    const options = { endpoint, signal, timeoutMs: CALL_MS };
    const { runtimeName: name, runtimeVersion: version } = await checkVersion(cri, options);
    return { type: "Version", name, version };
  } catch (error) {
    return { type: "Failed", reason: reasonOf(error, ""), message: messageOf(error) };
  }
}

/** The file with which the containerd behind the socket was started, if it can be read. */
export async function runtimeConfig(
  endpoint: string,
  all: readonly ProcessFacts[],
): Promise<RuntimeConfigFile | undefined> {
  const named = all.flatMap(({ words }) => {
    if ((words[0] ?? "").split("/").at(-1) !== "containerd") return [];
    const index = words.findIndex((word) => /^(?:-c|--?config)$/.test(word));
    const joined = words.find((word) => /^--?config=/.test(word));
    return joined?.replace(/^--?config=/, "") ?? words[index < 0 ? words.length : index + 1] ?? [];
  });
  const paths = [...new Set([...named, CONFIG_FILE])];
  const files = await Promise.all(paths.map(async (path) => ({ path, text: await textOf(path) })));
  const readable = files.filter(({ text }) => text !== "");
  return configOfSocket(readable, socketOf(endpoint));
}

export async function sandboxFacts(place: RuntimePlace): Promise<SandboxFacts> {
  using cri = clientOf(place);
  const { signal } = place;
  const limits = { signal, timeoutMs: CALL_MS };
  const [version, { info }] = await Promise.all([
    cri.version(limits),
    cri.status({ verbose: true, ...limits }),
  ]);
  const image = sandboxImageName(info);
  const found = image === undefined ? undefined : await cri.imageStatus({ image }, limits);
  return { image, isPresent: found !== undefined, isContainerd: isContainerd(version) };
}

/** Where the runtime keeps images and snapshots. */
export async function imageDirectories(place: RuntimePlace): Promise<readonly string[]> {
  using cri = clientOf(place);
  const { imageFilesystems } = await cri.imageFsInfo({
    signal: place.signal,
    timeoutMs: CALL_MS,
  });
  return imageFilesystems.flatMap(({ fsId }) => fsId?.mountpoint ?? []);
}

export async function networkFacts(place: RuntimePlace): Promise<NetworkFacts> {
  using cri = clientOf(place);
  const { status, info } = await cri.status({
    verbose: true,
    signal: place.signal,
    timeoutMs: CALL_MS,
  });
  const network = status?.conditions.find(({ type }) => type === "NetworkReady");
  const settings = Object.values(info).map(parseJson);
  const configDirectory = textIn(settings, ["confDir", "conf_dir", "pluginConfDir"]) ?? CNI_CONFIGS;
  const binaries = textIn(settings, ["binDir", "bin_dir"]) ?? CNI_PLUGINS;
  const pluginDirectories = [...new Set([binaries, CNI_PLUGINS])];
  return {
    isReady: network?.status === true,
    message: network?.message ?? "the runtime reports nothing of it",
    configDirectory,
    configs: await configsIn(configDirectory),
    pluginDirectories,
    plugins: (await Promise.all(pluginDirectories.map(namesIn))).flat(),
  };
}

/** Of the first that is in effect: a runtime uses one. */
async function configsIn(directory: string): Promise<NetworkFacts["configs"]> {
  const [first] = (await namesIn(directory)).filter((name) => CNI_NAME.test(name)).toSorted();
  return first === undefined ? [] : [{ name: first, text: await textOf(join(directory, first)) }];
}

function namesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch(() => []);
}

function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}

/** The first text under one of these keys, at any depth. */
function textIn(value: unknown, keys: readonly string[]): string | undefined {
  if (Array.isArray(value)) {
    for (const item of value) {
      const found = textIn(item, keys);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  for (const key of keys) {
    const found = value[key];
    if (typeof found === "string" && found !== "") return found;
  }
  return textIn(Object.values(value), keys);
}

function clientOf({ endpoint, clock }: RuntimePlace): GrpcCriClient {
  return grpcCriClient({ endpoint, clock });
}
