// One service of a compose file, field by field; a field without a counterpart is a remark.

import { isJsonObject, withoutUndefined, type JsonObject } from "../../lib/json.ts";
import {
  dependenciesOf,
  hostsOf,
  linksOf,
  type Link,
  probeOf,
  resourcesOf,
  tellShapes,
} from "./compose-fields.ts";
import { composeMounts, type ComposeFiles } from "./compose-mounts.ts";
import { composePorts, portsIn, portSysctls } from "./compose-ports.ts";
import {
  capability,
  deviceOf,
  envRemarks,
  flagOf,
  type FieldPlace,
  gracePeriod,
  hostPIDOf,
  numericId,
  sharedMemory,
  tellOthers,
} from "./service-fields.ts";
import {
  NO_SERVICE,
  objectNameOf,
  UNKNOWN,
  type ImportedFile,
  type Service,
  type Tell,
} from "./service.ts";
import { composeEnvLines, shellWords, type Variables, plain } from "./words.ts";

/** Fields of a service that are left out, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  external_links: "pods of a node reach each other by name",
  logging: "logs go to the node, which rotates them",
  deploy: "only resources and one replica have a counterpart",
  profiles:
    "the service is imported whatever the profile; take it out of the result if it is not meant",
  scale: "one node runs each pod once",
  ulimits: "a pod has none; set them in the image",
  cgroup_parent: "the node places cgroups",
  ipc: "a pod has an IPC namespace of its own",
  userns_mode: "write hostUsers into the pod",
  mac_address: "a pod's address is the node's matter",
  platform: "the node pulls the image of its own platform",
  stop_signal: "write lifecycle.stopSignal into the container",
  domainname: "write subdomain and hostname into the pod",
  dns_search: "write dnsConfig.searches into the pod",
  dns_opt: "write dnsConfig.options into the pod",
  annotations: "write them into the pod",
  develop: "has no counterpart on a device",
  runtime: "write runtimeClassName into the pod",
  gpus: "write the devices into the pod",
  oom_score_adj: "the node sets it by the pod's class",
  oom_kill_disable: "the node does not switch it off",
  storage_opt: "write limits of ephemeral-storage",
  blkio_config: "has no counterpart",
  cpuset: "has no counterpart",
  cpu_shares: "is given by the request of cpu",
  pids_limit: "is a setting of the node (podPidsLimit)",
  credential_spec: "has no counterpart on Linux",
  init: "the pause container collects ended processes only with shareProcessNamespace",
  attach: "has no counterpart",
};

export class ServiceReader {
  readonly #name: string;
  readonly #service: JsonObject;
  readonly #parts: {
    readonly file: JsonObject;
    readonly variables: Variables;
    readonly files: ComposeFiles;
  };
  readonly #tell: Tell;
  readonly #taken = new Set<string>();
  /** Files that were taken along. */
  imported: readonly ImportedFile[] = [];
  readonly links: readonly Link[];

  constructor(
    name: string,
    parts: {
      readonly service: JsonObject;
      readonly file: JsonObject;
      readonly variables: Variables;
      readonly files: ComposeFiles;
      readonly tell: Tell;
    },
  ) {
    this.#name = objectNameOf(name);
    this.#service = parts.service;
    this.#parts = parts;
    this.#tell = parts.tell;
    this.links = linksOf(this.#take("links"));
    if (this.#name !== name)
      this.#tell(
        "name",
        `is ${this.#name} as a pod, and other pods find it by that name only: change ${name} where it is an address`,
      );
  }

  /** undefined = it cannot be imported. */
  read(): Service | undefined {
    const image = this.#text("image");
    if (this.#take("extends") !== undefined)
      this.#tell("extends", "is not followed: write the service out", true);
    if (this.#take("build") !== undefined)
      this.#tell(
        "build",
        image === ""
          ? "a node builds no image: build and push it, and name it as image"
          : "a node builds no image: the image that is named must be pushed",
        image === "",
      );
    if (image === "") {
      if (this.#service["build"] === undefined) this.#tell("image", "is missing", true);
      return undefined;
    }
    tellShapes(this.#service, this.#tell);
    const mounts = composeMounts({
      name: this.#name,
      volumes: this.#take("volumes"),
      tmpfs: this.#take("tmpfs"),
      configs: this.#take("configs"),
      secrets: this.#take("secrets"),
      file: this.#parts.file,
      files: this.#parts.files,
      tell: this.#tell,
    });
    this.imported = mounts.imported;
    const network = this.#network();
    const ports = portsIn(
      network.hostNetwork,
      composePorts(this.#take("ports"), this.#take("expose"), this.#tell),
      this.#tell,
    );
    const service: Service = {
      ...NO_SERVICE,
      name: this.#name,
      image,
      ...this.#pullPolicy(),
      ...withoutUndefined({ command: this.#words("entrypoint"), args: this.#words("command") }),
      environment: this.#environment(),
      ports,
      mounts: [...mounts.mounts, ...sharedMemory(this.#take("shm_size"), this.#place("shm_size"))],
      ...probeOf(this.#take("healthcheck"), this.#tell),
      restart: this.#restart(),
      ...this.#maybe("workingDir", this.#text("working_dir")),
      ...this.#user(),
      groups: this.#list("group_add").flatMap(
        (one) => numericId("group_add", one, this.#tell) ?? [],
      ),
      isPrivileged: this.#flag("privileged"),
      addCapabilities: this.#list("cap_add").map(capability),
      dropCapabilities: this.#list("cap_drop").map(capability),
      isReadOnly: this.#flag("read_only"),
      noNewPrivileges: this.#securityOptions(),
      sysctls: { ...portSysctls(network.hostNetwork, ports), ...this.#map("sysctls") },
      devices: this.#devices(),
      stdin: this.#flag("stdin_open"),
      tty: this.#flag("tty"),
      ...resourcesOf(
        {
          cpus: this.#take("cpus"),
          memory: this.#take("mem_limit"),
          reserved: this.#take("mem_reservation"),
        },
        this.#service["deploy"],
        this.#tell,
      ),
      ...this.#maybe("hostname", this.#text("hostname")),
      hostAliases: hostsOf(this.#take("extra_hosts"), this.#tell),
      dns: this.#list("dns"),
      ...this.#networkNames(),
      ...network,
      hostPID: hostPIDOf(this.#text("pid"), this.#place("pid")),
      ...gracePeriod(this.#take("stop_grace_period"), this.#place("stop_grace_period")),
      // As Compose does it, a service starts after those that it links to.
      dependsOn: {
        ...Object.fromEntries(
          this.links.map(({ service: other }) => [objectNameOf(other), "Running" as const]),
        ),
        ...dependenciesOf(this.#take("depends_on"), this.#tell),
      },
    };
    if (Object.keys(this.#map("labels")).length > 0)
      this.#tell(
        "labels",
        "are not taken over: a proxy that reads them on Docker does not see pods; write labels into the pod",
      );
    this.#remarkRest();
    return service;
  }

  #take(key: string): unknown {
    this.#taken.add(key);
    return this.#service[key] ?? undefined;
  }

  #place(field: string): FieldPlace {
    return { field, tell: this.#tell };
  }

  #flag(key: string): boolean {
    return flagOf(this.#take(key), this.#place(key));
  }

  #text(key: string): string {
    const value = this.#take(key);
    if (value === undefined || typeof value === "string" || typeof value === "number")
      return plain(value);
    this.#tell(key, `${plain(value)} is no text, and was left out`);
    return "";
  }

  #maybe<K extends string>(key: K, value: string): { readonly [name in K]?: string } {
    return (value === "" ? {} : { [key]: value }) as { readonly [name in K]?: string };
  }

  #list(key: string): readonly string[] {
    const value = this.#take(key);
    const all: readonly unknown[] = Array.isArray(value)
      ? value
      : value === undefined
        ? []
        : [value];
    return all.flatMap((one) => {
      if (typeof one === "string" || typeof one === "number") return [plain(one)];
      this.#tell(key, `${plain(one)} is no text, and was left out`);
      return [];
    });
  }

  /** `{A: 1}` or `[A=1]`. */
  #map(key: string): Readonly<Record<string, string>> {
    return mapOf(this.#take(key), {});
  }

  #words(key: string): readonly string[] | undefined {
    const value = this.#take(key);
    if (value === undefined) return undefined;
    const words = Array.isArray(value) ? value.map(plain) : shellWords(plain(value));
    if (words.length > 0) return words;
    this.#tell(key, "is empty: the pod has that of the image");
    return undefined;
  }

  #user(): Pick<Service, "runAsUser" | "runAsGroup"> {
    const [user = "", group = ""] = this.#text("user").split(":");
    const idOf = (written: string): number | undefined =>
      written === "" ? undefined : numericId("user", written, this.#tell);
    return withoutUndefined({ runAsUser: idOf(user), runAsGroup: idOf(group) });
  }

  #environment(): Readonly<Record<string, string>> {
    const { variables, files } = this.#parts;
    const named = this.#take("env_file");
    const list: readonly unknown[] = Array.isArray(named)
      ? named
      : named === undefined
        ? []
        : [named];
    const lines = list.flatMap((one) => {
      const path = isJsonObject(one) ? one["path"] : one;
      tellOthers(one, ["path", "required"], this.#place("env_file"));
      const isOptional = isJsonObject(one) && one["required"] === false;
      const text = typeof path === "string" ? files.read(path) : undefined;
      if (text === undefined && !isOptional)
        this.#tell("env_file", `${plain(path)} cannot be read`, true);
      if (text === undefined) return [];
      const read = composeEnvLines(text, variables);
      for (const { message, isError } of envRemarks(plain(path), read))
        this.#tell("env_file", `${plain(path)}: ${message}`, isError);
      return [read.values];
    });
    const own = mapOf(this.#take("environment"), variables);
    return { ...(Object.assign({}, ...lines) as Readonly<Record<string, string>>), ...own };
  }

  #restart(): Service["restart"] {
    const written = this.#text("restart");
    if (written.startsWith("on-failure:"))
      this.#tell("restart", `${written}: the container starts again however often it fails`);
    const deploy = this.#service["deploy"];
    const policy =
      isJsonObject(deploy) && isJsonObject(deploy["restart_policy"])
        ? deploy["restart_policy"]
        : { condition: "no" };
    tellOthers(policy, ["condition"], this.#place("deploy.restart_policy"));
    const how = written === "" ? plain(policy["condition"] ?? "any") : written;
    if (how.startsWith("on-failure")) return "OnFailure";
    if (how === "always" || how === "unless-stopped" || how === "any") return "Always";
    if (how !== "no" && how !== "none" && how !== "false")
      this.#tell("restart", `${how} is not known; it is no`);
    return "Never";
  }

  #pullPolicy(): Pick<Service, "imagePullPolicy"> {
    const written = this.#text("pull_policy");
    const known = {
      always: "Always",
      never: "Never",
      missing: "IfNotPresent",
      if_not_present: "IfNotPresent",
    } as const;
    const policy = Object.entries(known).find(([name]) => name === written)?.[1];
    if (written !== "" && policy === undefined)
      this.#tell("pull_policy", `${written} has no counterpart`);
    return policy === undefined ? {} : { imagePullPolicy: policy };
  }

  #securityOptions(): boolean {
    const options = this.#list("security_opt");
    const isNone = (one: string): boolean => /^no-new-privileges(?::true|=true)?$/.test(one);
    for (const option of options)
      if (!isNone(option))
        this.#tell("security_opt", `${option}: write it into the securityContext of the container`);
    return options.some(isNone);
  }

  #devices(): readonly string[] {
    const value = this.#take("devices");
    const all: readonly unknown[] = Array.isArray(value) ? value : [];
    return all.flatMap((one) => {
      if (!isJsonObject(one)) return deviceOf(plain(one), this.#place("devices"));
      tellOthers(one, ["source", "target", "permissions"], this.#place("devices"));
      const parts = [one["source"], one["target"] ?? one["source"], one["permissions"]];
      const written = parts.filter((part) => part !== undefined).map(plain);
      return deviceOf(written.join(":"), this.#place("devices"));
    });
  }

  /** What else it is called in networks and by Docker. */
  #networkNames(): Pick<Service, "aliases" | "otherNames"> {
    const networks = this.#take("networks");
    const aliases = (isJsonObject(networks) ? Object.entries(networks) : []).flatMap(
      ([name, network]): readonly string[] => {
        tellOthers(network, ["aliases", "priority"], this.#place(`networks.${name}`));
        const written = isJsonObject(network) ? network["aliases"] : undefined;
        return Array.isArray(written) ? written.map(plain) : [];
      },
    );
    const container = this.#text("container_name");
    if (container === "" || container === this.#name) return { aliases, otherNames: [] };
    this.#tell("container_name", "the pod has the name of the service");
    return { aliases, otherNames: [container] };
  }

  #network(): Pick<Service, "hostNetwork"> & { readonly pod?: string } {
    const mode = this.#text("network_mode");
    const [, other = ""] = /^(?:service|container):(.+)$/.exec(mode) ?? [];
    if (other !== "") return { hostNetwork: false, pod: objectNameOf(other) };
    if (mode !== "" && mode !== "host" && mode !== "bridge")
      this.#tell(
        "network_mode",
        `${mode} has no counterpart: the pod has the network of the node's pods`,
      );
    return { hostNetwork: mode === "host" };
  }

  #remarkRest(): void {
    const deploy = this.#take("deploy");
    const extra = isJsonObject(deploy)
      ? Object.keys(deploy).filter(
          (key) =>
            key !== "resources" &&
            key !== "restart_policy" &&
            !(key === "replicas" && deploy[key] === 1),
        )
      : [];
    if (extra.length > 0) this.#tell("deploy", `${extra.join(", ")}: ${LEFT_OUT["deploy"]}`);
    for (const key of Object.keys(this.#service))
      if (!this.#taken.has(key) && !key.startsWith("x-")) this.#tell(key, LEFT_OUT[key] ?? UNKNOWN);
  }
}

/** A name without a value has that of the environment, or is left out. */
function mapOf(value: unknown, variables: Variables): Readonly<Record<string, string>> {
  const entries: readonly (readonly [string, unknown])[] = isJsonObject(value)
    ? Object.entries(value)
    : Array.isArray(value)
      ? value.map((line: unknown) => {
          const [, key = "", text] = /^([^=]+)(?:=([^]*))?$/.exec(plain(line)) ?? [];
          return [key, text] as const;
        })
      : [];
  return Object.fromEntries(
    entries.flatMap(([key, written]): [string, string][] => {
      const text = written ?? variables[key];
      return key === "" || text === undefined || text === null ? [] : [[key, plain(text)]];
    }),
  );
}
