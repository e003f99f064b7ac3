// Judges the container runtime: its version, its CRI plugin, its sandbox image, the pod network, and who else uses it.

import { broken, doubtful, fine, orFine, type Finding } from "./finding.ts";
import { compareVersions } from "./versions.ts";

export type RuntimeAnswer =
  | { readonly type: "Version"; readonly name: string; readonly version: string }
  /** `reason`: `CRINotServed`, `RuntimeUnavailable`, … */
  | { readonly type: "Failed"; readonly reason: string; readonly message: string };

/** A configuration file of containerd. */
export interface RuntimeConfigFile {
  readonly path: string;
  readonly text: string;
}

const MIN_CONTAINERD = "1.6";
const DISABLED =
  /^\s*disabled_plugins\s*=\s*\[[^\]]*["'](?:io\.containerd\.grpc\.v1\.)?cri["'][^\]]*\]/;

/** `config`: the file of the containerd behind the socket, as far as it is known. */
export function judgeRuntime(
  answer: RuntimeAnswer,
  config: RuntimeConfigFile | undefined,
): readonly Finding[] {
  const disabled = config === undefined ? undefined : disabledLine(config.text);
  if (answer.type === "Failed") {
    if (disabled === undefined || config === undefined)
      return [broken(answer.message, remedyOf(answer.reason))];
    const place = `${config.path}:${disabled.line}`;
    return [
      broken(
        `the CRI plugin of containerd is switched off in ${place}: ${disabled.text}`,
        `change line ${disabled.line} of ${config.path} to ${disabled.remedy}, and run systemctl restart containerd`,
      ),
    ];
  }
  const { name, version } = answer;
  if (name !== "containerd")
    return [doubtful(`the runtime is ${name} ${version}, which is not tested`, "use containerd")];
  if (compareVersions(version, MIN_CONTAINERD) < 0)
    return [
      broken(`containerd ${version} is too old`, `install containerd ${MIN_CONTAINERD} or later`),
    ];
  // It counts at the next start of containerd.
  if (disabled !== undefined && config !== undefined)
    return [
      doubtful(
        `containerd ${version} serves CRI, but ${config.path}:${disabled.line} switches it off at its next start`,
        `change line ${disabled.line} of ${config.path} to ${disabled.remedy}`,
      ),
    ];
  return [fine(`containerd ${version} serves CRI v1`)];
}

function remedyOf(reason: string): string {
  switch (reason) {
    case "CRINotServed":
      return 'remove "cri" from disabled_plugins in the configuration of containerd and restart it';
    case "UnsupportedCRIVersion":
      return `install containerd ${MIN_CONTAINERD} or later`;
    default:
      return "install containerd (Debian: apt-get install containerd) and start it (systemctl enable --now containerd), or correct containerRuntimeEndpoint";
  }
}

interface DisabledLine {
  /** 1-based. */
  readonly line: number;
  readonly text: string;
  /** The line as it should be. */
  readonly remedy: string;
}

/** The line that switches the CRI plugin off, as the packages of Docker do. */
export function disabledLine(toml: string): DisabledLine | undefined {
  const lines = toml.split("\n");
  const index = lines.findIndex((line) => DISABLED.test(line));
  const text = lines[index]?.trim();
  if (text === undefined) return undefined;
  const others = [...text.replace(/#.*$/, "").matchAll(/["']([^"']+)["']/g)]
    .flatMap(([, plugin]) => plugin ?? [])
    .filter((plugin) => !/^(?:io\.containerd\.grpc\.v1\.)?cri$/.test(plugin));
  const list = others.map((plugin) => JSON.stringify(plugin)).join(", ");
  return { line: index + 1, text, remedy: `disabled_plugins = [${list}]` };
}

const DEFAULT_SOCKET = "/run/containerd/containerd.sock";
const ADDRESS = /^\s*address\s*=\s*["']([^"']+)["']/m;

/** The one of these files whose containerd listens on `socket`; a file that names no socket has the default one. */
export function configOfSocket(
  files: readonly RuntimeConfigFile[],
  socket: string,
): RuntimeConfigFile | undefined {
  return files.find(({ text }) => {
    const section = /^\s*\[grpc\]\s*$([\s\S]*?)(?=^\s*\[|(?![\s\S]))/m.exec(text)?.[1] ?? "";
    return (ADDRESS.exec(section)?.[1] ?? DEFAULT_SOCKET) === socket;
  });
}

/** A process of the machine. */
export interface ProcessFacts {
  readonly pid: number;
  readonly words: readonly string[];
}

const KUBELETS = ["kubelet", "kubelite", "k3s", "k3s-server", "k3s-agent"];
const ENDPOINT_FLAG = /^--?container-runtime-endpoint(?:=(.*))?$/;

export function judgeKubelet(
  processes: readonly ProcessFacts[],
  socket: string,
): readonly Finding[] {
  const problems = processes.flatMap(({ pid, words }) => {
    const program = (words[0] ?? "").split("/").at(-1) ?? "";
    if (!KUBELETS.includes(program)) return [];
    const used = endpointOf(words) ?? defaultOf(program);
    if (used !== socket) return [];
    return [
      broken(
        `${program} (process ${pid}) uses the same container runtime: each would remove the pods of the other`,
        `stop it (systemctl disable --now ${program}), or run this agent on a machine of its own`,
      ),
    ];
  });
  return orFine(problems, "no kubelet uses this container runtime");
}

function endpointOf(words: readonly string[]): string | undefined {
  const index = words.findIndex((word) => ENDPOINT_FLAG.test(word));
  const written = ENDPOINT_FLAG.exec(words[index] ?? "")?.[1] ?? words[index + 1];
  return index < 0 ? undefined : written?.replace(/^unix:\/\//, "");
}

/** k3s brings a containerd of its own. */
function defaultOf(program: string): string | undefined {
  return program === "kubelet" ? DEFAULT_SOCKET : undefined;
}

export interface SandboxFacts {
  /** undefined = the runtime does not report it. */
  readonly image: string | undefined;
  readonly isPresent: boolean;
  readonly isContainerd: boolean;
}

export function judgeSandbox({ image, isPresent, isContainerd }: SandboxFacts): Finding {
  if (image === undefined)
    return isContainerd
      ? fine("the runtime does not name its sandbox image; the agent brings it when a pod needs it")
      : doubtful(
          "the runtime does not name its sandbox image",
          "see that it has the image before the node goes offline",
        );
  if (isPresent) return fine(`the sandbox image ${image} is here`);
  return isContainerd
    ? fine(`the sandbox image ${image} is not here; the agent brings its own, without a registry`)
    : doubtful(`the sandbox image ${image} is not here`, `pull it: crictl pull ${image}`);
}

export interface NetworkFacts {
  readonly isReady: boolean;
  /** The runtime's own words. */
  readonly message: string;
  readonly configDirectory: string;
  /** Files of it that hold configurations. */
  readonly configs: readonly { readonly name: string; readonly text: string }[];
  readonly pluginDirectories: readonly string[];
  /** Names of executable files in them. */
  readonly plugins: readonly string[];
}

export function judgeNetwork(facts: NetworkFacts): readonly Finding[] {
  const { isReady, message, configDirectory, configs, pluginDirectories, plugins } = facts;
  const wanted = configs.flatMap(({ name, text }) => typesOf(text).map((type) => ({ name, type })));
  const places = pluginDirectories.join(", ");
  const problems = wanted
    .filter(({ type }) => !plugins.includes(type))
    .map(({ name, type }) =>
      broken(
        `${configDirectory}/${name} names the CNI plugin ${type}, which is not in ${places}`,
        "install the CNI plugins (Debian: apt-get install containernetworking-plugins) and set bin_dir of containerd to their directory",
      ),
    );
  if (configs.length === 0 && !isReady)
    problems.push(
      broken(
        `there is no CNI configuration in ${configDirectory}: only pods with hostNetwork start`,
        `write a conflist into ${configDirectory}, such as one with bridge and portmap, or set podCIDR and conf_template of containerd`,
      ),
    );
  else if (!isReady && problems.length === 0)
    problems.push(
      broken(
        `the pod network is not ready: ${message}`,
        `correct the configuration in ${configDirectory}, and look at the log of containerd (journalctl -u containerd)`,
      ),
    );
  const names = configs.map(({ name }) => name).join(", ");
  return orFine(problems, `the pod network is ready${names === "" ? "" : ` (${names})`}`);
}

/** The plugins that a CNI configuration names, also those of its ipam; a file that is no JSON names none. */
function typesOf(text: string): readonly string[] {
  return [...text.matchAll(/"type"\s*:\s*"([\w-]+)"/g)].flatMap(([, type]) => type ?? []);
}
